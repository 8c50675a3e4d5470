"""Scalar expressions of an orchestration as C++, fully parenthesised. Source: orchestration-overview.md §3."""

from __future__ import annotations

import math

from pypto_rw import ir
from pypto_rw.scalars import dtype_of
from pypto_rw.syntax import expression_text
from pypto_rw.wrapper.ctypes import C_TYPE
from pypto_rw.wrapper.orchestration.frame import Frame
from pypto_rw.wrapper.orchestration.values import KIND, ScalarValue

_BINARY = {
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "//": "({} / {})",
    "%": "({} % {})",
    "/": "({} / {})",
    "and": "({} && {})",
    "or": "({} || {})",
    "&": "({} & {})",
    "|": "({} | {})",
    "^": "({} ^ {})",
    "<<": "({} << {})",
    ">>": "({} >> {})",
    "==": "({} == {})",
    "!=": "({} != {})",
    "<": "({} < {})",
    "<=": "({} <= {})",
    ">": "({} > {})",
    ">=": "({} >= {})",
}
_CHOICE = {"min": "std::min<{}>({}, {})", "max": "std::max<{}>({}, {})"}
_UNARY = {"-": "(-{})", "~": "(~{})", "not": "(!{})", "abs": "std::abs({})"}
_FLOATS = (ir.DType.FP32, ir.DType.FP16, ir.DType.BF16)
_QUERIES = {
    "available_cluster_count": "rt_available_cluster_count()",
    "available_aiv_count": "rt_available_aiv_count()",
}


def cpp(frame: Frame, expr: ir.Expr) -> str:
    """`expr` in C++. Raises Rejected for what has no value on the host."""
    match expr:
        case ir.Int():
            return str(expr.value)
        case ir.Bool():
            return "true" if expr.value else "false"
        case ir.Float():
            return float_text(frame, expr)
        case ir.Name():
            return _variable(frame, expr.id)
        case ir.Cast():
            return f"static_cast<{c_type(frame, expr.dtype)}>({cpp(frame, expr.operand)})"
        case ir.Unary() if expr.op in _UNARY:
            return _UNARY[expr.op].format(cpp(frame, expr.operand))
        case ir.Binary() if expr.op in _BINARY:
            left, right = cpp(frame, expr.left), cpp(frame, expr.right)
            if expr.op == "/" and scalar_type(frame, expr) not in _FLOATS:
                raise _unsupported(frame, expr, "/ of integers; // rounds down")
            return _BINARY[expr.op].format(left, right)
        case ir.Binary() if expr.op in _CHOICE:
            type_ = c_type(frame, scalar_type(frame, expr) or ir.DType.INDEX)
            return _CHOICE[expr.op].format(type_, cpp(frame, expr.left), cpp(frame, expr.right))
        case ir.Call() if (query := expr.callee.rsplit(".", 1)[-1]) in _QUERIES and not expr.args:
            return _QUERIES[query]
    raise _unsupported(frame, expr, "it is no scalar expression of the host")


def unsigned(frame: Frame, expr: ir.Expr) -> str:
    """`expr` as an element of a `uint32_t` array: an extent, an offset, an index."""
    text = cpp(frame, expr)
    return text if isinstance(expr, ir.Int) else f"static_cast<uint32_t>({text})"


def listed(frame: Frame, exprs: tuple[ir.Expr, ...]) -> str:
    """Elements of a `uint32_t` array."""
    return ", ".join(unsigned(frame, e) for e in exprs)


def float_text(frame: Frame, constant: ir.Float) -> str:
    """A finite float constant."""
    if not math.isfinite(constant.value):
        raise _unsupported(frame, constant, "it is not finite")
    text = f"{constant.value!r}f"
    return text if constant.dtype is ir.DType.FP32 else f"static_cast<{c_type(frame, constant.dtype)}>({text})"


def scalar_type(frame: Frame, expr: ir.Expr) -> ir.DType | None:
    """The dtype of a scalar expression."""

    def lookup(name: str) -> ir.Type | None:
        if name in frame.symbols and name not in frame.values:
            return ir.ScalarType(ir.DType.INDEX)
        value = frame.look(name)
        return ir.ScalarType(value.dtype) if isinstance(value, ScalarValue) else None

    return dtype_of(expr, lookup)


def c_type(frame: Frame, dtype: ir.DType) -> str:
    """The C++ type of a scalar of `dtype`."""
    if dtype not in C_TYPE:
        raise frame.refused("orchestration-expression", f"a scalar of dtype {dtype.value} has no C++ type")
    return C_TYPE[dtype]


def _variable(frame: Frame, name: str) -> str:
    if name not in frame.values and name in frame.symbols:
        frame.used_symbols.add(name)
        return frame.symbols[name]
    value = frame.look(name)
    if isinstance(value, ScalarValue):
        return value.text
    raise frame.refused("operand-kind", f"{name} is {KIND[type(value)]}; a scalar is needed")


def _unsupported(frame: Frame, expr: ir.Expr, why: str) -> Exception:
    return frame.refused("orchestration-expression", f"{expression_text(expr)} cannot be computed here: {why}")
