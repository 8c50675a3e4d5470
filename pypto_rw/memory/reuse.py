"""The PYPTO planner's packing: allocations whose lives do not meet share a buffer, first fit, largest first.

Source: memory-planning.md §5.2, §5.3. A buffer keeps its members as sorted, disjoint stretches, so that asking whether
an interval fits looks only at the stretches it meets.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from pypto_rw import ir
from pypto_rw.memory.facts import Facts, aligned, in_l0
from pypto_rw.memory.hazards import LoadPop
from pypto_rw.memory.intervals import Interval
from pypto_rw.memory.lifetimes import Lifetimes
from pypto_rw.records import dataclass, field

_ORDER = {space: k for k, space in enumerate(ir.Space)}
_REPACKS = 256


@dataclass(slots=True)
class _Buffer:
    """Intervals that share memory. Stretches `starts[i]..ends[i]` are sorted and disjoint; `held[i]` are in each."""

    size: int
    pinned: bool
    members: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    held: list[list[int]] = field(default_factory=list)
    stages: dict[int, set[int]] = field(default_factory=dict)  # pipeline group -> remainders or stages present
    load_stages: dict[int, set[int]] = field(default_factory=dict)
    begin_at: dict[int, list[int]] = field(default_factory=dict)
    end_at: dict[int, list[int]] = field(default_factory=dict)

    def meeting(self, start: int, end: int) -> range:
        """Stretches that overlap start..end; touching is no overlap."""
        first = bisect_right(self.ends, start)
        last = first
        while last < len(self.starts) and self.starts[last] < end:
            last += 1
        return range(first, last)

    def insert(self, k: int, interval: Interval) -> None:
        """Take interval `k` in; stretches that it meets become one."""
        met = self.meeting(interval.start, interval.end)
        if met:
            at, stop = met.start, met.stop
            start = min(interval.start, self.starts[at])
            end = max(interval.end, self.ends[stop - 1])
            held = [m for i in met for m in self.held[i]] + [k]
        else:
            start, end, held = interval.start, interval.end, [k]
            at = bisect_left(self.starts, start)
            while at < len(self.starts) and self.starts[at] == start == self.ends[at]:
                at += 1
            stop = at
        self.starts[at:stop] = [start]
        self.ends[at:stop] = [end]
        self.held[at:stop] = [held]
        self.members.append(k)
        self.size = max(self.size, interval.size)
        self.begin_at.setdefault(interval.start, []).append(k)
        self.end_at.setdefault(interval.end, []).append(k)


class Packing:
    """Packs the intervals of one function; `warnings` names the pipeline groups that got fewer buffers."""

    def __init__(
        self,
        intervals: list[Interval],
        lifetimes: Lifetimes,
        apart: list[set[int]],
        hazard: LoadPop,
        facts: Facts,
        reserved: dict[ir.Space, int],
    ) -> None:
        self.intervals, self.lifetimes, self.apart, self.hazard = intervals, lifetimes, apart, hazard
        self.facts, self.reserved = facts, reserved
        self.reduced: dict[int, tuple[int, int]] = {}
        self.fallback = False
        self._families = [frozenset(f for v in i.members for f in lifetimes.families.get(v, ())) for i in intervals]
        self._groups()

    def _groups(self) -> None:
        """How many buffers each pipeline group may have at once, and the rank of its stages."""
        largest: dict[tuple[ir.Space, int], int] = {}
        stages: dict[tuple[ir.Space, int], set[int]] = {}
        for i in self.intervals:
            for group, stage in i.stages:
                key = (i.space, group)
                largest[key] = max(largest.get(key, 0), i.size)
                stages.setdefault(key, set()).add(stage)
        self.slot = largest
        self.depth: dict[tuple[ir.Space, int], int] = {}
        self.rank: dict[tuple[ir.Space, int], dict[int, int]] = {}
        for key, size in largest.items():
            capacity = self.facts.capacity.get(key[0], 0)
            self.depth[key] = max(1, min(len(stages[key]), capacity // size)) if capacity and size else 1
            self.rank[key] = {stage: k for k, stage in enumerate(sorted(stages[key]))}
            if capacity and self.depth[key] < len(stages[key]):
                self.reduced[key[1]] = (self.depth[key], len(stages[key]))

    def pack(self) -> list[list[int]]:
        """Intervals by buffer, the first one of each is the one the others move to."""
        out: list[list[int]] = []
        spaces = sorted({i.space for i in self.intervals}, key=_ORDER.__getitem__)
        for space in spaces:
            out.extend(b.members for b in self._space(space))
        return out

    def _space(self, space: ir.Space) -> list[_Buffer]:
        ids = [k for k, i in enumerate(self.intervals) if i.space is space]
        ids.sort(key=lambda k: (-self.intervals[k].size, self.intervals[k].start, k))
        buffers = self._first_fit(ids, space)
        capacity = self.facts.capacity.get(space, 0)
        repacks = 0
        while capacity and self._footprint(buffers, space) > capacity:
            repacks += 1
            groups = [
                (-aligned(self.slot[key]), key[1])
                for key in self.depth
                if key[0] is space and self.depth[key] > 1 and repacks <= _REPACKS
            ]
            if not groups:
                self.fallback = True
                buffers = self._first_fit(ids, space)
                self.fallback = False
                break
            _, group = min(groups)
            self.depth[space, group] -= 1
            self.reduced[group] = (self.depth[space, group], len(self.rank[space, group]))
            buffers = self._first_fit(ids, space)
        return buffers

    def _footprint(self, buffers: list[_Buffer], space: ir.Space) -> int:
        at = self.reserved.get(space, 0)
        for b in buffers:
            at = aligned(at) + b.size
        return at

    def _first_fit(self, ids: list[int], space: ir.Space) -> list[_Buffer]:
        buffers: list[_Buffer] = []
        where: dict[int, _Buffer] = {}
        for k in ids:
            interval = self.intervals[k]
            refused = {id(where[n]) for n in self.apart[k] if n in where}
            found = None
            if not interval.pinned:
                found = next(
                    (b for b in buffers if not b.pinned and id(b) not in refused and self._fits(k, b, space)), None
                )
            if found is None:
                found = _Buffer(interval.size, interval.pinned)
                buffers.append(found)
            found.insert(k, interval)
            where[k] = found
            for group, stage in interval.stages:
                found.stages.setdefault(group, set()).add(self._residue(space, group, stage))
                if interval.load:
                    found.load_stages.setdefault(group, set()).add(self._residue(space, group, stage))
        return buffers

    def _residue(self, space: ir.Space, group: int, stage: int) -> int:
        """Stages with one residue may share; in the fallback every stage is on its own."""
        if self._gated(space):
            return self.rank[space, group][stage] % self.depth[space, group]
        return stage

    def _gated(self, space: ir.Space) -> bool:
        return not self.fallback and space in self.facts.capacity

    def _fits(self, k: int, buffer: _Buffer, space: ir.Space) -> bool:
        interval = self.intervals[k]
        for s in buffer.meeting(interval.start, interval.end):
            if any(interval.overlaps(self.intervals[m]) and not self._one_at_a_time(k, m) for m in buffer.held[s]):
                return False
        if any(self.hazard.between(m, k) for m in buffer.end_at.get(interval.start, ())):
            return False
        if any(self.hazard.between(k, m) for m in buffer.begin_at.get(interval.end, ())):
            return False
        return self._stages_agree(interval, buffer, space)

    def _stages_agree(self, interval: Interval, buffer: _Buffer, space: ir.Space) -> bool:
        gated = self._gated(space)
        if not gated and in_l0(space):
            return True
        for group, stage in interval.stages:
            residue = self._residue(space, group, stage)
            present = buffer.stages if gated or interval.load else buffer.load_stages
            if present.get(group, set()) - {residue}:
                return False
        return True

    def _one_at_a_time(self, a: int, b: int) -> bool:
        """Whether every overlap of two intervals is between tiles of one merge, of which only one is ever needed."""
        if not self._families[a] & self._families[b]:
            return False
        alike = False
        families = self.lifetimes.families
        for x in self.intervals[a].members:
            for y in self.intervals[b].members:
                if families.get(x, set()) & families.get(y, set()):
                    alike = True
                    continue
                xs, ys = self.lifetimes.of(x), self.lifetimes.of(y)
                if not (xs[1] <= ys[0] or ys[1] <= xs[0]):
                    return False
        return alike
