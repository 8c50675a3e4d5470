"""Deduced types: what the rules say a call's result is, as an IR type.

The rules give a term (rules/core/types.egg); here it becomes the `ir.Type` that the next statements read.
"""

from __future__ import annotations

from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import InternalError
from pypto_rw.layout import implicit_layout

_ARITHMETIC = {"e-min": "min", "e-max": "max", "e-add": "+", "e-sub": "-", "e-mul": "*", "e-div": "//"}


def type_of(term: Any, extents: tuple[ir.Expr, ...]) -> ir.Type:
    """IR type of a type term; `extents` are the run-time extents of its statement, by number."""
    head = term[0]
    if head == "Tile":
        _, rows, cols, vrows, vcols, dtype, space, view = term
        return _tile(
            (ir.Int(rows), ir.Int(cols)),
            tuple(expression(e, extents) for e in (vrows, vcols)),
            dtype,
            space,
            view,
        )
    if head == "TileN":
        _, shape, valid, dtype, space, view = term
        return _tile(_items(shape, extents), _items(valid, extents), dtype, space, view)
    if head == "Tensor":
        _, shape, valid, dtype, layout, stride = term
        shape, valid, stride = (_items(v, extents) for v in (shape, valid, stride))
        plain = valid == shape and layout[0] == "ND" and not stride
        tensor_view = ir.TensorView(valid if valid != shape else None, stride, ir.TensorLayout[layout[0]])
        return ir.TensorType(shape, ir.DType[dtype[0]], None if plain else tensor_view)
    if head == "Scalar":
        return ir.ScalarType(ir.DType[term[1][0]])
    if head == "Array":
        return ir.ArrayType((ir.Int(term[1]),), ir.DType[term[2][0]])
    if head == "Pair":
        return ir.TupleType(tuple(type_of(t, extents) for t in term[1:]))
    if head == "Opaque":
        return ir.OpaqueType(term[1])
    raise InternalError(f"the rules deduced a type that has no text: {term}")


def expression(term: Any, extents: tuple[ir.Expr, ...]) -> ir.Expr:
    """The expression an extent term stands for, constants folded."""
    head = term[0]
    if head == "at":
        return ir.Int(term[1])
    if head in ("dyn", "inside"):
        number: int = term[1]
        return extents[number]
    left, right = (expression(t, extents) for t in term[1:])
    op = _ARITHMETIC[head]
    if isinstance(left, ir.Int) and isinstance(right, ir.Int):
        a, b = left.value, right.value
        folded = {"min": min(a, b), "max": max(a, b), "+": a + b, "-": a - b, "*": a * b}
        return ir.Int(a // b if op == "//" else folded[op])
    if op == "min":  # of what is no larger already
        for smaller, bound in ((left, right), (right, left)):
            if isinstance(smaller, ir.Binary) and smaller.op == "min" and bound in (smaller.left, smaller.right):
                return smaller
    return ir.Binary(op, left, right)


def _items(vec: Any, extents: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    return tuple(expression(e, extents) for e in vec[1:]) if vec[0] == "vec-of" else ()


def _tile(shape: tuple[ir.Expr, ...], valid: tuple[ir.Expr, ...], dtype: Any, space: Any, view: Any) -> ir.TileType:
    _, blayout, slayout, fractal, pad, compact = view
    where = None if space[0] == "no-space" else ir.Space[space[0]]
    implicit = implicit_layout(shape, where)
    b, s = ir.TileLayout[blayout[0]], ir.TileLayout[slayout[0]]
    padding = ir.Pad[pad[0].removeprefix("pad-")]
    written = ir.TileView(
        valid=valid if valid != shape else None,
        blayout=b if b is not implicit[0] else None,
        slayout=s if s is not implicit[1] else None,
        fractal=fractal if fractal != implicit[2] else None,
        pad=padding if padding is not ir.Pad.null else None,
        compact=True if compact else None,
    )
    return ir.TileType(shape, ir.DType[dtype[0]], None, where, written if written != ir.TileView() else None)
