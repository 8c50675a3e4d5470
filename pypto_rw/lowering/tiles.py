"""Tiles of a function: the bytes each is in, the handle it is printed by, and what declares that handle."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic, Span
from pypto_rw.layout import effective_view
from pypto_rw.lowering import allocations, slots
from pypto_rw.lowering.nodes import Scoped
from pypto_rw.shaping.operands import Instance
from pypto_rw.shaping.shapes import FLOATS, Shaper
from pypto_rw.shaping.values import Refused, Value


class Tiles:
    """`handles`: by tile, what stands for its handle; `offsets`: addresses in the order they are met; `redirected`:
    tiles that are written to another one's handle; `allocations`: by base, what `tile.alloc` says; `windows`: by the
    bytes it is in, the window that is there."""

    def __init__(self, function: ir.Function, shaper: Shaper, values: Scoped, addresses: bool) -> None:
        self.function, self.shaper, self.values, self.addresses = function, shaper, values, addresses
        self.handles: dict[str, object] = {}
        self.offsets: list[ir.Expr] = []
        self.redirected: dict[str, object] = {}
        self.allocations: dict[str, allocations.Allocation] = {}
        self.regions: dict[str, Instance] = {}
        self.windows: dict[object, str] = {}
        self._whole: set[object] = set()  # bytes that a tile of its own is in
        self._within: dict[int, ir.TileType] = {}  # types that are within their allocation
        self._types_in: dict[object, set[object]] | None = None

    def of(self, name: str, t: ir.TileType) -> Value:
        """The value of a tile with memory of its own; takes its name and notes its address."""
        memref = t.memref
        assert memref is not None
        self.require_within(name, t)
        for extent, size in zip(effective_view(t).valid, t.shape, strict=False):
            n, most = self.shaper.resolved(extent), self.shaper.resolved(size)
            if isinstance(most, ir.Int) and most.value <= 0:
                raise Refused("tile-extent", f"{name}: an extent of a tile must be positive; got {most.value}")
            if isinstance(n, ir.Int) and isinstance(most, ir.Int) and not 0 <= n.value <= most.value:
                raise Refused("valid-extent", f"{name}: the valid extent {n.value} is not within 0..{most.value}")
        old = self.values.get(name)
        if old is not None and self.values.here(name) and isinstance(old.type, ir.TileType) and old.type != t:
            raise Refused(
                "redefined-name",
                f"{name} is defined again in one block, as another tile: the first one's handle would be taken",
                help="give the second tile a name of its own",
            )
        offset = self.shaper.resolved(memref.offset) if memref.offset is not None else None
        if offset is not None and not isinstance(offset, ir.Int):
            dtype = self.shaper.dtype(offset)
            if dtype in FLOATS or dtype is ir.DType.BOOL:
                raise Refused(
                    "memref-offset",
                    f"the byte offset of {name} must be an integer; its dtype is {dtype.value}",
                    help="write the offset in bytes: pl.const(4096, pl.INT64)",
                )
        identity = self.identity(memref)
        if name in self.redirected:
            handle: object = self.redirected[name]
        else:
            handle = name if self.addresses else identity
        self.handles.setdefault(name, handle)
        if isinstance(offset, ir.Int):
            self.offsets.append(offset)
        return Value(t, place=(*self.bytes_of(t), handle))

    def require_within(self, name: str, t: ir.TileType) -> None:
        """Refused: the tile is not within its allocation."""
        if id(t) not in self._within:
            allocations.require(name, t, self.allocations)
            self._within[id(t)] = t  # the reference keeps the id valid

    def bytes_of(self, t: ir.TileType) -> tuple[object, object]:
        """Allocation and byte range of a tile.

        Two allocations may share bytes, so a range is named by where it is, not by its allocation."""
        assert t.memref is not None
        identity = self.identity(t.memref)
        return t.memref.base, (t.space, *identity[1:]) if self.addresses else identity

    def note_window(self, name: str, value: Value) -> None:
        """The window `name` is in bytes of its tile: what is written there is written through it. An allocation of
        its own, elsewhere, has a handle of its own; so have bytes that another tile was in before."""
        over = value.window is not None and value.window.memory == 0
        if over and value.place is not None and value.place[1] not in self._whole:
            self.windows[value.place[1]] = name

    def window_at(self, name: str, value: Value) -> str | None:
        """Without addresses: the window whose bytes the result `name` takes, None for a tile with a handle of its own.

        Refused: such a result of another type than the window, which is written through the window's handle."""
        if value.place is None or name in self.redirected:
            return None
        window = self.windows.get(value.place[1])
        found = self.values.get(window) if window is not None else None
        if window is None or found is None or found.window is None or found.place is None:
            self._whole.add(value.place[1])
            return None
        if signature_of(found.type) == signature_of(value.type) and self._valid(found.type) == self._valid(value.type):
            return window
        raise Refused(
            "view-of-window",
            f"{name} is written into the window {window} of another tile, and without addresses only a tile of the "
            "window's own type, valid extents and pad value can be",
            help=f"use pl.tile.extract(tile, row, column, [rows, columns]), which copies, for the slice {window}; "
            "or let a planner give addresses (--planner pypto)",
        )

    def _valid(self, t: ir.Type) -> tuple[ir.Expr, ...]:
        return tuple(map(self.shaper.resolved, effective_view(t).valid)) if isinstance(t, ir.TileType) else ()

    def identity(self, memref: ir.MemRef) -> tuple[object, ...]:
        """The bytes a tile occupies: allocation, offset by value, size."""
        offset = self.shaper.resolved(memref.offset) if memref.offset is not None else None
        where = offset.value if isinstance(offset, ir.Int) else offset
        return (
            memref.base,
            where,
            memref.size,
            self.shaper.resolved(memref.slot) if memref.slot is not None else None,
        )

    def alloc(self, name: str, value: Value) -> Instance:
        """What declares a tile's handle: its allocation, or a slot of a region."""
        t = value.type
        memref = t.memref if isinstance(t, ir.TileType) else None
        if memref is not None and memref.base in self.regions and memref.slot is not None:  # a view selects none
            assert isinstance(t, ir.TileType)
            return self.shaper.slot(f"{memref.base}_mb", name, t)
        return self.shaper.alloc(name, value)

    def make_regions(self, filename: str) -> list[Diagnostic]:
        """Declare the regions of multi-slot allocations; what is wrong with them."""
        found = []
        for region in slots.regions(self.function.body).values():
            _, t, span = region.tiles[0]
            try:
                slots.require(region)
            except Refused as refused:
                found.append(refused.diagnostic(span, filename, self.function.name))
                continue
            self.regions[region.base] = self.shaper.region(f"{region.base}_mb", t)
        return found

    def placed_regions(self) -> list[tuple[Instance, Span]]:
        """Regions, each at the statement that makes its allocation."""
        made = {s.targets[0]: s.span for s in self.function.body if isinstance(s, ir.Assign)}
        return [(r, made.get(base, self.function.span)) for base, r in self.regions.items()]

    def signatures(self) -> dict[object, set[object]]:
        """Types that tiles in the same bytes have."""
        if self._types_in is None:
            self._types_in = {}
            for s in ir.statements(self.function.body):
                t = s.type if isinstance(s, ir.Assign | ir.Yield) else None
                if isinstance(t, ir.TileType) and t.memref is not None:
                    self._types_in.setdefault(self.identity(t.memref), set()).add(signature_of(t))
        return self._types_in

    def shares(self, how: str, a: Value, b: Value) -> bool:
        """Whether the result `a` takes the handle of `b`: they share an allocation (`same-buffer`), or bytes and type.

        The valid extents of a window are in its handle's type, those of another tile are not."""
        if not a.place or not b.place:
            return False
        if how == "same-buffer":
            return a.place[0] == b.place[0]
        alike = a.place[:2] == b.place[:2] and signature_of(a.type) == signature_of(b.type)
        return alike and (b.window is None or self._valid(a.type) == self._valid(b.type))


def signature_of(t: ir.Type) -> object:
    """Everything a tile's printed type says: shape, dtype, space, layout, pad, compact; no valid extents."""
    if not isinstance(t, ir.TileType):
        return t
    v = effective_view(t)
    return (t.shape, t.dtype, t.space, v.blayout, v.slayout, v.fractal, v.pad, v.compact)
