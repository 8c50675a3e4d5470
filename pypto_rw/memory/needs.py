"""Until when the tiles of an allocation are read under their own names, and the moves that keep them intact.

A loop writes into the memory of the tile its carried value starts from, and an `if` into that of the tile a branch
yields. Where that tile is still needed, the value is moved to memory of its own first. The reference build does not
look (memory-planning.md §9) and overwrites the tile.
"""

from __future__ import annotations

from bisect import bisect_left

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.memory.aliases import bases
from pypto_rw.memory.lifetimes import Extension
from pypto_rw.memory.tree import Block, Branch, Loop, Step, Tree, Variable, place, root


def keep_needed(tree: Tree, *, merged: bool) -> bool:
    """Insert moves where a loop or an `if` would overwrite a needed tile; whether there were any.

    `merged`: also where a branch passes on a loop-carried tile (the assembler's planner copies such a tile itself).
    Memories must be assigned, and must be assigned anew after a move was inserted."""
    if tree.straight:
        return False
    keeper = _Keeper(tree, merged=merged)
    keeper.branches(tree.body)
    if not keeper.inserted:  # a merge that got memory of its own may be what a loop starts from
        keeper.loops(tree.body)
    return keeper.inserted


class _Reads:
    """When each variable is defined and last read, and that by allocation."""

    def __init__(self, tree: Tree) -> None:
        self.number = 0
        self.defined: dict[Variable, int] = dict.fromkeys(tree.parameters, -1)
        self.read: dict[Variable, int] = {}
        self.first: dict[Loop | Branch, int] = {}
        self.end: dict[Loop | Branch, int] = {}
        self.loops: list[tuple[int, int]] = []
        self._block(tree.body)
        extension = Extension(self.loops)
        spans: dict[str, list[tuple[int, int]]] = {}
        for v, at in self.defined.items():
            if v.tile is not None and v.base is not None:
                spans.setdefault(v.base, []).append((at, extension.last(at, max(at, self.read.get(v, at)))))
        self.spans: dict[str, tuple[list[int], list[int]]] = {}
        for base, found in spans.items():
            found.sort()
            latest, most = [], -1
            for _, last in found:
                most = max(most, last)
                latest.append(most)
            self.spans[base] = ([at for at, _ in found], latest)

    def needed(self, base: str, before: int, after: int) -> bool:
        """Whether a tile on `base`, defined before the one number, is read at the other or later."""
        defined, latest = self.spans.get(base, ([], []))
        k = bisect_left(defined, before) - 1
        return k >= 0 and latest[k] >= after

    def _use(self, variables: tuple[Variable, ...], at: int) -> None:
        for v in variables:
            self.read[v] = max(self.read.get(v, 0), at)

    def _block(self, block: Block) -> None:
        for item in block.items:
            match item:
                case Step():
                    self._use(item.reads, self.number)
                    if item.target is not None:
                        self.defined[item.target] = self.number
                    self.number += 1
                case Loop():
                    self._use(item.starts, self.number)
                    self.number += 1
                    first = self.first[item] = self.number
                    self.defined.update(dict.fromkeys(item.carried, first))
                    self._block(item.body)
                    self.end[item] = self.number
                    self.loops.append((first, self.number))
                    self.number += 1
                    self.defined.update(dict.fromkeys(item.results, self.number))
                case Branch():
                    self._use(item.reads, self.number)
                    self.first[item] = self.number
                    self.number += 1
                    for b in item.blocks:
                        self._block(b)
                    self.end[item] = self.number
                    self.number += 1
                    self.defined.update(dict.fromkeys(item.results, self.number))
        if block.end is not None:
            self._use(block.end.reads, self.number)
            self.number += 1


