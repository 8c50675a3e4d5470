"""Allocations as intervals: which tiles are in each, when it is in use. Source: memory-planning.md §5.1."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.memory.lifetimes import Lifetimes
from pypto_rw.memory.tree import Step, Tree, Variable
from pypto_rw.records import dataclass


@dataclass(slots=True)
class Interval:
    """One allocation: its tiles in the order of definition, [`start`, `end`] in statement numbers, `size` in bytes,
    `pinned` for a declared one. `stages`: (pipeline group, stage) pairs; `load`: they come from a load."""

    base: str
    members: list[Variable]
    start: int
    end: int
    space: ir.Space
    size: int
    pinned: bool
    stages: tuple[tuple[int, int], ...] = ()
    load: bool = False

    def overlaps(self, other: Interval) -> bool:
        """Whether both are in use at once; touching is no overlap."""
        return not (self.end <= other.start or other.end <= self.start)


def intervals(tree: Tree, lifetimes: Lifetimes, *, largest: bool) -> list[Interval]:
    """Intervals of a function's allocations, in the order of their first tile.

    `largest`: an interval is as large as its largest tile; else as its first one."""
    members: dict[str, list[Variable]] = {}
    for v in sorted(lifetimes.definition, key=lifetimes.definition.__getitem__):
        if v.memory is not None:
            members.setdefault(v.memory.base, []).append(v)
    out = []
    for base, group in members.items():
        space, size, pinned = tree.allocations[base]
        first = group[0].memory
        assert first is not None
        own = max(v.memory.size for v in group if v.memory is not None) if largest else first.size
        stages, load = _stages(group)
        out.append(
            Interval(
                base,
                group,
                min(lifetimes.definition[v] for v in group),
                max(lifetimes.last_use(v) for v in group),
                space,
                max(own, size) if pinned and largest else own,
                pinned,
                stages,
                load,
            )
        )
    return out


def _stages(group: list[Variable]) -> tuple[tuple[tuple[int, int], ...], bool]:
    """Pipeline membership of the first tile that has one."""
    for v in group:
        if not isinstance(v.home, Step) or v.home.call is None:
            continue
        written = dict(v.home.call.attrs).get("pipeline_membership")
        if isinstance(written, ir.Str) and written.value:
            pairs = (p.partition(":") for p in written.value.split(";"))
            stages = tuple((int(g), int(s)) for g, _, s in pairs)
            return stages, v.home.op is not None and v.home.op.from_global
    return (), False
