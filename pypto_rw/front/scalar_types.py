"""Dtypes of scalar expressions: operands of two dtypes are brought to one by a cast. control-and-scalars.md §6.7."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.records import replace
from pypto_rw.scalars import promoted
from pypto_rw.shaping.shapes import FLOATS, Shaper
from pypto_rw.shaping.values import Refused
from pypto_rw.syntax.parts import float_

_LOGIC = frozenset({"and", "or", "xor"})


class Scalars:
    """Casts inside scalar expressions; dtypes are looked up through the shaper."""

    def __init__(self, shaper: Shaper) -> None:
        self.shaper = shaper

    def unary(self, expr: ir.Unary | ir.Cast) -> ir.Expr:
        """A unary expression; a cast to the dtype that its operand has is dropped."""
        if isinstance(expr, ir.Cast):
            dtype = self.shaper.dtype(expr.operand)
            if dtype is expr.dtype:
                return expr.operand
            if {dtype, expr.dtype} & FLOATS and ir.DType.INDEX in (dtype, expr.dtype):
                raise Refused(
                    "cast-float-index",
                    f"{dtype.value} cannot be converted to {expr.dtype.value}",
                    expr.span,
                    "convert over an integer dtype such as pl.INT32",
                )
            if isinstance(expr.operand, ir.Int) and expr.dtype not in FLOATS:
                return ir.Int(expr.operand.value, expr.dtype)
        elif expr.op == "-" and isinstance(expr.operand, ir.Int):
            return replace(expr.operand, value=-expr.operand.value)
        return expr

    def binary(self, expr: ir.Binary) -> ir.Expr:
        """A binary expression whose operands have one dtype."""
        left, right = self.shaper.dtype(expr.left), self.shaper.dtype(expr.right)
        if left is right or expr.op in _LOGIC or ir.DType.BOOL in (left, right):
            return expr
        if {left, right} == {ir.DType.INDEX, ir.DType.INT64}:
            return expr
        if expr.op in ("<<", ">>"):
            return expr
        dtype = promoted(left, right)
        return replace(expr, left=self.converted(expr.left, dtype), right=self.converted(expr.right, dtype))

    def converted(self, expr: ir.Expr, dtype: ir.DType) -> ir.Expr:
        """`expr` in another dtype: a constant is made in it, anything else is cast."""
        own = self.shaper.dtype(expr)
        if own is dtype or ir.DType.BOOL in (own, dtype):
            return expr
        if isinstance(expr, ir.Int):
            return float_(float(expr.value), dtype) if dtype in FLOATS else ir.Int(expr.value, dtype)
        return ir.Cast(expr, dtype)

    def assigned(self, expr: ir.Expr, written: ir.Type | None) -> tuple[ir.Expr, ir.DType]:
        """The right side of an assignment, and the variable's dtype: the annotation's, where it says an integer."""
        dtype = self.shaper.dtype(expr)
        if written is None:
            return expr, dtype
        if not isinstance(written, ir.ScalarType):
            raise Refused("annotation-kind", "the annotation says a tile or a tensor, but the value is a scalar")
        if written.dtype is dtype:
            return expr, dtype
        if isinstance(expr, ir.Int):
            return self.converted(expr, written.dtype), written.dtype
        if _integer(dtype) and _integer(written.dtype):
            return expr, written.dtype
        raise Refused(
            "annotation-dtype",
            f"the annotation says dtype {written.dtype.value}, but the value's dtype is {dtype.value}",
            help="convert the value with pl.cast, or correct the annotation",
        )


def _integer(dtype: ir.DType) -> bool:
    return "INT" in dtype.value or dtype is ir.DType.INDEX
