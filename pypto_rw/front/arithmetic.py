"""Scalar expressions in one canonical form, so that equal indices look equal.

    i * 2 + i - 0  =>  i * 3      n > 3  =>  3 < n      not (a == b)  =>  a != b      max(n, 0) of an index  =>  n

Only integers are touched; floats keep the order in which they were written.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from pypto_rw import ir
from pypto_rw.records import replace
from pypto_rw.scalars import WIDE, Bounds
from pypto_rw.shaping.values import Refused

_FOLDED: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "min": min,
    "max": max,
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}
SIMPLE = frozenset({ir.Name, ir.Int, ir.Float, ir.Bool, ir.Str, ir.Symbol})
"""Classes of expressions without parts."""
_TURNED = {">": "<", ">=": "<="}
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Arithmetic:
    """Simplifies expressions; `dtype` and `bounds` tell what is known of one."""

    def __init__(self, dtype: Callable[[ir.Expr], ir.DType], bounds: Callable[[ir.Expr], Bounds]) -> None:
        self.dtype, self.bounds = dtype, bounds

    def all(self, exprs: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        """Each of them; the same tuple where nothing changes."""
        new = [e if type(e) in SIMPLE else self.simplified(e) for e in exprs]
        return exprs if all(map(is_, new, exprs)) else tuple(new)

    def simplified(self, expr: ir.Expr) -> ir.Expr:
        """The canonical form of a scalar expression; anything else as it is."""
        if type(expr) in SIMPLE:
            return expr
        match expr:
            case ir.Tuple():
                items = self.all(expr.items)
                return expr if items is expr.items else replace(expr, items=items)
            case ir.Unary(op="not"):
                inner = self.simplified(expr.operand)
                if isinstance(inner, ir.Bool):
                    return ir.Bool(not inner.value)
                if isinstance(inner, ir.Binary) and inner.op in _NEGATED and not self._float(inner.left):
                    return self._compared(replace(inner, op=_NEGATED[inner.op]))
                return replace(expr, operand=inner)
            case ir.Unary() | ir.Cast():
                return replace(expr, operand=self.simplified(expr.operand))
            case ir.Binary():
                return _within(
                    self._binary(replace(expr, left=self.simplified(expr.left), right=self.simplified(expr.right)))
                )
        return expr

    def _float(self, expr: ir.Expr) -> bool:
        return self.dtype(expr).value in ("FP32", "FP16", "BF16")

    def _binary(self, e: ir.Binary) -> ir.Expr:
        if e.op in ("and", "or"):
            return self._logic(e)
        if self._float(e.left) or self._float(e.right):
            return replace(e, op=_TURNED[e.op], left=e.right, right=e.left) if e.op in _TURNED else e
        if e.op in _TURNED or e.op in _COMPARED:
            return self._compared(e)
        left, right = e.left, e.right
        if isinstance(left, ir.Int) and isinstance(right, ir.Int) and left.dtype is right.dtype:
            if e.op in _FOLDED:
                return replace(left, value=_FOLDED[e.op](left.value, right.value))
            if e.op in ("//", "%") and left.value >= 0 and right.value > 0:
                value = left.value // right.value if e.op == "//" else left.value % right.value
                return replace(left, value=value)
        if e.op in ("+", "-", "*"):
            return self._linear(e)
        if e.op in ("min", "max"):
            return self._extreme(e)
        if e.op in ("//", "%") and isinstance(right, ir.Int) and right.value == 1:
            return left if e.op == "//" else ir.Int(0, self.dtype(e))
        return e

    def _logic(self, e: ir.Binary) -> ir.Expr:
        for a, b in ((e.left, e.right), (e.right, e.left)):
            if isinstance(a, ir.Bool):
                return b if a.value == (e.op == "and") else a
        return e

    def _compared(self, e: ir.Binary) -> ir.Expr:
        if e.op in _TURNED:
            e = replace(e, op=_TURNED[e.op], left=e.right, right=e.left)
        if isinstance(e.left, ir.Int) and isinstance(e.right, ir.Int):
            return ir.Bool(_COMPARED[e.op](e.left.value, e.right.value))
        return e

    def _extreme(self, e: ir.Binary) -> ir.Expr:
        """`min` or `max` of values whose order is known."""
        (low_a, high_a), (low_b, high_b) = self._known(e.left), self._known(e.right)
        if e.op == "min":
            return e.left if high_a <= low_b else e.right if high_b <= low_a else e
        return e.left if low_a >= high_b else e.right if low_b >= high_a else e

    def _known(self, expr: ir.Expr) -> Bounds:
        low, high = self.bounds(expr)
        if isinstance(expr, ir.Binary) and expr.op in ("min", "max"):
            a, b = self._known(expr.left), self._known(expr.right)
            pick = min if expr.op == "min" else max
            return pick(a[0], b[0]), pick(a[1], b[1])
        if low == -WIDE and isinstance(expr, ir.Name) and self.dtype(expr) is ir.DType.INDEX:
            low = 0  # an index counts
        return low, high

    def _linear(self, e: ir.Binary) -> ir.Expr:
        """A sum or product: terms in one variable are collected, neutral elements dropped."""
        left, right, dtype = e.left, e.right, self.dtype(e)
        if e.op == "*":
            if isinstance(left, ir.Int) and not isinstance(right, ir.Int):
                left, right = right, left
            if isinstance(right, ir.Int):
                if right.value == 0:
                    return ir.Int(0, dtype)
                if right.value == 1:
                    return left
                if isinstance(left, ir.Binary) and left.op == "*" and isinstance(left.right, ir.Int):
                    return replace(left, right=replace(right, value=right.value * left.right.value))
                if isinstance(left, ir.Binary) and left.op in ("+", "-") and isinstance(left.right, ir.Int):
                    scaled = self._linear(replace(left, op="*", right=right))
                    return self._linear(
                        replace(left, left=scaled, right=replace(left.right, value=left.right.value * right.value))
                    )
            return replace(e, left=left, right=right)
        if isinstance(right, ir.Int) and right.value == 0:
            return left
        if e.op == "+" and isinstance(left, ir.Int):
            if left.value == 0:
                return right
            left, right = right, left
        (base_a, k), (base_b, m) = _term(left), _term(right)
        if base_a == base_b and not isinstance(base_a, ir.Int):
            k = k + m if e.op == "+" else k - m
            return self._linear(replace(e, op="*", left=base_a, right=ir.Int(k, dtype)))
        if isinstance(left, ir.Binary) and left.op in ("+", "-") and isinstance(left.right, ir.Int):
            first = left.right.value if left.op == "+" else -left.right.value
            if isinstance(right, ir.Int):
                return self._offset(left.left, first + (right.value if e.op == "+" else -right.value), dtype, e)
        return replace(e, left=left, right=right)

    def _offset(self, base: ir.Expr, value: int, dtype: ir.DType, e: ir.Binary) -> ir.Expr:
        if value == 0:
            return base
        return replace(e, op="+" if value > 0 else "-", left=base, right=ir.Int(abs(value), dtype))


def _term(expr: ir.Expr) -> tuple[ir.Expr, int]:
    """An expression as a multiple of another."""
    if isinstance(expr, ir.Binary) and expr.op == "*" and isinstance(expr.right, ir.Int):
        return expr.left, expr.right.value
    return expr, 1


def _within(expr: ir.Expr) -> ir.Expr:
    """A constant that was computed fits into 64 bits."""
    if isinstance(expr, ir.Int) and not -(2**63) <= expr.value < 2**63:
        raise Refused("number-range", "this expression is a constant that does not fit into 64 bits")
    return expr
