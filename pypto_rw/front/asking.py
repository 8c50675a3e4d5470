"""Asks the rules about a call: its type, its refusals, and what stands for it before memory is planned."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.engine import Engine, Finding, Term
from pypto_rw.front.names import reads
from pypto_rw.records import dataclass
from pypto_rw.rulebook import Signature
from pypto_rw.scalars import WIDE
from pypto_rw.shapes import Refused, Shaper, Value, Window, bind
from pypto_rw.typing import type_of
from pypto_rw.unit import Surroundings


@dataclass(frozen=True, slots=True)
class Answer:
    """What the rules say of one call.

    `sources` and `owners` are the expressions and parameters behind its operands, `extents` its run-time extents,
    each by number."""

    type: ir.Type | None
    findings: tuple[Finding, ...]
    legal: tuple[Term, ...]
    sources: tuple[ir.Expr | None, ...]
    owners: tuple[str, ...]
    extents: tuple[ir.Expr, ...]


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
        said = self.engine.ask(asked.shape)
        late = signature.trait("after-planning") or ()
        findings = tuple(f for f in said.findings if f.rule not in late)
        deduced = said.type
        if deduced is None and said.deduced is not None:
            deduced = type_of(said.deduced, asked.extents)
            if not asked.extents:
                said.type = deduced
        answer = Answer(deduced, findings, said.legal, asked.sources, asked.owners, asked.extents)
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
            window = None
            if source is not None and source.place and isinstance(offsets, ir.Tuple) and len(offsets.items) == 2:
                row, col = map(self.shaper.resolved, offsets.items)
                last = source.type.shape[-1] if isinstance(source.type, ir.TileType) else None
                columns = last.value if isinstance(last, ir.Int) else 0
                window = Window(source.place[2], row, col, columns, source.place[1], 1)
            if window is not None:
                value = Value(t, place=value.place, origin="window", window=window)
        return value

    def _of(self, expr: ir.Expr | None) -> Value | None:
        return self.values.get(expr.id) if isinstance(expr, ir.Name) else None
