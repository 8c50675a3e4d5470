"""Loop-carried tiles: compute what a loop yields straight into the memory it is carried in, where that is safe.

Source: memory-planning.md §4. A copy of a carried tile counts as a read of the carried memory, as it will live there
(copies print nothing), and operands that the result may not be written over keep it out as well; the reference build
looks at neither and loses the old value.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from pypto_rw import ir
from pypto_rw.memory.hazards import forbidden
from pypto_rw.memory.tree import Block, Branch, Loop, Memory, Step, Tree, Variable
from pypto_rw.records import dataclass


def retarget_carried(tree: Tree) -> None:
    """Move yielded tiles into their loop's memory; views follow a moved parent."""
    if tree.straight:
        return
    retargeter = _Retargeter(tree)
    retargeter.visit(tree.body)
    _apply(tree.body, retargeter.moved)


@dataclass(slots=True)
class _Spot:
    """Where a statement is: its first and last number, and the enclosing statements with the block they share."""

    first: int
    last: int
    block_last: int
    parent: Loop | Branch | None


class Touches:
    """At which statements each allocation is read or written, numbered in source order."""

    def __init__(self, tree: Tree) -> None:
        self.number = 0
        self.spots: dict[Step | Loop | Branch, _Spot] = {}
        self.at: dict[str, list[int]] = {}
        self._block(tree.body, None)

    def _touch(self, *variables: Variable | None) -> None:
        for v in variables:
            for base in bases(v):
                self.at.setdefault(base, []).append(self.number)

    def _block(self, block: Block, parent: Loop | Branch | None) -> None:
        inside = []
        for item in block.items:
            spot = self.spots[item] = _Spot(self.number, 0, 0, parent)
            inside.append(spot)
            match item:
                case Step():
                    self._touch(*item.reads, item.target)
                case Loop():
                    self._touch(*item.starts)
                    self.number += 1
                    self._block(item.body, item)
                    self._touch(*item.results)
                case Branch():
                    self._touch(*item.reads)
                    self.number += 1
                    for b in item.blocks:
                        self._block(b, item)
                    self._touch(*item.results)
            spot.last = self.number
            self.number += 1
        if block.end is not None:
            self._touch(*block.end.reads)
            self.number += 1
        for spot in inside:
            spot.block_last = self.number - 1

    def within(self, item: Loop, base: str) -> bool:
        """Whether a statement of a loop touches `base`."""
        at, spot = self.at.get(base, []), self.spots[item]
        return bisect_right(at, spot.last) > bisect_left(at, spot.first)

    def after(self, item: Step | Loop, base: str) -> bool:
        """Whether a later statement touches `base`, out to the end of the innermost enclosing `for`."""
        at = self.at.get(base, [])
        where: Step | Loop | Branch = item
        while True:
            spot = self.spots[where]
            if bisect_right(at, spot.block_last) > bisect_right(at, spot.last):
                return True
            if spot.parent is None or (isinstance(spot.parent, Loop) and isinstance(spot.parent.stmt, ir.For)):
                return False
            where = spot.parent

    def in_block_after(self, item: Step, base: str) -> bool:
        """Whether a later statement of the same block touches `base`."""
        at, spot = self.at.get(base, []), self.spots[item]
        return bisect_right(at, spot.block_last) > bisect_right(at, spot.last)


def bases(v: Variable | None) -> tuple[str, ...]:
    """Allocations that reading `v` reads: its own, and that of a carried tile it is a copy of."""
    found: list[str] = []
    while v is not None:
        if v.tile is not None and v.base is not None and v.base not in found:
            found.append(v.base)
        v = v.home.copied if isinstance(v.home, Step) else None
    return tuple(found)


