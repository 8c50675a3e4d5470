"""IR types and constants as the text of rule terms (rules/core/types.egg)."""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw.ir import (
    ArrayType,
    DType,
    Expr,
    Int,
    OpaqueType,
    Pad,
    ScalarType,
    TensorLayout,
    TensorType,
    TileType,
    TupleType,
    Type,
)
from pypto_rw.layout import effective_view

Extent = Callable[[Expr], str]  # the Extent term of a dimension


def dtype(d: DType) -> str:
    """Term of a dtype."""
    return f"({d.value})"


def string(text: str) -> str:
    """A string literal of egglog."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def static(expr: Expr) -> bool:
    """Whether a dimension is a number."""
    return isinstance(expr, Int)


def type_term(t: Type | None, extent: Extent) -> str:
    """Term of a type; `extent` turns a dimension into an Extent term."""
    match t:
        case TileType():
            return _tile(t, extent)
        case TensorType():
            return _tensor(t, extent)
        case ScalarType():
            return f"(Scalar {dtype(t.dtype)})"
        case ArrayType():
            size = t.shape[0] if t.shape else None
            return f"(Array {size.value if isinstance(size, Int) else 0} {dtype(t.dtype)})"
        case OpaqueType():
            return f"(Opaque {string(t.name)})"
        case TupleType():
            return '(Opaque "tuple")'
        case None:
            return "(untyped)"


def _vec(items: list[str]) -> str:
    return f"(vec-of {' '.join(items)})" if items else "(vec-empty)"


def _tile(t: TileType, extent: Extent) -> str:
    v = effective_view(t)
    space = f"({t.space.value})" if t.space else "(no-space)"
    pad = "(pad-null)" if v.pad is Pad.null else f"(pad-{v.pad.value})"
    view = f"(View ({v.blayout.value}) ({v.slayout.value}) {v.fractal} {pad} {int(v.compact)})"
    shape, valid = t.shape, v.valid
    if len(shape) == 2 and len(valid) == 2 and all(map(static, shape)):
        rows, cols = shape
        assert isinstance(rows, Int) and isinstance(cols, Int)
        return f"(Tile {rows.value} {cols.value} {extent(valid[0])} {extent(valid[1])} {dtype(t.dtype)} {space} {view})"
    return f"(TileN {_vec(list(map(extent, shape)))} {_vec(list(map(extent, valid)))} {dtype(t.dtype)} {space} {view})"


def _tensor(t: TensorType, extent: Extent) -> str:
    view = t.view
    valid = view.valid if view and view.valid else t.shape
    layout = view.layout if view and view.layout else TensorLayout.ND
    stride = view.stride if view and view.stride else ()
    return (
        f"(Tensor {_vec(list(map(extent, t.shape)))} {_vec(list(map(extent, valid)))} {dtype(t.dtype)} "
        f"({layout.value}) {_vec(list(map(extent, stride)))})"
    )


def static_type_term(t: Type) -> str | None:
    """Term of a type without run-time extents, None for one that has some."""
    try:
        return type_term(t, _only_static)
    except _RunTime:
        return None


class _RunTime(Exception):
    pass


def _only_static(expr: Expr) -> str:
    if isinstance(expr, Int) and -(2**63) <= expr.value < 2**63:
        return f"(at {expr.value})"
    raise _RunTime
