"""Kinds of calls: two calls are of one kind when everything that a stage looks at is the same.

That is the op, the types of the operands and what else is known of them, which of them are one or in one place, and
the constants. Offsets are left out where any of them that stays inside its tensor is as good as another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pypto_rw import ir
from pypto_rw.rewriting.declared import Signature
from pypto_rw.rewriting.engine import Engine
from pypto_rw.scalars import names_in
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.shapes import Shaper
from pypto_rw.shaping.values import Value

Key = tuple[Any, ...]
Known = tuple[Value, int | None, tuple[str, ...]]  # a value, its number, and the variables that its type names
_MOST = 20_000  # kinds that are remembered
_LARGEST = 2**31  # of an offset that is left out
_INDEX = ir.DType.INDEX
_PLAIN = Value(ir.OpaqueType(""))
_NOT_WRITTEN = frozenset({"&", "|", "^", "**"})  # whether these are refused depends on the function


class Kinds:
    """What a stage made of calls, by kind, for one set of rules."""

    def __init__(self) -> None:
        self.made: dict[Key, Any] = {}
        self.exact: set[tuple[str, int]] = set()  # argument lists of which the integers decide
        self.variables: dict[int, tuple[str, ...]] = {}  # by the number of a type: those that it names
        self._types: dict[ir.Type, int] = {}
        self._by_id: dict[int, tuple[ir.Type, int]] = {}
        self._values: dict[tuple[Any, ...], int] = {}

    def put(self, key: Key, made: Any) -> None:
        """Remember what calls with that key become, unless too much is remembered."""
        if len(self.made) < _MOST:
            self.made[key] = made

    @staticmethod
    def of(engine: Engine, stage: str) -> Kinds:
        """Those of an engine, which forgets them with its shapes."""
        found = engine.remembered.get(stage)
        if not isinstance(found, Kinds) or len(found.made) + len(found._types) + len(found._values) >= _MOST:
            found = engine.remembered[stage] = Kinds()
        if len(found._by_id) > _MOST:
            found._by_id.clear()
        return found

    def type(self, t: ir.Type | None) -> int:
        """The number of a type, equal types having one; 0 for none."""
        if t is None:
            return 0
        known = self._by_id.get(id(t))
        if known is None:
            number = self._types.setdefault(t, len(self._types) + 1)
            known = self._by_id[id(t)] = (t, number)  # the reference keeps the id valid
            names = tuple(dict.fromkeys(_variables(t)))
            if names:
                self.variables[number] = names
        return known[1]

    def known(self, v: Value) -> tuple[int | None, tuple[str, ...]]:
        """The number of a value, and the variables that its type names."""
        return self.value(v), self.variables.get(self.type(v.type), ())

    def value(self, v: Value) -> int | None:
        """The number of all that is known of a value but its handle; None for a window."""
        if v.window is not None:
            return None
        number = self.type(v.type)
        place = v.place
        if place is None and isinstance(v.type, ir.TileType):
            return -self._values.setdefault((number, v.origin), len(self._values) + 1)
        if place is not None and place[0] != place[2]:  # else it is named by its variable
            return -self._values.setdefault((number, v.origin, *place[:2]), len(self._values) + 1)
        if v.constant is None and v.origin == "plain" and v.bounds == _PLAIN.bounds and v.divisor == 1:
            return number
        key = (number, v.origin, v.constant, v.bounds, v.divisor)
        return -self._values.setdefault(key, len(self._values) + 1)


def _variables(t: ir.Type) -> Iterator[str]:
    """Variables that a type names."""
    if isinstance(t, ir.TupleType):
        for item in t.items:
            yield from _variables(item)
    if not isinstance(t, ir.TileType | ir.TensorType):
        return
    yield from names_in(t.shape)
    if t.view is not None:
        yield from names_in((*(t.view.valid or ()), *(t.view.stride or ())))
    if t.memref is not None:
        yield from names_in(tuple(e for e in (t.memref.offset, t.memref.slot) if e is not None))


class Keys:
    """Keys of the calls of one function, whose variables are `values`.

    `names` are the variables in the last call, `offsets` the integers that its key leaves out, both in order."""

    def __init__(self, kinds: Kinds, values: Mapping[str, Value]) -> None:
        self.kinds, self.values = kinds, values
        self.numbers: dict[str, Known] = {}
        self.names: list[str] = []
        self.offsets: list[int] = []

    def of(self, call: ir.Call, written: int) -> Key | None:
        """The key of a call whose result is written with the type of that number; None for one without a kind."""
        if call.attrs:
            return None
        names: list[str] = []
        offsets: list[int] = []
        self.names, self.offsets = names, offsets
        callee = call.callee
        exact, variables = self.kinds.exact, self.kinds.variables
        out: list[Any] = [callee, written]
        places: dict[object, int] = {}
        part = self._part
        if written in variables:
            for other in variables[written]:
                if not part(ir.Name(other), out, places):
                    return None
        numbers, values, number = self.numbers, self.values, places.setdefault
        for k, a in enumerate(call.args):
            if isinstance(a, ir.Name):
                name = a.id
                known = numbers.get(name)
                if known is not None and known[1] is not None and not known[2] and known[0] is values.get(name):
                    place = known[0].place
                    first = number(name if place is None else place[2], len(places))
                    out += known[1], first, number(name, len(places))
                    names.append(name)
                    continue
            elif isinstance(a, ir.Tuple) and (callee, k) not in exact:
                out.append("[")
                for item in a.items:
                    if type(item) is ir.Int and item.dtype is _INDEX and 0 <= item.value < _LARGEST:
                        out.append("#")
                        offsets.append(item.value)
                    elif not part(item, out, places):
                        return None
                out.append("]")
                continue
            if not part(a, out, places):
                return None
        out.append("|")
        for name, a in call.kwargs:
            out.append(name)
            if not part(a, out, places):
                return None
        return tuple(out)

    def _part(self, a: Any, out: list[Any], places: dict[object, int]) -> bool:
        """Appends what tells an argument from others; False for one that is not told."""
        kind = type(a)
        if kind is ir.Name:
            name = a.id
            value = self.values.get(name)
            known = self.numbers.get(name)
            if known is None or known[0] is not value:
                if value is None:
                    return False
                known = self.numbers[name] = (value, *self.kinds.known(value))
            if known[1] is None:
                return False
            place = known[0].place
            handle = name if place is None else place[2]
            out += known[1], places.setdefault(handle, len(places)), places.setdefault(name, len(places))
            self.names.append(name)
            for other in known[2]:
                if not self._part(ir.Name(other), out, places):
                    return False
        elif kind is ir.Int:
            out += "i", a.value, a.dtype
        elif kind is ir.Float:
            out += "f", a.bits, a.dtype
        elif kind is ir.Symbol:
            out += "s", a.path
        elif kind is ir.Str or kind is ir.Bool:
            out += kind, a.value
        elif kind is ir.Tuple:
            out.append("(")
            for item in a.items:
                if not self._part(item, out, places):
                    return False
            out.append(")")
        elif kind is ir.Binary and a.op not in _NOT_WRITTEN:
            out.append(a.op)
            return self._part(a.left, out, places) and self._part(a.right, out, places)
        else:
            return False
        return True


def left_out(item: ir.Expr) -> bool:
    """Whether a number in a list may be left out of a key."""
    return type(item) is ir.Int and item.dtype is _INDEX and 0 <= item.value < _LARGEST


def limits(kinds: Kinds, call: ir.Call, made: ir.Call, signature: Signature, shaper: Shaper) -> tuple[int, ...] | None:
    """The largest value of each left out offset of `call`, which became `made`; None where one decides.

    That one is no longer left out then."""
    most: list[int] = []
    arguments = bind(made, signature)
    for k, items in enumerate(call.args):
        if not isinstance(items, ir.Tuple) or (call.callee, k) in kinds.exact:
            continue
        rooms = []
        for p in signature.parameters:
            if arguments.get(p.name, arguments.get(signature.usage.stands_in.get(p.name, ""))) is items:
                any_ = dict.fromkeys(range(len(items.items)), _LARGEST) if p.kind == "tuple" else {}
                rooms.append(shaper.room(p, items, signature, arguments) if p.kind == "extents" else any_)
        for n, item in enumerate(items.items):
            if not left_out(item):
                continue
            if not rooms or not all(n in room for room in rooms):
                kinds.exact.add((call.callee, k))
                return None
            most.append(min(room[n] for room in rooms))
    return tuple(most)
