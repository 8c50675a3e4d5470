"""Words for what a refusal has found: imported only where one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.layout import effective_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from pypto_rw.rewriting.declared import Signature
    from pypto_rw.shaping.values import Value


def unlike(a: ir.Type | None, b: ir.Type | None) -> tuple[str, str]:
    """Two types of tiles by what they differ in: `dtype FP32`, `dtype FP16`."""
    if not isinstance(a, ir.TileType) or not isinstance(b, ir.TileType):
        return "one type", "another"
    first, second = _told(a), _told(b)
    differ = [name for name in first if first[name] != second[name]]
    if all(told["valid shape"] == told["shape"] for told in (first, second)):
        differ = [name for name in differ if name != "valid shape"]  # it only follows
    both = [", ".join(f"{name} {told[name]}" for name in differ) for told in (first, second)]
    return (both[0], both[1]) if differ else ("one type", "another")


def _told(t: ir.TileType) -> dict[str, str]:
    view = effective_view(t)
    return {
        "shape": _shape(t.shape),
        "dtype": t.dtype.value,
        "memory": t.space.value if t.space else "?",
        "valid shape": _shape(view.valid or t.shape),
        "blayout": str(getattr(view.blayout, "value", view.blayout)),
        "slayout": str(getattr(view.slayout, "value", view.slayout)),
        "fractal": str(view.fractal),
        "pad": str(getattr(view.pad, "value", view.pad)),
        "compact": str(view.compact),
    }


def _shape(dims: tuple[ir.Expr, ...]) -> str:
    texts = (str(d.value) if isinstance(d, ir.Int) else d.id if isinstance(d, ir.Name) else "?" for d in dims)
    return f"[{', '.join(texts)}]"


def tile_first(call: ir.Call, signature: Signature, lookup: Callable[[str], Value | None]) -> str:
    """How a call of a scalar and a tile is written, the tile first: its op's `(scalar-first op dtypes form)`.

    Empty for an op that says none, and for other operands."""
    scalar, tile = call.args[:2] if len(call.args) > 1 else (None, None)
    found = lookup(tile.id) if isinstance(tile, ir.Name) else None
    if found is None or not isinstance(tile, ir.Name) or not isinstance(found.type, ir.TileType):
        return ""
    kinds = ("any", "integer" if "INT" in found.type.dtype.name else "float")
    form = next((form for kind, form in signature.all("scalar-first") if kind in kinds), None)
    if form is None or not isinstance(scalar, ir.Int | ir.Float | ir.Name):
        return ""
    return "write " + form.format(
        tile="tile" if tile.id.startswith("t__tmp_v") else tile.id,
        scalar=scalar.id if isinstance(scalar, ir.Name) else scalar.value,
        shape=_shape(found.type.shape),
        dtype=f"pl.{found.type.dtype.value}",
    )


def compared(condition: ir.Expr) -> str:
    """How a number becomes a condition."""
    return f"compare it: {condition.id if isinstance(condition, ir.Name) else 'x'} != 0"


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`; `plural` where it does not end so."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
