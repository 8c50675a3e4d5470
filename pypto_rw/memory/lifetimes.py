"""When every tile is first written and last read, and when every allocation is in use.

Numbers count assignments, calls for effect, yields and returns in source order. Source: memory-planning.md §5.1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from pypto_rw import ir
from pypto_rw.memory.tree import Block, Branch, Loop, Step, Tree, Variable
from pypto_rw.records import dataclass, field


@dataclass(slots=True)
class Lifetimes:
    """`definition`: the number at which an assigned tile is written; `families`: the merges a tile is a value or the
    result of (tiles of one family are never needed at once)."""

    definition: dict[Variable, int] = field(default_factory=dict)
    families: dict[Variable, set[int]] = field(default_factory=dict)
    _read: dict[Variable, int] = field(default_factory=dict)
    _last: dict[Variable, int] = field(default_factory=dict)

    def last_use(self, v: Variable) -> int:
        """The number of the last statement that needs `v`; its definition where nothing does."""
        return self._last[v]

    def of(self, v: Variable) -> tuple[int, int]:
        """First and last number."""
        return self.definition[v], self._last[v]


def lifetimes(tree: Tree) -> Lifetimes:
    """Lifetimes of every assigned tile of a function."""
    counter = _Counter()
    counter.block(tree.body)
    return counter.finish()


class _Counter:
    def __init__(self) -> None:
        self.number = 0
        self.found = Lifetimes()
        self.sources: dict[Variable, list[Variable]] = {}  # a merge's result -> the branches' own tiles
        self.start: dict[Variable, Variable] = {}  # a loop's result -> the initial tile, whose memory it takes
        self.loops: list[tuple[int, int]] = []
        self.family = 0

    def block(self, block: Block) -> None:
        for item in block.items:
            match item:
                case Step():
                    self._step(item)
                case Loop():
                    self._loop(item)
                case Branch():
                    self._branch(item)
        if block.end is not None:
            self._use(block.end.reads, self.number)
            self.number += 1

    def _use(self, variables: Iterable[Variable], at: int) -> None:
        pending = list(variables)
        seen: set[Variable] = set()
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in self.sources:
                pending.extend(self.sources[v])
                continue
            if v in self.start:
                pending.append(self.start[v])
            elif v in self.found.definition:
                self.found._read[v] = max(self.found._read.get(v, 0), at)

    def _step(self, step: Step) -> None:
        if isinstance(step.stmt, ir.Jump):
            return
        at = self.number
        self.number += 1
        if step.target is not None and step.target.tile is not None:
            self.found.definition[step.target] = at
        self._use(step.reads, at)

    def _loop(self, loop: Loop) -> None:
        self._use(loop.starts, self.number)
        first = self.number
        self.block(loop.body)
        self.loops.append((first, self.number - 1))
        for k, result in enumerate(loop.results):
            initial = loop.initial[k] if k < len(loop.initial) else None
            if initial is not None and initial.role != "carried":
                self.start[result] = initial

    def _branch(self, branch: Branch) -> None:
        self._use(branch.reads, self.number)
        spans = []
        for block in branch.blocks:
            first = self.number
            self.block(block)
            spans.append((first, self.number - 1))
        for k, result in enumerate(branch.results):
            if result.memory is None or result.tile is None:
                continue
            family, self.family = self.family, self.family + 1
            local: dict[Variable, None] = {}
            for block, (first, last) in zip(branch.blocks, spans, strict=True):
                if block.end is not None and k < len(block.end.values) and (v := block.end.values[k]) is not None:
                    self._local(v, first, last, local)
            for v in (*local, result) if local else ():
                self.found.families.setdefault(v, set()).add(family)
            self.sources[result] = list(local) or self._passed(branch, k)

    def _passed(self, branch: Branch, k: int) -> list[Variable]:
        """Values from outside whose memory the result takes: they live as long as it does."""
        values = [b.end.values[k] for b in branch.blocks if b.end is not None and k < len(b.end.values)]
        return [v for v in values if v is not None and v.base == branch.results[k].base]

    def _local(self, v: Variable, first: int, last: int, found: dict[Variable, None]) -> None:
        pending, seen = [v], set()
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in self.sources:
                pending.extend(self.sources[v])
            elif first <= self.found.definition.get(v, -1) <= last:
                found[v] = None

    def finish(self) -> Lifetimes:
        out = self.found
        extended = Extension(self.loops)
        for v, at in out.definition.items():
            last = max(out._read.get(v, at), at)
            out._last[v] = extended.last(at, last)
        return out


class Extension:
    """A tile from outside a loop that is read in it lives to the loop's end."""

    def __init__(self, loops: list[tuple[int, int]]) -> None:
        self._loops = sorted(loops, key=lambda span: (span[0], -span[1]))
        self._parents: list[int] = []
        open_: list[int] = []
        for k, (first, _) in enumerate(self._loops):
            while open_ and self._loops[open_[-1]][1] < first:
                open_.pop()
            self._parents.append(open_[-1] if open_ else -1)
            open_.append(k)
        self._firsts = [first for first, _ in self._loops]

    def last(self, definition: int, use: int) -> int:
        """The last number, past the end of every loop that begins after `definition` and has `use` in it."""

        last = use
        k = bisect_right(self._firsts, use) - 1
        while k >= 0:
            first, end = self._loops[k]
            if end >= use and first > definition:
                last = max(last, end + 1)  # the loop's last statement must not write over it
            k = self._parents[k]
        return last
