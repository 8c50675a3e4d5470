"""Asks the rules about a call: its type, its refusals, and what stands for it before memory is planned."""

from __future__ import annotations

from math import gcd
from typing import Any

from pypto_rw import ir
from pypto_rw.front.names import reads
from pypto_rw.records import dataclass
from pypto_rw.rewriting.declared import Signature
from pypto_rw.rewriting.engine import Engine, Finding, Term, Unanswered
from pypto_rw.scalars import WIDE, bits, divisor
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.shapes import Shaper
from pypto_rw.shaping.typing import type_of
from pypto_rw.shaping.unit import Surroundings
from pypto_rw.shaping.values import Refused, Value, Window

_BLOCK = 256  # bits: vector operands begin at multiples of 32 bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What the rules say of one call.

    `sources` and `owners` are the expressions and parameters behind its operands, `extents` its run-time extents,
    each by number. `fixed`: the type is that of every call of the shape."""

    type: ir.Type | None
    findings: tuple[Finding, ...]
    legal: tuple[Term, ...]
    sources: tuple[ir.Expr | None, ...]
    owners: tuple[str, ...]
    extents: tuple[ir.Expr, ...]
    fixed: bool


class Later(Refused):
    """A statement is left out until its question is answered; nobody is told."""

    def __init__(self) -> None:
        super().__init__("", "")


class Asker:
    """Values of one function by name, and questions about its calls."""

    def __init__(self, engine: Engine, surroundings: Surroundings) -> None:
        self.engine = engine
        self.values: dict[str, Value] = {}
        self._last: tuple[ir.Call, ir.Type | None, Answer] | None = None
        self.shaper = Shaper(engine, self.values.get, addresses=True, surroundings=surroundings)

    def parameters(self, function: ir.Function) -> None:
        """The parameters' values, and those of the symbols in their shapes."""
        for p in function.params:
            tile = isinstance(p.type, ir.TileType)
            self.values[p.name] = Value(p.type, place=(p.name, p.name, p.name) if tile else None)
            if isinstance(p.type, ir.TensorType):
                valid = p.type.view.valid if p.type.view and p.type.view.valid else ()
                for name in reads(p.type.shape, valid):
                    self.values.setdefault(name, Value(ir.ScalarType(ir.DType.INDEX), bounds=(0, WIDE)))

    def signature(self, call: ir.Call) -> Signature:
        """The signature of an op; Refused where no rule file declares it."""
        return self.shaper.signature(call)

    def ask(self, call: ir.Call, result: ir.Type | None = None) -> Answer:
        """What the rules say of `call`, whose result has the type `result` where that is known."""
        if self._last is not None and self._last[0] is call and self._last[1] is result:
            return self._last[2]
        signature = self.signature(call)
        asked = self.shaper.asked(call, signature, result)
        if self.engine.watch is not None:
            from pypto_rw.rewriting.watching import Question  # a plain run is not watched

            self.engine.watch.questions.append(Question(call.span, call.callee, asked.shape, asked.sources))
        try:
            said = self.engine.ask(asked.shape)
        except Unanswered:
            raise Later from None
        late = {rule for (rule,) in signature.all("after-planning")}
        findings = tuple(f for f in said.findings if f.rule not in late)
        deduced = said.type
        if deduced is None and said.deduced is not None:
            deduced = type_of(said.deduced, asked.extents)
            if said.fixed is None:
                said.fixed = not _names_extents(said.deduced)
            if said.fixed:
                said.type = deduced
        answer = Answer(deduced, findings, said.legal, asked.sources, asked.owners, asked.extents, bool(said.fixed))
        self._last = call, result, answer
        return answer

    def refused(self, finding: Finding, call: ir.Call) -> Refused:
        """A finding of the rules as a refusal of the call."""
        return Refused(
            finding.rule.rsplit("/", 1)[-1],
            finding.message,
            call.span,
            finding.help,
            self.engine.rule_place(finding.rule),
        )

    def value(self, name: str, t: ir.Type, call: ir.Call) -> Value:
        """What is known of the result of a call: its type, and how it came to be."""
        signature = self.signature(call)
        value = Value(t, place=(name, name, name) if isinstance(t, ir.TileType) else None)
        arguments = bind(call, signature)
        if trait := signature.trait("in-place"):
            source = self._of(arguments.get(trait[0]))
            if source is not None:
                value = Value(t, place=source.place, origin=source.origin, window=source.window)
        if trait := signature.trait("makes"):
            value = Value(t, place=value.place, origin=trait[0])
        if trait := signature.trait("marks"):
            value = Value(t, place=value.place, origin=trait[0])
        if trait := signature.trait("makes-window"):
            source, offsets = self._of(arguments.get(trait[0])), arguments.get(trait[1])
            asked = [arguments.get(name) for name in trait[2].split()]
            plain = not any(isinstance(a, ir.Tuple) and a.items for a in asked)
            if source is not None and source.place and plain and isinstance(offsets, ir.Tuple):
                window = self._window(source, offsets)
                value = Value(t, place=value.place, origin="window", window=window)
        return value

    def divisor(self, expr: ir.Expr) -> int:
        """A number that divides every value of a scalar expression."""
        known = {name: found.divisor for name in reads(expr) if (found := self.values.get(name)) is not None}
        return divisor(self.shaper.resolved(expr), known)

    def _window(self, source: Value, offsets: ir.Tuple) -> Window:
        """A window at `offsets` of a tile, and where it begins."""
        assert source.place is not None and isinstance(source.type, ir.TileType)
        row, col = map(self.shaper.resolved, offsets.items)
        last = source.type.shape[-1]
        columns = last.value if isinstance(last, ir.Int) else 0
        width = bits(source.type.dtype)
        fixed, step = source.window.begins if source.window is not None else (0, 0)
        for offset, stride in ((row, columns * width), (col, width)):
            if isinstance(offset, ir.Int):
                fixed += offset.value * stride
            else:
                step = gcd(step, self.divisor(offset) * stride)
        aligned = fixed % _BLOCK == 0 and step % _BLOCK == 0
        return Window(source.place[2], row, col, columns, source.place[1], 1 if aligned else 3, (fixed, step))

    def _of(self, expr: ir.Expr | None) -> Value | None:
        return self.values.get(expr.id) if isinstance(expr, ir.Name) else None


def _names_extents(term: Any) -> bool:
    """Whether a type's term has run-time extents of its statement."""
    return isinstance(term, tuple) and (term[:1] in (("dyn",), ("inside",)) or any(map(_names_extents, term)))