class _Keeper:
    def __init__(self, tree: Tree, *, merged: bool) -> None:
        self.tree, self.merged = tree, merged
        self.reads = _Reads(tree)
        self.inserted = False

    def branches(self, block: Block) -> None:
        """Keep what the merges of a block would overwrite."""
        for item in block.items:
            match item:
                case Loop():
                    self.branches(item.body)
                case Branch():
                    for b in item.blocks:
                        self.branches(b)
                    self._results(item)

    def loops(self, block: Block) -> None:
        """Keep what the loops of a block would overwrite."""
        out: list[Step | Loop | Branch] = []
        for item in block.items:
            match item:
                case Loop():
                    out.extend(self._initial(item))
                    self.loops(item.body)
                case Branch():
                    for b in item.blocks:
                        self.loops(b)
            out.append(item)
        block.items[:] = out

    def _initial(self, loop: Loop) -> list[Step]:
        """Moves of initial tiles that the loop would overwrite although they are needed."""
        moves: list[Step] = []
        taken: set[str] = set()
        for k, initial in enumerate(loop.initial):
            if initial is None or initial.tile is None or initial.base is None or k >= len(loop.carried):
                continue
            value = loop.body.end.values[k] if loop.body.end is not None and k < len(loop.body.end.values) else None
            unchanged = value is loop.carried[k]
            first = self.reads.first[loop]
            copied = not self.merged and root(initial) is not initial and root(initial).role == "carried"
            needed = any(self.reads.needed(b, first, first) for b in bases(initial))
            if copied or not taken.isdisjoint(bases(initial)) or (needed and not unchanged):
                step = move(self.tree, initial, place(loop))
                assert step.target is not None
                moves.append(step)
                loop.initial[k] = step.target
                self.inserted = True
            taken.update(bases(initial))
        if moves:
            loop.starts = tuple(v for v in loop.initial if v is not None)
        return moves

    def _results(self, branch: Branch) -> None:
        """Moves in a branch whose value lends its memory to the result although it is needed."""
        if len(branch.blocks) != 2:
            return
        for k, result in enumerate(branch.results):
            ends = [b.end for b in branch.blocks]
            values = [e.values[k] if e is not None and k < len(e.values) else None for e in ends]
            if result.tile is None or any(v is None or v.base is None for v in values):
                continue
            found = [v for v in values if v is not None]
            if root(found[0]) is root(found[1]):
                continue
            lender = next((n for n, v in enumerate(found) if v.role != "carried"), 0)
            if self._lent(found[lender], branch):
                block = branch.blocks[lender]
                assert block.end is not None
                step = move(self.tree, found[lender], block.end.stmt.span)
                block.items.append(step)
                yield_instead(block, k, step)
                self.inserted = True

    def _lent(self, v: Variable, branch: Branch) -> bool:
        source = root(v)
        if self.reads.defined.get(source, -1) >= self.reads.first[branch]:
            return False  # it is the branch's own
        if source.role == "carried" and (self.merged is False or v.base is None):
            return False
        if source.role == "carried":
            return True
        if not self.merged and source is not v and v.base != source.base:
            return False
        return self.reads.needed(source.base or "", self.reads.first[branch], self.reads.end[branch])


def yield_instead(block: Block, k: int, step: Step) -> None:
    """Yield the result of `step` as value `k` of the block."""
    assert block.end is not None
    block.end.values[k] = step.target
    block.end.reads = tuple(v for v in block.end.values if v is not None)


def move(tree: Tree, v: Variable, span: Span, suffix: str = "_mv") -> Step:
    """A statement `v<suffix> = tile.move(v)`; its result has no memory yet. The caller puts it into a block."""
    t = v.tile
    assert t is not None and t.space is not None
    name = f"{v.name}{suffix}"
    while name in tree.names:
        name += "_"
    tree.names.add(name)
    call = ir.Call("tile.move", (ir.Name(v.name),), (("target_memory", ir.Symbol(f"Mem.{t.space.value}")),), span=span)
    type_ = ir.TileType(t.shape, t.dtype, None, t.space, t.view)
    step = Step(ir.Assign((name,), type_, call, span), (v,), call=call, op=tree.facts.op("tile.move"), operands=(v,))
    step.target = Variable(name, type_, "assigned", step)
    tree.variables.append(step.target)
    return step