class _Retargeter:
    def __init__(self, tree: Tree) -> None:
        self.touches = Touches(tree)
        self.moved: dict[Variable, Memory] = {}
        self.open: set[Variable] = set()
        self.through: list[tuple[Loop, Variable | None]] = []  # loops whose result is being moved

    def visit(self, block: Block) -> None:
        for item in block.items:
            match item:
                case Loop():
                    if isinstance(item.stmt, ir.For) and item.body.end is not None:
                        for carried, value in zip(item.carried, item.body.end.values, strict=False):
                            memory, t = self.memory(carried), carried.tile
                            if memory is not None and t is not None and value is not None:
                                self.move(value, memory, t.space)
                    if isinstance(item.stmt, ir.For):
                        self.visit(item.body)
                case Branch():
                    for b in item.blocks:
                        self.visit(b)

    def memory(self, v: Variable) -> Memory | None:
        """The (planned) memory of `v`."""
        return self.moved.get(v, v.memory)

    def move(self, v: Variable, memory: Memory, space: ir.Space | None) -> bool:
        """Move `v` onto `memory`; False where that cannot be."""
        here = self.memory(v)
        if here is not None and here.base == memory.base:
            return True
        if v in self.open or v.tile is None or v.home is None:
            return False
        self.open.add(v)
        try:
            if not self._movable(v, memory, space):
                return False
            self.moved[v] = memory
            return True
        finally:
            self.open.discard(v)

    def _movable(self, v: Variable, memory: Memory, space: ir.Space | None) -> bool:
        match v.home:
            case Step():
                return self._step(v.home, memory, space)
            case Branch():
                return self._merged(v.home, v.position, memory, space)
            case Loop() if isinstance(v.home.stmt, ir.For):
                if v.role == "carried":
                    initial = v.home.initial[v.position]
                    return initial is not None and self.move(initial, memory, space)
                return self._after(v.home, v.position, memory, space)
        return False

    def _merged(self, branch: Branch, k: int, memory: Memory, space: ir.Space | None) -> bool:
        done = []
        for b in branch.blocks:
            value = b.end.values[k] if b.end is not None and k < len(b.end.values) else None
            done.append(value is not None and self.move(value, memory, space))
        return all(done)

    def _after(self, loop: Loop, k: int, memory: Memory, space: ir.Space | None) -> bool:
        value = loop.body.end.values[k] if loop.body.end is not None else None
        self.through.append((loop, loop.carried[k] if k < len(loop.carried) else None))
        moved = value is not None and self.move(value, memory, space)
        self.through.pop()
        if not moved:
            return False
        if k < len(loop.carried):
            initial = loop.initial[k]
            if initial is not None and not self.move(initial, memory, space):
                return False
            self.moved[loop.carried[k]] = memory
        return True

    def _step(self, step: Step, memory: Memory, space: ir.Space | None) -> bool:
        op = step.op
        if step.call is None or op is None:
            return False
        if op.updates is not None:
            source = step.arguments.get(op.updates)
            return source is not None and self.move(source, memory, space)
        if op.inherits is not None:
            source = step.arguments.get(op.inherits)
            keeps = op.signature.trait("in-place") is not None and op.access == "none"
            if not keeps or source is None or step.target is None or source.base != step.target.base:
                return False
            return self.move(source, memory, space)
        if step.target is None or step.target.tile is None or step.target.tile.space is not space:
            return False
        if any(memory.base in bases(v) for v in forbidden(step)):
            return False
        return not self.touches.after(step, memory.base) and self._free_in_loops(step, memory.base)

    def _free_in_loops(self, step: Step, base: str) -> bool:
        """Whether the loops between `step` and the carried memory leave it alone; the reference build does not ask."""
        for loop, carried in self.through:
            if self.touches.within(loop, base) or self.touches.after(loop, base):
                return False
            if carried is not None and carried.base is not None and self.touches.after(step, carried.base):
                return False
        return True


def _apply(block: Block, moved: dict[Variable, Memory]) -> None:
    """Rewrite memories; a view of a moved tile goes with it, at the same distance."""
    old: dict[Variable, Memory | None] = {v: v.memory for v in moved}
    for v, memory in moved.items():
        v.memory = memory
    _follow(block, old)


def _follow(block: Block, old: dict[Variable, Memory | None]) -> None:
    for item in block.items:
        match item:
            case Step():
                v, op = item.target, item.op
                source = item.arguments.get(op.inherits) if op is not None and op.inherits is not None else None
                if v is None or source is None or v in old or source not in old:
                    continue
                before, mine, now = old[source], v.memory, source.memory
                if before is None or mine is None or now is None or mine.base != before.base or now.base == mine.base:
                    continue
                old[v] = mine
                v.memory = follow(mine, before, now)
            case Loop():
                _follow(item.body, old)
            case Branch():
                for b in item.blocks:
                    _follow(b, old)


def follow(mine: Memory, before: Memory, now: Memory) -> Memory:
    """`mine`, at the distance from `now` that it had from `before`; its own size."""
    if mine.constant is None or before.constant is None or now.constant is None:
        return Memory(now.base, now.offset if mine.constant is None else mine.offset, mine.size)
    offset = ir.Int(now.constant + mine.constant - before.constant, ir.DType.INT64)
    return Memory(now.base, offset, mine.size)
