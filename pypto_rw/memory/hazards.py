"""Which allocations may not share memory, whatever their lifetimes say.

Source: memory-planning.md §5.2, rules 2 to 4; the facts are in the rule files.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.memory.facts import Facts
from pypto_rw.memory.intervals import Interval
from pypto_rw.memory.tree import Step, Tree, Variable, steps
from pypto_rw.records import dataclass, field
from pypto_rw.scalars import bits


def forbidden(step: Step) -> list[Variable]:
    """Tile operands whose memory the result of `step` may not take."""
    op = step.op
    if op is None or step.call is None:
        return []
    if op.apart is None:
        found = [v for v in step.operands if v is not None and v.tile is not None]
    else:
        found = [v for k in op.apart if (v := _operand(step, k)) is not None]
    result = step.target.tile if step.target is not None else None
    for k in op.narrower:
        v = _operand(step, k)
        if v is not None and v.tile is not None and result is not None and bits(result.dtype) > bits(v.tile.dtype):
            found.append(v)
    return found


def _operand(step: Step, k: int) -> Variable | None:
    v = step.operands[k] if k < len(step.operands) else None
    return v if v is not None and v.tile is not None else None


def apart(tree: Tree, intervals: list[Interval]) -> list[set[int]]:
    """By interval, the intervals that hold an operand its tiles may not be written over, or the other way round."""
    number = {i.base: k for k, i in enumerate(intervals)}
    found: list[set[int]] = [set() for _ in intervals]
    for step in steps(tree.body):
        op = step.op
        if not step.elements and (op is None or (op.apart == () and not op.narrower)):
            continue
        results = step.elements or ([step.target] if step.target is not None else [])
        for k, result in enumerate(results):
            for x in (*forbidden(step), *results[:k]):  # one call writes all elements of its result
                a, b = number.get(result.base or ""), number.get(x.base or "")
                if a is not None and b is not None and a != b:
                    found[a].add(b)
                    found[b].add(a)
    return found


@dataclass(slots=True)
class LoadPop:
    """On a split vector core: intervals first written by a call that reads a popped tile, and those that hold loaded
    data. The former may not begin where the latter end."""

    writes_popped: set[int] = field(default_factory=set)
    loaded: set[int] = field(default_factory=set)

    def between(self, a: int, b: int) -> bool:
        """Whether the two may not follow one another directly, `b` after `a`."""
        return b in self.writes_popped and a in self.loaded


def load_pop(tree: Tree, facts: Facts, intervals: list[Interval]) -> LoadPop:
    """The load/pop hazards of a function; none where the target or the function has no such hazard."""
    out = LoadPop()
    split = dict(tree.function.attrs).get("split")
    if not facts.load_pop_hazard or tree.function.kind != "AIV" or split in (None, ir.Symbol("SplitMode.NONE")):
        return out
    loaded: set[Variable] = set()
    popped: set[Variable] = set()
    for step in steps(tree.body):
        v, op = step.target, step.op
        if v is None or op is None or v.tile is None:
            continue
        if op.popped == "popped-from-aic" or (op.inherits and any(x in popped for x in step.reads)):
            popped.add(v)
        if op.from_global or (op.passes_load and any(x in loaded for x in step.reads)):
            loaded.add(v)
    for k, interval in enumerate(intervals):
        first = interval.members[0].home
        if isinstance(first, Step) and any(x in popped for x in first.reads):
            out.writes_popped.add(k)
        if any(v in loaded for v in interval.members):
            out.loaded.add(k)
    return out
