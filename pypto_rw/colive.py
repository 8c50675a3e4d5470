"""Do tiles of an allocated function that are needed at once share bytes? A quick look; memory/verify.py is exact.

`suspect` walks a function once, in the order of its text, and compares each new tile with those that are read later.
It never misses a tile that is overwritten by a straight line of statements, and may suspect what is right.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable

from pypto_rw import ir
from pypto_rw.records import dataclass, field

_Range = tuple[int, int]  # first byte, byte after the last


@dataclass(slots=True)
class _Memory:
    """The byte ranges of one memory space, in order, and the tiles in each: when it is last read, and its base."""

    ranges: list[_Range] = field(default_factory=list)
    longest: int = 0
    until: dict[_Range, tuple[int, str]] = field(default_factory=dict)

    def taken(self, new: _Range, now: int, excused: str) -> bool:
        """Whether a tile that is read after `now` has a byte of the range; those of the base `excused` do not count."""
        until = self.until
        if new not in until:
            insort(self.ranges, new)
            until[new] = (-1, "")
            self.longest = max(self.longest, new[1] - new[0])
        at = bisect_left(self.ranges, (new[0] - self.longest, 0))
        for k in range(at, len(self.ranges)):
            other = self.ranges[k]
            if other[0] >= new[1]:
                break
            last, base = until[other]
            if last > now and other[1] > new[0] and base != excused:
                return True
        return False

    def put(self, new: _Range, last: int, base: str) -> None:
        """Note that a tile in the range is read until `last`."""
        if last >= self.until[new][0]:
            self.until[new] = (last, base)


class _Walk:
    def __init__(self, in_place: Callable[[str], bool]) -> None:
        self.in_place = in_place
        self.now = 0
        self.last: dict[str, int] = {}
        self.born: dict[str, int] = {}
        self.tiles: list[tuple[int, str, ir.TileType, bool]] = []
        self.types: dict[str, ir.TileType] = {}
        self.views: list[tuple[str, str]] = []

    def read(self, expr: ir.Expr) -> None:
        if isinstance(expr, ir.Name):
            self.last[expr.id] = self.now
            return
        inner: Iterable[ir.Expr] = ()
        if isinstance(expr, ir.Call):
            inner = (*expr.args, *[a for _, a in expr.kwargs])
        elif isinstance(expr, ir.Tuple):
            inner = expr.items
        elif isinstance(expr, ir.Item):
            inner = (expr.value,)
        for a in inner:
            if isinstance(a, ir.Name):
                self.last[a.id] = self.now
            elif not isinstance(a, ir.Int):
                self.read(a)

    def block(self, body: tuple[ir.Stmt, ...]) -> None:
        for stmt in body:
            self.now += 1
            match stmt:
                case ir.Assign():
                    self.read(stmt.value)
                    self.made(stmt)
                case ir.Evaluate():
                    self.read(stmt.value)
                case ir.Yield() | ir.Return():
                    for v in stmt.values:
                        self.read(v)
                case ir.For() | ir.While():
                    for v in stmt.initial:
                        self.read(v)
                    self.loop(stmt)
                case ir.If():
                    self.block(stmt.body)
                    self.block(stmt.orelse or ())

    def loop(self, loop: ir.For | ir.While) -> None:
        """What a loop reads from outside is needed until its end; its results are where what it carries is."""
        start = self.now
        outer, self.last = self.last, {}
        types = [self.types.get(v.id) if isinstance(v, ir.Name) else None for v in loop.initial]
        for name, t in zip(loop.carried, types, strict=False):
            self.tile(name, t, same=True)
        self.block(loop.body)
        self.now += 1
        for name, last in self.last.items():
            outer[name] = last if self.born.get(name, 0) >= start else self.now
        self.last = outer
        end = loop.body[-1] if loop.body else None
        if isinstance(end, ir.Yield):
            for name, t in zip(end.targets, types, strict=False):
                self.tile(name, t, same=True)

    def made(self, stmt: ir.Assign) -> None:
        value = stmt.value
        same = not isinstance(value, ir.Call) or self.in_place(value.callee)
        if same:
            sources = value.args if isinstance(value, ir.Call) else (value,)
            self.views += ((stmt.targets[0], s.id) for s in sources if isinstance(s, ir.Name) and s.id in self.types)
        self.tile(stmt.targets[0], stmt.type, same=same)
        if isinstance(value, ir.Item):  # the results of one call are all written at once
            self.last[stmt.targets[0]] = self.now + 2

    def tile(self, name: str, t: ir.Type | None, *, same: bool) -> None:
        """A tile begins here; `same`: it may lie where an operand lies."""
        self.born[name] = self.now
        if isinstance(t, ir.TileType) and t.memref is not None and isinstance(t.memref.offset, ir.Int):
            self.types[name] = t
            self.tiles.append((self.now, name, t, same))


def suspect(function: ir.Function, in_place: Callable[[str], bool], *, addresses: bool) -> bool:
    """Whether a tile of the function may be written over one that is read later.

    `in_place` says of an op whether its result may lie in an operand's memory; without `addresses` only tiles of one
    allocation can share bytes."""
    walk = _Walk(in_place)
    walk.block(function.body)
    last = walk.last
    for view, source in reversed(walk.views):  # what a view shows is needed as long as the view
        last[source] = max(last.get(source, 0), last.get(view, 0))
    memories: dict[object, _Memory] = {}
    for now, name, t, same in walk.tiles:
        memref = t.memref
        assert memref is not None and isinstance(memref.offset, ir.Int)
        new = (memref.offset.value, memref.offset.value + (memref.size or 0))
        memory = memories.setdefault(t.space if addresses else memref.base, _Memory())
        if memory.taken(new, now, memref.base if same else ""):
            return True
        memory.put(new, last.get(name, now), memref.base)
    return False
