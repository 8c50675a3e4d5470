"""The DSA_RP planner's search: several greedy placements, the best one wins.

Source: memory-planning.md §7, item 4. One placement of n allocations takes O(n² log n) in the worst case (every pair is
in use at once); at most eight are tried.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate

from pypto_rw import ir
from pypto_rw.memory.facts import aligned
from pypto_rw.memory.shuffle import Twister, shuffle
from pypto_rw.records import dataclass, field

_SHUFFLES = 4


@dataclass(slots=True)
class Buffer:
    """Something to place: bytes, memory space, when its life begins; `hard` neighbours it may not overlap, `soft` ones
    it had better not, with their weights.

    `read`: what the calls that write it read, `written`: what calls write that read it. A result may begin where
    an operand begins, or before it, but not inside it: it would be written over what is yet to be read."""

    size: int
    space: ir.Space
    begin: int
    hard: list[int] = field(default_factory=list)
    soft: dict[int, int] = field(default_factory=dict)
    read: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)


Placement = list[int]
_Score = tuple[int, int, int]


def solve(buffers: list[Buffer], capacity: dict[ir.Space, int], reserved: dict[ir.Space, int]) -> Placement | None:
    """An address for each buffer, or None where no placement was found."""
    ids = list(range(len(buffers)))
    by_size = sorted(ids, key=lambda k: (-buffers[k].size, buffers[k].begin, k))
    weight = [sum(b.soft.values()) for b in buffers]
    order = sorted(ids, key=lambda k: (-weight[k], -buffers[k].size, k))
    orders = [by_size, sorted(ids, key=lambda k: (buffers[k].begin, k)), list(order)]
    stream = Twister(0)
    for _ in range(_SHUFFLES):
        shuffle(order, stream)
        orders.append(list(order))
    best = _first_fit(buffers, by_size, capacity, reserved)
    score = _score(buffers, best, reserved) if best is not None else None
    for candidate in dict.fromkeys(map(tuple, orders)):
        found = _place(buffers, candidate, capacity, reserved)
        if found is None:
            continue
        value = _score(buffers, found, reserved)
        if score is None or value < score:
            best, score = found, value
    return best


def _first_fit(
    buffers: list[Buffer], order: list[int], capacity: dict[ir.Space, int], reserved: dict[ir.Space, int]
) -> Placement | None:
    """The lowest place for each buffer, whatever it had better not overlap."""
    plain = [Buffer(b.size, b.space, b.begin, b.hard, {}, b.read, b.written) for b in buffers]
    return _place(plain, tuple(order), capacity, reserved)


def _place(
    buffers: list[Buffer], order: tuple[int, ...], capacity: dict[ir.Space, int], reserved: dict[ir.Space, int]
) -> Placement | None:
    at = [-1] * len(buffers)
    for k in order:
        b = buffers[k]
        low = reserved.get(b.space, 0)
        blocks = [(at[n], at[n] + buffers[n].size) for n in b.hard if at[n] >= 0]
        near = _Weights([(at[n], at[n] + buffers[n].size, w) for n, w in b.soft.items() if at[n] >= 0])
        read = [(at[n], at[n] + buffers[n].size) for n in b.read if at[n] >= 0]
        written = [at[n] for n in b.written if at[n] >= 0]
        candidates = {0, aligned(low), *written}
        candidates.update(aligned(last) for _, last in (*blocks, *read))
        candidates.update(aligned(last) for last in near.ends)
        taken = _Taken(blocks)
        top = capacity.get(b.space, 1 << 62) - b.size
        best: tuple[int, int] | None = None
        for start in sorted(candidates):
            if start > top:
                break
            if start < low or not taken.free(start, start + b.size):
                continue
            if any(first < start < last for first, last in read) or any(start < w < start + b.size for w in written):
                continue
            cost = near.over(start, start + b.size)
            if best is None or (cost, start) < best:
                best = (cost, start)
            if cost == 0:
                break
        if best is None:
            return None
        at[k] = best[1]
    return at


class _Taken:
    """Bytes that are taken, as sorted disjoint stretches."""

    def __init__(self, blocks: list[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for first, last in sorted(blocks):
            if self._ends and first <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], last)
            else:
                self._starts.append(first)
                self._ends.append(last)

    def free(self, first: int, last: int) -> bool:
        """Whether no byte of first..last is taken."""
        return bisect_right(self._ends, first) >= bisect_left(self._starts, last)


class _Weights:
    """Stretches of bytes with weights; they may overlap."""

    def __init__(self, stretches: list[tuple[int, int, int]]) -> None:
        by_start = sorted((first, w) for first, _, w in stretches)
        by_end = sorted((last, w) for _, last, w in stretches)
        self._starts = [first for first, _ in by_start]
        self.ends = [last for last, _ in by_end]
        self._begun = [0, *accumulate(w for _, w in by_start)]
        self._ended = [0, *accumulate(w for _, w in by_end)]

    def over(self, first: int, last: int) -> int:
        """Weight of the stretches that have a byte in first..last: those begun before its end, less those ended."""
        return self._begun[bisect_left(self._starts, last)] - self._ended[bisect_right(self.ends, first)]


def _score(buffers: list[Buffer], at: Placement, reserved: dict[ir.Space, int]) -> _Score:
    peaks = {b.space: reserved.get(b.space, 0) for b in buffers}
    cost = 0
    for k, b in enumerate(buffers):
        peaks[b.space] = max(peaks[b.space], at[k] + b.size)
        for n, w in b.soft.items():
            if n < k and at[n] < at[k] + b.size and at[k] < at[n] + buffers[n].size:
                cost += w
    return cost, sum(peaks.values()), max(peaks.values(), default=0)
