"""How many bytes a tile or a tensor takes, and where a window of it lies. Source: memory-planning.md §3."""

from __future__ import annotations

import math

from pypto_rw import ir
from pypto_rw.memory.facts import Facts
from pypto_rw.memory.tree import Memory, Variable
from pypto_rw.scalars import bits
from pypto_rw.shaping.values import Refused


def tile_bytes(variable: Variable, facts: Facts) -> int:
    """Bytes of a tile's physical shape. Refused: an extent that is no positive constant."""
    t = variable.tile
    assert t is not None
    extents = []
    for k, e in enumerate(t.shape):
        if not isinstance(e, ir.Int) or e.value <= 0:
            what = e.value if isinstance(e, ir.Int) else "a run-time value"
            raise Refused(
                "static-shape",
                f"the tile {variable.name} needs a static shape: element {k} of its physical shape is {what}",
                help="allocate the largest shape as a constant and declare the real extent as valid_shape",
            )
        extents.append(e.value)
    if t.space is ir.Space.Acc and len(extents) > 1:
        rows = facts.accumulator_rows(t.dtype)
        extents[-2] = -(-extents[-2] // rows) * rows
    return -(-math.prod(extents) * bits(t.dtype) // 8)


def tensor_bytes(t: ir.TensorType) -> int:
    """Bytes of a tensor; 0 with a run-time extent."""
    extents = [e.value for e in t.shape if isinstance(e, ir.Int)]
    return -(-math.prod(extents) * bits(t.dtype) // 8) if len(extents) == len(t.shape) else 0


def window(parent: Variable, shape: ir.Expr | None, offsets: ir.Expr | None) -> Memory:
    """Memory of a window of `parent`, whose own memory is known: its first byte, and the bytes it spans."""
    source, t = parent.memory, parent.type
    assert source is not None and isinstance(t, ir.TileType | ir.TensorType)
    if not isinstance(offsets, ir.Tuple):
        return source
    width = bits(t.dtype)
    dims = [e.value if isinstance(e, ir.Int) else None for e in t.shape]
    start: ir.Expr = ir.Int(0)
    for k, e in enumerate(offsets.items):
        scale = 1
        for d in dims[k + 1 :]:
            scale *= d or 1
        start = _sum(start, _product(e, scale))
    start = _bytes(start, width)
    size = source.size
    if isinstance(shape, ir.Tuple) and len(shape.items) == len(dims) and None not in dims:
        span = _span([e.value if isinstance(e, ir.Int) else None for e in shape.items], dims)
        if span is not None:
            size = -(-span * width // 8)
    offset = _sum(source.offset, start)
    return source if offset == source.offset and size == source.size else Memory(source.base, offset, size)


def _span(shape: list[int | None], dims: list[int | None]) -> int | None:
    stride, last = 1, 0
    for extent, dim in zip(reversed(shape), reversed(dims), strict=True):
        if extent is None or dim is None:
            return None
        last += (extent - 1) * stride
        stride *= dim
    return last + 1


def _sum(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    if isinstance(a, ir.Int) and isinstance(b, ir.Int):
        return ir.Int(a.value + b.value)
    if isinstance(a, ir.Int) and a.value == 0:
        return b
    return a if isinstance(b, ir.Int) and b.value == 0 else ir.Binary("+", a, b)


def _product(a: ir.Expr, factor: int) -> ir.Expr:
    if isinstance(a, ir.Int):
        return ir.Int(a.value * factor)
    return a if factor == 1 else ir.Binary("*", a, ir.Int(factor))


def _bytes(elements: ir.Expr, width: int) -> ir.Expr:
    if width % 8 == 0:
        return _product(elements, width // 8)
    if isinstance(elements, ir.Int):
        return ir.Int(elements.value * width // 8)
    return ir.Binary("//", _product(elements, width), ir.Int(8))
