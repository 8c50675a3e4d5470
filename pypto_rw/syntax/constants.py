"""What an expression of numbers and of named constants is: `N // 4` with `N = 64` is 16."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pypto_rw import ir
from pypto_rw.records import replace
from pypto_rw.syntax.parts import Part, float_

_Number = int | float
_OPERATORS: dict[str, Callable[[_Number, _Number], _Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}


def constant(expr: ir.Expr, known: Mapping[str, ir.Expr]) -> ir.Expr:
    """The constant that an expression is. ValueError, with the reason, where it is none."""
    match expr:
        case ir.Int() | ir.Float() | ir.Bool() | ir.Str() | ir.Symbol():
            return expr
        case ir.Name(id=name) if name in known:
            return known[name]
        case ir.Name(id=name):
            raise ValueError(f"{name} is not defined above it")
        case ir.Tuple():
            return replace(expr, items=tuple(constant(e, known) for e in expr.items))
        case ir.Unary(op="-"):
            value = constant(expr.operand, known)
            return _made(0 - _number(value), value)
        case ir.Binary() if expr.op in _OPERATORS:
            left, right = constant(expr.left, known), constant(expr.right, known)
            try:
                return _made(_OPERATORS[expr.op](_number(left), _number(right)), left)
            except ZeroDivisionError:
                raise ValueError("it divides by zero") from None
            except OverflowError:
                raise ValueError("it is too large") from None
    raise ValueError("it is no number, and no expression of numbers")


def known_number(part: Part, bound: Mapping[str, Part]) -> ir.Expr | None:
    """The number that a part is; `bound` are the names known to it. None where it is no number."""
    if not isinstance(part.node, ir.Int | ir.Float | ir.Name | ir.Unary | ir.Binary):
        return None
    try:
        return constant(part.node, {n: p.node for n, p in bound.items() if isinstance(p.node, ir.Int | ir.Float)})
    except ValueError:
        return None


def folded(expr: ir.Expr) -> ir.Expr:
    """`expr` as a number where it is an expression of numbers alone, else as it is."""
    try:
        return constant(expr, {}) if isinstance(expr, ir.Binary | ir.Unary) else expr
    except ValueError:
        return expr


def _number(expr: ir.Expr) -> _Number:
    if isinstance(expr, ir.Int | ir.Float):
        return expr.value
    raise ValueError("it computes with something that is no number")


def _made(value: _Number, like: ir.Expr) -> ir.Expr:
    """A number as a constant: an integer in the dtype of the first operand, if that is one."""
    if isinstance(value, int):
        return ir.Int(value, like.dtype) if isinstance(like, ir.Int) else ir.Int(value)
    return float_(value)
