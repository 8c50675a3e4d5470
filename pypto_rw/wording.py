"""Words for what a refusal has found: imported only where one is made."""

from __future__ import annotations

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


def compared(condition: ir.Expr) -> str:
    """How a number becomes a condition."""
    return f"compare it: {condition.id if isinstance(condition, ir.Name) else 'x'} != 0"


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`; `plural` where it does not end so."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
