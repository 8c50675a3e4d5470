"""The three planners behind one interface: a tree with memories in, the same tree with its plan out.

Source: memory-planning.md §1. `pypto` shares memory first and gives addresses afterwards, `dsa_rp` searches for
addresses, `ptoas` leaves addresses to the assembler.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw.diagnostics import NOWHERE, Diagnostic, Severity
from pypto_rw.memory.addresses import in_name_order, write_addresses
from pypto_rw.memory.aliases import follow, retarget_carried
from pypto_rw.memory.declared import Declaration, require_apart
from pypto_rw.memory.hazards import apart, load_pop
from pypto_rw.memory.initial import assign_memory
from pypto_rw.memory.intervals import Interval, intervals
from pypto_rw.memory.lifetimes import lifetimes
from pypto_rw.memory.moves import drop_unused_allocations, fold_copies, join_accumulators, settle
from pypto_rw.memory.needs import keep_needed
from pypto_rw.memory.placement import place_all
from pypto_rw.memory.reserved import place_reserved
from pypto_rw.memory.reuse import Packing
from pypto_rw.memory.tree import Tree, Variable, place
from pypto_rw.shaping.values import Refused

Planner = Callable[[Tree, list[Diagnostic]], None]


def prepare(tree: Tree, *, merged: bool) -> dict[str, Declaration]:
    """What all planners begin with: memories, kept tiles, carried tiles in place."""
    if tree.rebound:
        v = tree.rebound[0]
        raise Refused(
            "rebound-tile",
            f"the tile {v.name} is assigned again inside a loop or a branch; its value would not leave it",
            place(v.home) if v.home is not None else NOWHERE,
            f"carry it: init_values=({v.name},) at the loop, and pl.yield_ at the end of the block",
        )
    declared = assign_memory(tree)
    while keep_needed(tree, merged=merged):
        declared = assign_memory(tree)
    retarget_carried(tree)
    return declared


def pypto(tree: Tree, notes: list[Diagnostic]) -> None:
    """Share memory between lives that do not meet, then address the allocations one after the other."""
    declared = prepare(tree, merged=True)
    reserved = place_reserved(tree)
    lives = lifetimes(tree)
    require_apart(declared, lives)
    found = intervals(tree, lives, largest=False)
    packing = Packing(found, lives, apart(tree, found), load_pop(tree, tree.facts, found), tree.facts, reserved)
    on_base: dict[str, list[Variable]] = {}
    for v in tree.tiles():
        on_base.setdefault(v.base or "", []).append(v)
    for members in packing.pack():
        for k in members[1:]:
            _merge(on_base[found[k].base], found[k], found[members[0]])
    for group, (depth, stages) in sorted(packing.reduced.items()):
        notes.append(
            Diagnostic(
                "pipeline-depth",
                f"pipeline {group} has {stages} stages, but memory for {depth} of them at once: "
                "stages wait for each other",
                tree.function.span,
                "use smaller tiles or fewer stages",
                severity=Severity.note,
                function=tree.function.name,
            )
        )
    fold_copies(tree)
    join_accumulators(tree)
    settle(tree, branches=True)
    drop_unused_allocations(tree)
    write_addresses(tree, in_name_order(tree, reserved))


def dsa_rp(tree: Tree, notes: list[Diagnostic]) -> None:
    """Search for addresses with the least waiting and the lowest peak."""
    declared = prepare(tree, merged=True)
    reserved = place_reserved(tree)
    fold_copies(tree)
    join_accumulators(tree)
    settle(tree, branches=True)
    drop_unused_allocations(tree)
    lives = lifetimes(tree)
    require_apart(declared, lives)
    write_addresses(tree, place_all(tree, lives, reserved, notes))


def ptoas(tree: Tree, notes: list[Diagnostic]) -> None:
    """No addresses: allocations are kept apart, and declared slots become regions when the module is lowered."""
    declared = prepare(tree, merged=False)
    for d in declared.values():
        if (d.slots or 1) < 2:
            first = d.tiles[0]
            raise Refused(
                "declared-without-slots",
                f'the declaration "{d.name}" has no slots: memory that several tiles share by name cannot be kept '
                "under the planner PTOAS, where the assembler places every tile",
                place(first.home) if first.home is not None else NOWHERE,
                f'declare pl.MemRef("{d.name}", slots=N) and select a slot for each tile, '
                "or use the default planner (--planner pypto)",
            )
    settle(tree, branches=False)


PLANNERS: dict[str, Planner] = {"pypto": pypto, "dsa_rp": dsa_rp, "ptoas": ptoas}


def _merge(members: list[Variable], interval: Interval, into: Interval) -> None:
    """Move the tiles of one allocation into another's memory; the first one takes all of it."""
    target, old = into.members[0].memory, interval.members[0].memory
    assert target is not None and old is not None
    for v in members:
        assert v.memory is not None
        if v is interval.members[0] or v.memory.constant is None or old.constant is None or target.constant is None:
            v.memory = target
        else:
            v.memory = follow(v.memory, old, target)
