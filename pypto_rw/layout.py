"""What the absence of a layout means: the implicit view of a tile. Source: types-and-memory.md §5.2."""

from __future__ import annotations

from pypto_rw.ir import Expr, Int, Pad, Space, TileLayout, TileType
from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class EffectiveView:
    """A tile's view with every field filled in. `valid` in elements per axis, `fractal` in bytes."""

    valid: tuple[Expr, ...]
    blayout: TileLayout
    slayout: TileLayout
    fractal: int
    pad: Pad
    compact: bool


_BOXED = {
    Space.Mat: (TileLayout.col_major, TileLayout.row_major, 512),
    Space.Left: (TileLayout.col_major, TileLayout.row_major, 512),
    Space.Acc: (TileLayout.col_major, TileLayout.row_major, 1024),
    Space.LeftScale: (TileLayout.row_major, TileLayout.row_major, 32),
    Space.RightScale: (TileLayout.col_major, TileLayout.col_major, 32),
}


def implicit_layout(shape: tuple[Expr, ...], space: Space | None) -> tuple[TileLayout, TileLayout, int]:
    """blayout, slayout and fractal of a tile without a view, by shape and memory space."""
    if space in _BOXED:
        return _BOXED[space]
    last, rows = shape[-1] if shape else None, shape[-2] if len(shape) > 1 else None
    column = isinstance(last, Int) and last.value == 1 and isinstance(rows, Int) and rows.value > 1
    blayout = TileLayout.col_major if column else TileLayout.row_major
    return blayout, TileLayout.col_major if space is Space.Right else TileLayout.none_box, 512


def effective_view(tile: TileType) -> EffectiveView:
    """The stored view of `tile`, absent fields taken from the implicit one."""
    blayout, slayout, fractal = implicit_layout(tile.shape, tile.space)
    v = tile.view
    if v is None:
        return EffectiveView(tile.shape, blayout, slayout, fractal, Pad.null, False)
    return EffectiveView(
        v.valid or tile.shape,
        v.blayout or blayout,
        v.slayout or slayout,
        v.fractal if v.fractal is not None else fractal,
        v.pad or Pad.null,
        bool(v.compact),
    )
