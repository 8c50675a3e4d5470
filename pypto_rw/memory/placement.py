"""The DSA_RP planner: which allocations may, must not, and had better not overlap, and the search for addresses.

Source: memory-planning.md §7. Grows with the square of the number of allocations (pairs of lives are compared).
"""

from __future__ import annotations

from itertools import accumulate

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE, Diagnostic, Severity
from pypto_rw.memory.addresses import largest_tile
from pypto_rw.memory.hazards import apart, load_pop
from pypto_rw.memory.intervals import Interval, intervals
from pypto_rw.memory.lifetimes import Lifetimes
from pypto_rw.memory.solver import Buffer, solve
from pypto_rw.memory.tree import Tree, place, steps
from pypto_rw.memory.wishes import wishes
from pypto_rw.shaping.values import Refused


def place_all(tree: Tree, lives: Lifetimes, reserved: dict[ir.Space, int], notes: list[Diagnostic]) -> dict[str, int]:
    """The address of every allocation of a function. Refused: no placement within the capacities was found."""
    found = intervals(tree, lives, largest=True)
    separate = apart(tree, found)
    _keep_declared_apart(found, separate)
    _keep_hazards_apart(tree, found, separate)
    passed = _passed(tree, found)
    stages = _stage_pairs(found)
    lasting = [set(s) for s in separate]
    for a, b in stages:
        lasting[a].add(b)
        lasting[b].add(a)
    soft = dict.fromkeys(wishes(tree, tree.facts, found, lasting), 1)
    at = solve(_buffers(found, lasting, soft, passed), tree.facts.capacity, reserved)
    if at is None:
        relaxed = [(a, b) for a, b in stages if b not in separate[a] and not _live_together(found[a], found[b])]
        if relaxed:
            for pair in relaxed:
                soft[pair] = soft.get(pair, 0) + 1
            lasting = [set(s) for s in separate]
            for a, b in set(stages) - set(relaxed):
                lasting[a].add(b)
                lasting[b].add(a)
            at = solve(_buffers(found, lasting, soft, passed), tree.facts.capacity, reserved)
            if at is not None:
                _note_relaxed(tree, found, relaxed, at, notes)
    if at is None:
        raise _no_placement(tree, found, reserved)
    return {i.base: start for i, start in zip(found, at, strict=True)}


def _life(i: Interval) -> tuple[int, int]:
    begin = 2 * i.start + 1
    return begin, max(begin + 1, 2 * i.end + 1)


def _live_together(a: Interval, b: Interval) -> bool:
    (first, last), (begin, end) = _life(a), _life(b)
    return first < end and begin < last


def _keep_declared_apart(found: list[Interval], separate: list[set[int]]) -> None:
    for k, i in enumerate(found):
        for n, other in enumerate(found):
            if i.pinned and n != k and other.space is i.space:
                separate[k].add(n)
                separate[n].add(k)


def _keep_hazards_apart(tree: Tree, found: list[Interval], separate: list[set[int]]) -> None:
    hazard = load_pop(tree, tree.facts, found)
    for b in hazard.writes_popped:
        for a in hazard.loaded:
            if a != b and found[a].end == found[b].start and found[a].space is found[b].space:
                separate[a].add(b)
                separate[b].add(a)


def _stage_pairs(found: list[Interval]) -> list[tuple[int, int]]:
    """Pairs of one pipeline group in different stages."""
    groups: dict[tuple[ir.Space, int], list[tuple[int, int]]] = {}
    for k, i in enumerate(found):
        for group, stage in i.stages:
            groups.setdefault((i.space, group), []).append((stage, k))
    pairs = {
        (min(a, b), max(a, b))
        for members in groups.values()
        for s, a in members
        for t, b in members
        if s < t and a != b
    }
    return sorted(pairs)


def _passed(tree: Tree, found: list[Interval]) -> list[tuple[int, int]]:
    """Pairs of an allocation that a call reads and the one that it writes."""
    number = {i.base: k for k, i in enumerate(found)}
    pairs: dict[tuple[int, int], None] = {}
    for step in steps(tree.body):
        b = number.get(step.target.base or "") if step.target is not None else None
        for v in step.operands if step.call is not None and b is not None else ():
            a = number.get(v.base or "") if v is not None and v.tile is not None else None
            if a is not None and b is not None and a != b and found[a].space is found[b].space:
                pairs[a, b] = None
    return list(pairs)


