"""What a tile's MemRef says against the `tile.alloc` of its base: memory space and size. types-and-memory.md §7."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.records import dataclass
from pypto_rw.scalars import bits
from pypto_rw.shaping.values import Refused


@dataclass(frozen=True, slots=True)
class Allocation:
    """One `tile.alloc`: its memory space, None where it names none, and its size in bytes, None where unknown."""

    space: str | None
    size: int | None


def allocation(call: ir.Call) -> Allocation:
    """What a `tile.alloc` call reserves."""
    space = call.args[0] if call.args else None
    size = call.args[1] if len(call.args) > 1 else None
    return Allocation(
        space.path.rsplit(".", 1)[-1] if isinstance(space, ir.Symbol) else None,
        size.value if isinstance(size, ir.Int) else None,
    )


def require(name: str, t: ir.TileType, allocations: dict[str, Allocation]) -> None:
    """Refused: the tile `name` is not within the allocation that its MemRef names.

    A function without any `tile.alloc` is hand-built: its bases are only names."""
    memref = t.memref
    if memref is None or not allocations:
        return
    found = allocations.get(memref.base)
    if found is None:
        import difflib  # only a refusal needs it

        near = difflib.get_close_matches(memref.base, allocations, 1)
        raise Refused(
            "memref-base",
            f"the tile {name} lies in {memref.base}, which no pl.tile.alloc makes",
            help=f"did you mean {near[0]}?" if near else f"allocate it first: {memref.base}: pl.Ptr = pl.tile.alloc(…)",
        )
    if found.space is not None and t.space is not None and t.space.value != found.space:
        raise Refused(
            "memref-space",
            f"the tile {name} says pl.Mem.{t.space.value}, but {memref.base} is allocated in {found.space}",
            help=f"allocate {memref.base} in {t.space.value}, or give {name} an allocation there",
        )
    needed = _bytes(t)
    if needed is not None and memref.size is not None and needed > memref.size:
        raise Refused(
            "memref-size",
            f"the tile {name} takes {needed} bytes, but its pl.MemRef has {memref.size}",
            help=f"give it {needed} bytes in pl.MemRef and in the pl.tile.alloc of {memref.base}",
        )
    whole = (memref.size or 0) * (memref.slots or 1)
    if found.size is not None and whole > found.size:
        each = f"{memref.slots} slots of {memref.size} bytes" if memref.slots else f"{whole} bytes"
        raise Refused(
            "memref-size",
            f"the pl.MemRef of {name} has {each}, but {memref.base} is allocated with {found.size}",
            help=f"allocate {memref.base} with {whole} bytes",
        )


def _bytes(t: ir.TileType) -> int | None:
    """Physical bytes of a tile; 4-bit elements are two to a byte. None for a shape that is no constant."""
    count = 1
    for extent in t.shape:
        if not isinstance(extent, ir.Int):
            return None
        count *= extent.value
    return (count * bits(t.dtype) + 7) // 8
