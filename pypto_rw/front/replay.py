"""Calls of one kind, decided once: what a stage made of a call is made of the next one like it without a question.

Calls are of one kind when everything that the stage looks at is the same: the op, the types of the operands and what
else is known of them, which operands are in one place, the constants. Offsets are left out where any of them that
stays inside its tensor is as good as another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pypto_rw import ir
from pypto_rw.front.asking import Asker
from pypto_rw.front.names import reads
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import CONTEXT_KINDS
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.values import Value

_MOST = 20_000  # kinds that are remembered
_LARGEST = 2**31  # of an offset that is left out
_INDEX = ir.DType.INDEX
_PLAIN = Value(ir.OpaqueType(""))
_CONSTANTS = (ir.Int, ir.Float, ir.Str, ir.Symbol, ir.Bool)
_REFUSED_IN_AUTHORED = frozenset({"&", "|", "^", "**"})

Key = tuple[Any, ...]


class Made(NamedTuple):
    """What calls of a kind become. `args`, `kwargs`: None where they stay, else for each the position of the argument
    that it was, or a new constant. `value` of the result: the same for all of them, or None for one whose place is
    its own (`place` -1) or that of an argument. `most`: up to where the left out offsets may go."""

    callee: str
    args: tuple[int | ir.Expr, ...] | None
    kwargs: tuple[tuple[str, int | ir.Expr], ...] | None
    type: ir.Type | None
    origin: str
    value: Value | None
    place: int
    most: tuple[int, ...]


class Kinds:
    """The kinds of calls that a stage has met, for one set of rules."""

    def __init__(self) -> None:
        self.made: dict[Key, Made] = {}
        self.exact: set[tuple[str, int]] = set()  # argument lists of which the integers decide
        self._types: dict[ir.Type, int] = {}
        self._by_id: dict[int, tuple[ir.Type, int]] = {}
        self._values: dict[tuple[Any, ...], int] = {}

    @staticmethod
    def of(engine: Engine, stage: str) -> Kinds:
        """Those of an engine, which forgets them with its shapes."""
        found = engine.remembered.get(stage)
        if not isinstance(found, Kinds) or len(found.made) + len(found._by_id) + len(found._values) > _MOST:
            found = engine.remembered[stage] = Kinds()
        return found

    def type(self, t: ir.Type | None) -> int:
        """The number of a type, equal types having one; 0 for none."""
        if t is None:
            return 0
        known = self._by_id.get(id(t))
        if known is None:
            number = self._types.setdefault(t, len(self._types) + 1)
            known = self._by_id[id(t)] = (t, number)  # the reference keeps the id valid
        return known[1]

    def value(self, v: Value) -> int | None:
        """The number of all that is known of a value but where it is; None where that is part of it."""
        if v.window is not None:
            return None
        number = self.type(v.type)
        plain = _PLAIN
        if v.constant is None and v.origin == "plain" and v.bounds == plain.bounds and v.divisor == 1:
            return number
        key = (number, v.origin, v.constant, v.bounds, v.divisor)
        return -self._values.setdefault(key, len(self._values) + 1)


class Replay:
    """The calls of one function in one stage."""

    def __init__(self, asker: Asker, stage: str) -> None:
        self.kinds = Kinds.of(asker.engine, stage)
        self.asker, self.values = asker, asker.values
        self.watched = asker.engine.watch is not None
        self._numbers: dict[str, tuple[Value, int | None]] = {}
        self.key: Key | None = None
        self.offsets: list[int] = []

    def find(self, stmt: ir.Assign | ir.Evaluate) -> Made | None:
        """What a call becomes; None where that has to be asked (then `key` tells whether it may be learned)."""
        self.key = None
        call = stmt.value
        if not isinstance(call, ir.Call) or call.attrs or self.watched:
            return None
        offsets = self.offsets = []
        written = self.kinds.type(stmt.type) if isinstance(stmt, ir.Assign) else -1
        out: list[Any] = [call.callee, written]
        places: dict[object, int] = {}
        for k, a in enumerate(call.args):
            if type(a) is ir.Tuple and (call.callee, k) not in self.kinds.exact:
                out.append("[")
                for item in a.items:
                    if type(item) is ir.Int and item.dtype is _INDEX and 0 <= item.value < _LARGEST:
                        out.append("#")
                        offsets.append(item.value)
                    elif not self._part(item, out, places):
                        return None
                out.append("]")
            elif not self._part(a, out, places):
                return None
        out.append("|")
        for name, a in call.kwargs:
            out.append(name)
            if not self._part(a, out, places):
                return None
        key = tuple(out)
        made = self.kinds.made.get(key)
        if made is None:
            self.key = key
            return None
        for value, most in zip(offsets, made.most, strict=True):
            if value > most:
                return None
        return made

    def _part(self, a: ir.Expr, out: list[Any], places: dict[object, int]) -> bool:
        """Appends what tells an argument from others; False for one that is not told."""
        kind = type(a)
        if kind is ir.Name:
            name = a.id  # type: ignore[union-attr]
            value = self.values.get(name)
            known = self._numbers.get(name)
            if known is None or known[0] is not value:
                if value is None:
                    return False
                known = self._numbers[name] = (value, self.kinds.value(value))
            if known[1] is None:
                return False
            out += known[1], places.setdefault(known[0].place or name, len(places))
        elif kind is ir.Int:
            out += "i", a.value, a.dtype  # type: ignore[union-attr]
        elif kind is ir.Float:
            out += "f", a.bits, a.dtype  # type: ignore[union-attr]
        elif kind is ir.Symbol:
            out += "s", a.path  # type: ignore[union-attr]
        elif kind is ir.Str or kind is ir.Bool:
            out += kind, a.value  # type: ignore[union-attr]
        elif kind is ir.Tuple:
            out.append("(")
            if not all([self._part(item, out, places) for item in a.items]):  # type: ignore[union-attr]
                return False
            out.append(")")
        elif kind is ir.Binary and a.op not in _REFUSED_IN_AUTHORED:  # type: ignore[union-attr]
            out.append(a.op)  # type: ignore[union-attr]
            return self._part(a.left, out, places) and self._part(a.right, out, places)  # type: ignore[union-attr]
        else:
            return False
        return True

    def call(self, call: ir.Call, made: Made) -> ir.Call:
        """The call that stands for `call`."""
        args, kwargs = call.args, call.kwargs
        if made.args is not None or made.kwargs is not None:
            every = (*args, *[a for _, a in kwargs])
            if made.args is not None:
                args = tuple([every[a] if type(a) is int else a for a in made.args])  # type: ignore[misc]
            if made.kwargs is not None:
                kwargs = tuple([(n, every[a] if type(a) is int else a) for n, a in made.kwargs])  # type: ignore[misc]
        elif made.callee == call.callee:
            return call
        return ir.Call(made.callee, args, kwargs, (), call.span)

    def result(self, name: str, call: ir.Call, made: Made) -> Value:
        """What is known of the result `name` of the call that `made` is about."""
        if made.value is not None:
            return made.value
        assert made.type is not None
        if made.place < 0:
            return Value(made.type, (name, name, name), made.origin)
        source = (*call.args, *[a for _, a in call.kwargs])[made.place]
        assert isinstance(source, ir.Name)
        return Value(made.type, self.values[source.id].place, made.origin)

    def learn(self, key: Key, offsets: list[int], old: ir.Assign | ir.Evaluate, new: ir.Stmt) -> None:
        """Remember that `old`, which has that key and these left out offsets, became `new` alone."""
        call = old.value
        if type(new) is not type(old) or not isinstance(new, ir.Assign | ir.Evaluate) or not isinstance(call, ir.Call):
            return
        made_of, type_ = new.value, new.type if isinstance(new, ir.Assign) else None
        if not isinstance(made_of, ir.Call) or made_of.attrs or made_of.span != call.span or new.span != old.span:
            return
        signature = self.asker.engine.rulebook.signature(made_of.callee)
        if signature is None or any(p.kind in CONTEXT_KINDS for p in signature.parameters):
            return
        if signature.trait("as-popped") is not None or (isinstance(new, ir.Assign) and old.targets != new.targets):  # type: ignore[union-attr]
            return
        most = self._most(call, made_of)
        if most is None or len(most) != len(offsets) or any(v > m for v, m in zip(offsets, most, strict=True)):
            return
        before = (*call.args, *[a for _, a in call.kwargs])
        args = [_source(a, before, offsets) for a in made_of.args]
        kwargs = [(n, _source(a, before, offsets)) for n, a in made_of.kwargs]
        if None in args or any(a is None for _, a in kwargs):
            return
        count = len(call.args)
        names = [n for n, _ in call.kwargs]
        same = args == list(range(count))
        same_keywords = kwargs == list(zip(names, range(count, len(before)), strict=True))
        value, place, origin = None, -1, "plain"
        if isinstance(new, ir.Assign):
            name = new.targets[0]
            found = self.values.get(name)
            if found is None or self.kinds.value(found) is None or found.constant is not None:
                return
            if found != Value(found.type, found.place, found.origin):
                return
            origin = found.origin
            if found.place is None:
                value = found
            elif found.place != (name, name, name):
                sources = [k for k, a in enumerate(made_of.args) if self._place(a) == found.place]
                if not sources:
                    return
                place = sources[0]
            if found.type is not type_ or not self._the_same(made_of, type_, key[1], offsets):
                return
        self.kinds.made[key] = Made(
            made_of.callee,
            None if same else tuple(a for a in args if a is not None),
            None if same_keywords else tuple((n, a) for n, a in kwargs if a is not None),
            type_,
            origin,
            value,
            place,
            most,
        )

    def _the_same(self, call: ir.Call, t: ir.Type | None, written: int, offsets: list[int]) -> bool:
        """Whether a type is that of every call of the kind: it names no variable and is not computed of an offset."""
        if self.kinds.type(t) == written:
            return True
        return next(reads(t), None) is None and (not offsets or self.asker.ask(call).fixed)

    def _place(self, a: ir.Expr) -> object:
        found = self.values.get(a.id) if isinstance(a, ir.Name) else None
        return found.place if found is not None else None

    def _most(self, call: ir.Call, made_of: ir.Call) -> tuple[int, ...] | None:
        """The largest value of each left out offset; None where one of them decides, which is noted."""
        most: list[int] = []
        signature = self.asker.signature(made_of)
        arguments = bind(made_of, signature)
        for k, items in enumerate(call.args):
            if not isinstance(items, ir.Tuple) or (call.callee, k) in self.kinds.exact:
                continue
            rooms = []
            for p in signature.parameters:
                expr = arguments.get(p.name, arguments.get(signature.usage.stands_in.get(p.name, "")))
                if expr is items:
                    everywhere = dict.fromkeys(range(len(items.items)), _LARGEST) if p.kind == "tuple" else {}
                    inside = self.asker.shaper.room(p, items, signature, arguments) if p.kind == "extents" else {}
                    rooms.append(everywhere or inside)
            for n, item in enumerate(items.items):
                if not _left_out(item):
                    continue
                if not rooms or not all(n in room for room in rooms):
                    self.kinds.exact.add((call.callee, k))
                    return None
                most.append(min(room[n] for room in rooms))
        return tuple(most)


def _left_out(item: ir.Expr) -> bool:
    """Whether a number in a list may be left out of a kind."""
    return type(item) is ir.Int and item.dtype is _INDEX and 0 <= item.value < _LARGEST


def _source(new: ir.Expr, before: tuple[ir.Expr, ...], offsets: list[int]) -> int | ir.Expr | None:
    """Where an argument comes from: its position before, or itself if it is a constant; None for another."""
    for k, old in enumerate(before):
        if new is old:
            return k
    for k, old in enumerate(before):
        if type(new) is type(old) is ir.Binary and new == old:
            return k
    if isinstance(new, ir.Tuple):
        fixed = all(isinstance(e, _CONSTANTS) for e in new.items) and not offsets
        return next((k for k, old in enumerate(before) if new == old), new if fixed else None)
    if not isinstance(new, _CONSTANTS) or (isinstance(new, ir.Int) and new.value in offsets):
        return None
    return new
