"""Index expressions in the form the reference prints: constants are folded, and a constant factor is
multiplied into a sum with a constant.

`(i + 1) * 32` becomes `i * 32 + 32`; such sums arise where a pipelined loop body is repeated for each stage.
"""

from __future__ import annotations

from operator import add, is_, mul, sub

from pypto_rw import ir
from pypto_rw.records import replace

_FOLDED = {"+": add, "-": sub, "*": mul}
_SIMPLE = frozenset({ir.Name, ir.Int, ir.Float, ir.Bool, ir.Str, ir.Symbol})


def simplify(function: ir.Function) -> ir.Function:
    """The function with its operands simplified; itself where there is nothing to do."""
    body = _block(function.body)
    return function if body is function.body else replace(function, body=body)


def _block(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    new = tuple(map(_statement, body))
    return body if all(map(is_, body, new)) else new


def _statement(stmt: ir.Stmt) -> ir.Stmt:
    match stmt:
        case ir.Assign() | ir.Evaluate():
            value = _expression(stmt.value)
            return stmt if value is stmt.value else replace(stmt, value=value)
        case ir.For() | ir.While() | ir.Scope():
            body = _block(stmt.body)
            return stmt if body is stmt.body else replace(stmt, body=body)
        case ir.If():
            then, orelse = _block(stmt.body), _block(stmt.orelse) if stmt.orelse else stmt.orelse
            return stmt if then is stmt.body and orelse is stmt.orelse else replace(stmt, body=then, orelse=orelse)
    return stmt


def _all(exprs: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    new = [e if type(e) in _SIMPLE else _expression(e) for e in exprs]
    return exprs if all(map(is_, new, exprs)) else tuple(new)


def _expression(e: ir.Expr) -> ir.Expr:
    if type(e) in _SIMPLE:
        return e
    match e:
        case ir.Call():
            args = _all(e.args)
            return e if args is e.args else replace(e, args=args)
        case ir.Tuple():
            items = _all(e.items)
            return e if items is e.items else replace(e, items=items)
        case ir.Binary("+" | "-" | "*", ir.Int() as left, ir.Int() as right):
            if left.dtype is right.dtype is ir.DType.INDEX:
                return ir.Int(_FOLDED[e.op](left.value, right.value))
        case ir.Binary("*", ir.Binary("+" | "-", _, ir.Int() as term) as total, ir.Int() as factor):
            if term.dtype is factor.dtype is ir.DType.INDEX:
                product = replace(total, op="*", left=total.left, right=factor)
                return replace(e, op=total.op, left=product, right=ir.Int(term.value * factor.value))
    return e