def _buffers(
    found: list[Interval],
    separate: list[set[int]],
    soft: dict[tuple[int, int], int],
    passed: list[tuple[int, int]],
) -> list[Buffer]:
    buffers = [Buffer(i.size, i.space, _life(i)[0]) for i in found]
    by_space: dict[ir.Space, list[int]] = {}
    for k, i in enumerate(found):
        by_space.setdefault(i.space, []).append(k)
    for ids in by_space.values():
        ids.sort(key=lambda k: found[k].start)
        open_: list[int] = []
        for k in ids:
            open_ = [n for n in open_ if _life(found[n])[1] > _life(found[k])[0]]
            for n in open_:
                buffers[k].hard.append(n)
                buffers[n].hard.append(k)
            open_.append(k)
    for k, others in enumerate(separate):
        known = set(buffers[k].hard)
        buffers[k].hard.extend(n for n in sorted(others) if n not in known and found[n].space is found[k].space)
    hard = [set(b.hard) for b in buffers]
    for a, b in passed:
        if b not in hard[a]:
            buffers[b].read.append(a)
            buffers[a].written.append(b)
    for (a, b), weight in sorted(soft.items()):
        if b not in hard[a] and found[a].space is found[b].space:
            buffers[a].soft[b] = weight
            buffers[b].soft[a] = weight
    return buffers


def _note_relaxed(
    tree: Tree, found: list[Interval], relaxed: list[tuple[int, int]], at: list[int], notes: list[Diagnostic]
) -> None:
    for a, b in relaxed:
        if at[a] < at[b] + found[b].size and at[b] < at[a] + found[a].size:
            first, second = found[a].members[0], found[b].members[0]
            notes.append(
                Diagnostic(
                    "pipeline-shared",
                    f"the tiles {first.name} and {second.name} of different pipeline stages share memory, because "
                    "their stages do not fit side by side: the stages wait for each other",
                    place(second.home) if second.home is not None else NOWHERE,
                    "use smaller tiles or fewer stages",
                    severity=Severity.note,
                    function=tree.function.name,
                )
            )


def _no_placement(tree: Tree, found: list[Interval], reserved: dict[ir.Space, int]) -> Refused:
    """The refusal, with what is needed at once where that alone is too much."""
    capacity = tree.facts.capacity
    told, over = [], []
    for space in dict.fromkeys(i.space for i in found):
        needed = _most_at_once([i for i in found if i.space is space]) + reserved.get(space, 0)
        if needed > capacity.get(space, 0):
            told.append(f"{space.value} has {capacity.get(space, 0)} bytes, and {needed} are needed at once")
            over.append(space)
    if not told:  # each space would do by its bytes; the pieces do not fit
        over = sorted({i.space for i in found}, key=lambda s: -_most_at_once([i for i in found if i.space is s]))
        told = [f"{over[0].value} has {capacity.get(over[0], 0)} bytes"]
    if reserved.get(over[0]):
        told.append(f"{reserved[over[0]]} are reserved for pipe slots")
    largest = largest_tile(tree, over[0])
    if largest is not None and largest.memory is not None:
        told.append(f"the largest tile there is {largest.name} with {largest.memory.size} bytes")
    return Refused(
        "memory-capacity",
        f"DSA-RP could not find a placement for the tiles of {tree.function.name} within the on-chip memory "
        f"capacities of {tree.facts.target}: {'; '.join(told)}",
        place(largest.home) if largest is not None and largest.home is not None else NOWHERE,
        "use smaller tiles, let lives end earlier, or try the planner pypto",
    )


def _most_at_once(found: list[Interval]) -> int:
    """Most bytes that are in use at one time."""
    changes = sorted(change for i in found for change in ((_life(i)[0], i.size), (_life(i)[1], -i.size)))
    return max(accumulate(size for _, size in changes), default=0)
