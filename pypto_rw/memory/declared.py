"""Declared allocations: `pl.MemRef("name")` and `pl.MemRef("name", slots=N)[i]` in a tile's annotation.

Source: memory-planning.md §8.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE, Span
from pypto_rw.memory.facts import Facts
from pypto_rw.memory.lifetimes import Lifetimes
from pypto_rw.memory.sizes import tile_bytes
from pypto_rw.memory.tree import ZERO, Memory, Step, Tree, Variable, place
from pypto_rw.records import dataclass, field
from pypto_rw.shaping.values import Refused


@dataclass(slots=True)
class Declaration:
    """One declared allocation: `size` bytes a slot, `slots` of them (None: written without slots)."""

    name: str
    space: ir.Space
    slots: int | None
    size: int
    tiles: list[Variable] = field(default_factory=list)

    def memory(self, bound: ir.MemRef) -> Memory:
        """Memory of a tile that is bound to it."""
        if bound.slot is None:
            return Memory(self.name, ZERO, self.size, bound.slots, None)
        if isinstance(bound.slot, ir.Int):
            offset: ir.Expr = ir.Int(bound.slot.value * self.size, ir.DType.INT64)
        else:
            offset = ir.Binary("*", bound.slot, ir.Int(self.size))
        return Memory(self.name, offset, self.size, bound.slots, bound.slot)


def declarations(tree: Tree, facts: Facts) -> dict[str, Declaration]:
    """Declared allocations by name, in the order of their first tile. Refused: tiles that disagree."""
    found: dict[str, Declaration] = {}
    for v in tree.tiles():
        bound, t = v.declared, v.tile
        if v.role != "assigned" or bound is None or t is None or t.space is None:
            continue
        size = _sized(v, bound, facts)
        d = found.setdefault(bound.base, Declaration(bound.base, t.space, bound.slots, size))
        where = _place(v)
        if d.slots != bound.slots:
            raise Refused(
                "declared-slots",
                f'the declaration "{bound.base}" has two slot counts: {d.slots or 1} vs {bound.slots or 1}, the second '
                f"at the tile {v.name}",
                where,
                "write one slot count everywhere",
            )
        if d.space is not t.space:
            raise Refused(
                "declared-space",
                f'the declaration "{bound.base}" is bound in {d.space.value} and, by the tile {v.name}, in '
                f"{t.space.value}: one allocation lies in one memory space",
                where,
                "declare one allocation for each memory space",
            )
        d.size = max(d.size, size)
        d.tiles.append(v)
    return found


def _place(v: Variable) -> Span:
    return place(v.home) if v.home is not None else NOWHERE


def _sized(v: Variable, bound: ir.MemRef, facts: Facts) -> int:
    try:
        return tile_bytes(v, facts)
    except Refused as refused:
        raise Refused(
            refused.code,
            f'{refused.message}; it is bound to the declaration "{bound.base}"',
            _place(v),
            refused.help,
        ) from None


def require_own_buffer(step: Step, source: Variable | None) -> None:
    """Refused: a declaration for a result that lives in an operand's buffer."""
    v = step.target
    if v is None or v.declared is None or step.call is None:
        return
    named = f" {source.name}" if source is not None else ""
    raise Refused(
        "declared-on-view",
        f"the tile {v.name} is the result of {step.call.callee}, which lives in the buffer of its source tile{named}: "
        f'it cannot be bound to the declaration "{v.declared.base}"',
        step.call.span or place(step),
        "bind the source tile to the declaration instead",
    )


def require_apart(declared: dict[str, Declaration], lifetimes: Lifetimes) -> None:
    """Refused: two tiles in the same bytes of a declaration that are needed at the same time."""
    for d in declared.values():
        latest: dict[int, Variable] = {}
        for v in d.tiles:
            if not isinstance(v.home, Step) or v.memory is None or v.memory.constant is None:
                continue
            before = latest.get(v.memory.constant)
            if before is not None and lifetimes.last_use(before) > lifetimes.definition[v]:
                slot = "" if d.slots is None else f" (slot {v.memory.constant // d.size})"
                raise Refused(
                    "declared-colive",
                    f'the tiles {before.name} and {v.name} are both bound to the declaration "{d.name}"{slot} and '
                    f"live at the same time: {before.name} over the statements "
                    f"{lifetimes.definition[before]}..{lifetimes.last_use(before)}, {v.name} over "
                    f"{lifetimes.definition[v]}..{lifetimes.last_use(v)}; the second would overwrite the first",
                    place(v.home),
                    "give one of them another declaration, or another slot",
                )
            latest[v.memory.constant] = v
