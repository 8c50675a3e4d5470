"""Words for what a refusal has found: imported only where one is made."""

from __future__ import annotations

import re

from pypto_rw import ir
from pypto_rw.layout import effective_view


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
        "shape": shape_text(t.shape),
        "dtype": t.dtype.value,
        "memory": t.space.value if t.space else "?",
        "valid shape": shape_text(view.valid or t.shape),
        "blayout": str(getattr(view.blayout, "value", view.blayout)),
        "slayout": str(getattr(view.slayout, "value", view.slayout)),
        "fractal": str(view.fractal),
        "pad": str(getattr(view.pad, "value", view.pad)),
        "compact": str(view.compact),
    }


def shape_text(dims: tuple[ir.Expr, ...]) -> str:
    """`[16, 64]`, `?` for what run time tells."""
    texts = (str(d.value) if isinstance(d, ir.Int) else d.id if isinstance(d, ir.Name) else "?" for d in dims)
    return f"[{', '.join(texts)}]"


def operand_named(name: str, unnamed: str = "an operand") -> str:
    """`name`, or `unnamed` where its author gave it none (front/typed.py)."""
    return unnamed if name.startswith("t__tmp_v") else name


def authors_name(name: str, *versions: ir.Expr) -> str:
    """What its author calls a name that is merged from `versions`: `r` for r_2 of r and r_1 (front/ssa.py)."""
    base = re.sub(r"_\d+$", "", name)
    of_base = re.compile(rf"{re.escape(base)}(_\d+)?(_mv)?")
    return base if all(isinstance(v, ir.Name) and of_base.fullmatch(v.id) for v in versions) else name


def typed_as(t: ir.Type) -> str:
    """`a tile [16, 64] of FP32`."""
    match t:
        case ir.TileType() | ir.TensorType():
            return f"a {'tile' if isinstance(t, ir.TileType) else 'tensor'} {shape_text(t.shape)} of {t.dtype.value}"
        case ir.ScalarType():
            return f"a scalar of {t.dtype.value}"
    return "of another kind"


def compared(condition: ir.Expr) -> str:
    """How a number becomes a condition."""
    return f"compare it: {condition.id if isinstance(condition, ir.Name) else 'x'} != 0"


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`; `plural` where it does not end so."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
