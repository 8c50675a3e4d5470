"""From places of allocations to addresses of tiles. Source: memory-planning.md §6."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE
from pypto_rw.memory.facts import aligned
from pypto_rw.memory.sizes import tile_bytes
from pypto_rw.memory.tree import Memory, Tree, Variable, place
from pypto_rw.records import replace
from pypto_rw.shaping.values import Refused


def sizes_in_use(tree: Tree) -> dict[str, int]:
    """Bytes of each allocation: its largest tile; of a declared one at least what it declares."""
    found: dict[str, int] = {}
    for v in tree.tiles():
        if v.memory is not None:
            found[v.memory.base] = max(found.get(v.memory.base, 0), v.memory.size)
    for base, (_, size, pinned) in tree.allocations.items():
        if pinned and base in found:
            found[base] = max(found[base], size)
    return found


def in_name_order(tree: Tree, reserved: dict[ir.Space, int]) -> dict[str, int]:
    """Addresses one after the other, in the text order of the allocations' names. Refused: more than there is."""
    at = dict(reserved)
    addresses = {}
    sizes = sizes_in_use(tree)
    for base in sorted(sizes):
        space = tree.allocations[base][0]
        addresses[base] = aligned(at.get(space, 0))
        at[space] = addresses[base] + sizes[base]
    for space, used in at.items():
        capacity = tree.facts.capacity.get(space)
        if capacity is not None and used > capacity:
            raise _past_capacity(tree, space, used, capacity, reserved.get(space, 0))
    return addresses


def _past_capacity(tree: Tree, space: ir.Space, used: int, capacity: int, reserved: int) -> Refused:
    largest = largest_tile(tree, space)
    note = f"; {reserved} of them are reserved for pipe slots" if reserved else ""
    named = ""
    if largest is not None:
        named = f"; the largest tile is {largest.name} with {tile_bytes(largest, tree.facts)} bytes"
    help = f"use smaller tiles, or let lives end earlier, so that at most {capacity} bytes are needed at once"
    if reserved:
        help += "; fewer or smaller pipe slots free reserved bytes"
    return Refused(
        "memory-capacity",
        f"{space.value} buffer usage ({used} bytes) exceeds platform limit ({capacity} bytes) of {tree.facts.target} "
        f"in {tree.function.name}{note}{named}",
        place(largest.home) if largest is not None and largest.home is not None else NOWHERE,
        help,
    )


def largest_tile(tree: Tree, space: ir.Space) -> Variable | None:
    """The first of the largest tiles of a memory space."""
    found = [v for v in tree.tiles() if v.memory is not None and v.tile is not None and v.tile.space is space]
    return max(found, key=lambda v: tile_bytes(v, tree.facts), default=None)


def write_addresses(tree: Tree, addresses: dict[str, int]) -> None:
    """Turn every tile's offset within its allocation into its address in the memory space."""
    done: dict[int, tuple[Memory, Memory]] = {}
    for v in tree.tiles():
        m = v.memory
        if m is None:
            continue
        known = done.get(id(m))
        if known is None:
            known = done[id(m)] = (m, replace(m, offset=_address(m, addresses[m.base])))
        v.memory = known[1]


def _address(m: Memory, start: int) -> ir.Expr:
    if m.constant is not None:
        return ir.Int(start + m.constant, ir.DType.INT64)
    if m.slots is not None:
        return ir.Binary("+", ir.Int(start), m.offset)
    return ir.Int(start, ir.DType.INT64)
