"""Tensors as operands: a tile operation on whole tensors computes on tiles that are loaded for it.

    y[:] = pl.add(a, b)   =>   a_tile = pl.tile.load(a, [0, 0], [64, 64]), b_tile = …, t = pl.tile.add(a_tile, b_tile)
                               y = pl.tile.store(t, [0, 0], y)

Windows are written `x[i : i + 16, :]`. A call may not mix tensors with tiles that its author loaded.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.front.arithmetic import Arithmetic
from pypto_rw.front.asking import Asker
from pypto_rw.scalars import WIDE
from pypto_rw.shaping.values import Refused


def whole_load(tensor: str, asker: Asker, call: ir.Call) -> ir.Call:
    """The load of a whole tensor. Raises Refused where its shape is not constant."""
    t = asker.values[tensor].type
    assert isinstance(t, ir.TensorType)
    if not all(isinstance(d, ir.Int) for d in t.shape):
        raise Refused(
            "tensor-level",
            f"pl.{call.callee} of the tensor {tensor}, whose shape is not constant, needs the tensor-level pipeline, "
            "which this compiler does not have",
            call.span,
            "load a window of it into a tile first (pl.load)",
        )
    zeros = tuple(ir.Int(0) for _ in t.shape)
    return ir.Call("tile.load", (ir.Name(tensor), ir.Tuple(zeros), ir.Tuple(t.shape)), (), (), call.span)


def window(tensor: str, indices: tuple[ir.Expr, ...], asker: Asker, call: ir.Call) -> tuple[ir.Tuple, ir.Tuple]:
    """Offsets and extents of `x[a : b, :]`; an index that is no range takes one element of its axis."""
    t = asker.values[tensor].type
    assert isinstance(t, ir.TensorType | ir.TileType)
    if len(indices) == 1 and indices[0] == ir.Tuple(()):
        indices = (ir.Tuple(()),) * len(t.shape)
    if len(indices) != len(t.shape):
        raise Refused("window-rank", f"{tensor} has {len(t.shape)} axes; the subscript names {len(indices)}", call.span)
    arithmetic = Arithmetic(asker.shaper.dtype, lambda e: (-WIDE, WIDE))
    offsets: list[ir.Expr] = []
    extents: list[ir.Expr] = []
    for index, size in zip(indices, t.shape, strict=True):
        if not isinstance(index, ir.Tuple):
            offsets.append(index)
            extents.append(ir.Int(1))
        elif not index.items:
            offsets.append(ir.Int(0))
            extents.append(size)
        else:
            start, stop = index.items
            offsets.append(start)
            extents.append(_difference(stop, start, arithmetic))
    return ir.Tuple(tuple(offsets)), ir.Tuple(tuple(extents))


def _difference(stop: ir.Expr, start: ir.Expr, arithmetic: Arithmetic) -> ir.Expr:
    """`stop - start`; of `e + 16` and `e` it is 16."""
    stop, start = arithmetic.simplified(stop), arithmetic.simplified(start)
    if isinstance(stop, ir.Binary) and stop.op == "+" and stop.left == start:
        return stop.right
    return arithmetic.simplified(ir.Binary("-", stop, start))
