"""Values that must be elsewhere at the end of a block: copies are folded, accumulators joined, moves inserted.

Source: memory-planning.md §5.4 to §5.6. Copies are folded first and moves put in an order in which none overwrites
what another still reads (through a spare tile where tiles are exchanged), which the reference build does not do.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.memory.aliases import Touches, bases, follow
from pypto_rw.memory.initial import fresh
from pypto_rw.memory.needs import move, yield_instead
from pypto_rw.memory.tree import Block, Branch, Loop, Memory, Step, Tree, Variable, place
from pypto_rw.shaping.values import Refused


def fold_copies(tree: Tree) -> None:
    """A plain copy lives where its source lives, what a loop carries and its result where the initial value lives.

    Views of what has moved, and what is written in place over it, go with it."""
    if tree.straight and not any(v.home.copied for v in tree.tiles() if isinstance(v.home, Step)):
        return
    _fold(tree.body, {})


def _fold(block: Block, moved: dict[Variable, Memory]) -> None:
    """`moved`: variables that lived elsewhere, and where."""
    for item in block.items:
        match item:
            case Step():
                _fold_step(item, moved)
            case Loop():
                for carried, initial in zip(item.carried, item.initial, strict=False):
                    if initial is not None:
                        _put(carried, initial.memory, moved)
                _fold(item.body, moved)
                for carried, result in zip(item.carried, item.results, strict=False):
                    _put(result, carried.memory, moved)
            case Branch():
                for b in item.blocks:
                    _fold(b, moved)
                for k, result in enumerate(item.results):
                    lender = next((v for v in values_of(item, k) if v in moved and moved[v].base == result.base), None)
                    if lender is not None:
                        _put(result, lender.memory, moved)


def _fold_step(step: Step, moved: dict[Variable, Memory]) -> None:
    v, source, op = step.target, step.copied, step.op
    if v is None or v.tile is None or v.memory is None:
        return
    if source is not None and source.memory is not None and source.base != v.base:
        _put(v, source.memory, moved)
        v.type = source.type
    elif op is not None and (name := op.updates or op.inherits) is not None:
        operand = step.arguments.get(name)
        before = moved.get(operand) if operand is not None else None
        if before is not None and operand is not None and operand.memory is not None and before.base == v.base:
            _put(v, follow(v.memory, before, operand.memory), moved)


def _put(v: Variable, memory: Memory | None, moved: dict[Variable, Memory]) -> None:
    if v.tile is None or memory is None or v.memory is None:
        return
    if v.base != memory.base:
        moved[v] = v.memory
    v.memory = memory


def join_accumulators(tree: Tree) -> None:
    """Where one branch adds onto an accumulator in place and the other starts a new one, start it in the same memory.

    Refused: a start that cannot be there."""
    if not tree.straight:
        _join(tree, tree.body, Touches(tree))


def _join(tree: Tree, block: Block, touches: Touches) -> None:
    for item in block.items:
        match item:
            case Loop():
                _join(tree, item.body, touches)
            case Branch():
                for b in item.blocks:
                    _join(tree, b, touches)
                for k, result in enumerate(item.results):
                    _join_result(tree, item, k, result, touches)


def _join_result(tree: Tree, branch: Branch, k: int, result: Variable, touches: Touches) -> None:
    values = values_of(branch, k)
    if result.tile is None or result.tile.space is not ir.Space.Acc or len(values) != 2:
        return
    adds = [_adds_in_place(v) for v in values]
    if values[0].base == values[1].base or sum(adds) != 1:
        return
    added, seed = (values[0], values[1]) if adds[0] else (values[1], values[0])
    inside = branch.blocks[1 if adds[0] else 0]
    home = seed.home
    if not isinstance(home, Step) or home.call is None or home not in inside.items or added.memory is None:
        raise _cannot_join(seed, added, branch)
    if touches.in_block_after(home, added.memory.base):
        raise _cannot_join(seed, added, branch)
    seed.memory = added.memory
    result.memory = added.memory


def _adds_in_place(v: Variable) -> bool:
    step = v.home
    if not isinstance(step, Step) or step.op is None or step.op.updates is None:
        return False
    source = step.arguments.get(step.op.updates)
    return source is not None and source.base == v.base


def _cannot_join(seed: Variable, added: Variable, branch: Branch) -> Refused:
    return Refused(
        "accumulator-merge",
        f"the branches give an accumulator in two places: {added.name} is added to in place, and {seed.name} cannot be "
        "computed into the same memory; no instruction moves an accumulator to another",
        place(branch),
        "start the accumulator with a matmul directly in the branch, as its last use of that memory",
    )


def values_of(branch: Branch, k: int) -> list[Variable]:
    """What the branches yield as result `k`, the variables among it."""
    ends = [b.end for b in branch.blocks]
    return [v for e in ends if e is not None and k < len(e.values) and (v := e.values[k]) is not None]


def settle(tree: Tree, *, branches: bool) -> None:
    """Insert moves so that what a block yields is where its loop or `if` expects it. Inner blocks first.

    `branches`: for the results of an `if` as well (the assembler's planner copies those itself)."""
    if not tree.straight:
        _settle(tree, tree.body, branches)


def _settle(tree: Tree, block: Block, branches: bool) -> None:
    for item in block.items:
        match item:
            case Loop():
                _settle(tree, item.body, branches)
                _move_all(tree, item.body, [c.memory if c.tile is not None else None for c in item.carried])
            case Branch():
                for b in item.blocks:
                    _settle(tree, b, branches)
                if branches:
                    targets = [_target(item, k, r) for k, r in enumerate(item.results)]
                    for b in item.blocks:
                        _move_all(tree, b, targets)


def _target(branch: Branch, k: int, result: Variable) -> Memory | None:
    """Where a merged tile lives: with the first branch value that is no loop-carried tile."""
    if result.tile is None or result.memory is None:
        return None
    found = next((v for v in values_of(branch, k) if v.role != "carried" and v.memory is not None), None)
    if found is not None and found.base != result.base:
        result.memory = found.memory
    return result.memory


def _move_all(tree: Tree, block: Block, targets: list[Memory | None]) -> None:
    """Moves at the end of `block` that bring its yielded tiles to `targets`, in an order that loses nothing."""
    if block.end is None:
        return
    wanted = {
        k: memory
        for k, (v, memory) in enumerate(zip(block.end.values, targets, strict=False))
        if v is not None and v.tile is not None and memory is not None and v.memory is not None
        if v.base != memory.base
    }
    span = block.end.stmt.span
    while wanted:
        sources = {k: block.end.values[k] for k in wanted}
        free = next((k for k in wanted if _read_by_others(k, wanted, sources) is None), None)
        if free is None:  # they are exchanged: save the first one's target
            other = _read_by_others(next(iter(wanted)), wanted, sources)
            assert other is not None
            _append(tree, block, other, None, span, "_tmp")
            continue
        _append(tree, block, free, wanted.pop(free), span, "_mv")


def _read_by_others(k: int, wanted: dict[int, Memory], sources: dict[int, Variable | None]) -> int | None:
    """Another move that reads what move `k` would overwrite."""
    return next((n for n, v in sources.items() if n != k and wanted[k].base in bases(v)), None)


def _append(tree: Tree, block: Block, k: int, memory: Memory | None, span: Span, suffix: str) -> None:
    assert block.end is not None
    v = block.end.values[k]
    assert v is not None and v.tile is not None
    if v.tile.space is ir.Space.Acc:
        raise Refused(
            "accumulator-merge",
            f"the accumulator {v.name} is needed in another place; no instruction moves an accumulator to another",
            span,
            "add to the carried accumulator in place (matmul_acc), or store it and load it again",
        )
    step = move(tree, v, span, suffix)
    assert step.target is not None and v.tile.space is not None
    if memory is None:
        memory = fresh(tree, step.target)
        tree.allocations[memory.base] = (v.tile.space, memory.size, False)
    step.target.memory = memory
    block.items.append(step)
    yield_instead(block, k, step)


def drop_unused_allocations(tree: Tree) -> None:
    """Forget allocations that no tile is in any more."""
    used = {v.base for v in tree.tiles()}
    for base in [b for b in tree.allocations if b not in used]:
        del tree.allocations[base]
