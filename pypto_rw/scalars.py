"""Scalar expressions: their names, their dtype and its width, their canonical form, and bounds that always hold.

Sources: control-and-scalars.md §6.7 (dtypes)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import gcd

from pypto_rw.ir import Binary, Bool, Call, Cast, DType, Expr, Float, Int, Item, Name, ScalarType, Tuple, Type, Unary

OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "//": "floordiv",
    "%": "mod",
    "/": "div",
    "**": "pow",
    "min": "min",
    "max": "max",
    "and": "and",
    "xor": "xor",
    "or": "or",
    "&": "bitand",
    "|": "bitor",
    "^": "bitxor",
    "<<": "shl",
    ">>": "shr",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
UNARY = {"-": "neg", "not": "not", "~": "invert", "abs": "abs"}
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})

_INTEGER_WIDTH = {
    DType.INDEX: 64,
    **{d: int("".join(c for c in d.value if c.isdigit())) for d in DType if "INT" in d.value},
}
_FLOAT_WIDTH = {DType.FP32: 32, DType.FP16: 16, DType.BF16: 16}
_ODD_BITS = {DType.BOOL: 8, DType.INDEX: 64, DType.TASK_ID: 64}
WIDE = 1 << 62  # beyond every extent; keeps bounds inside 64 bits


def bits(dtype: DType) -> int:
    """Bits of one element in memory."""
    if dtype in _ODD_BITS:
        return _ODD_BITS[dtype]
    digits = dtype.value.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return int(digits.split("E")[0])


def promoted(a: DType, b: DType) -> DType:
    """Dtype of an arithmetic node over operands of dtypes `a` and `b`."""
    if a == b:
        return a
    a_float, b_float = a in _FLOAT_WIDTH, b in _FLOAT_WIDTH
    if a_float != b_float:
        return a if a_float else b
    if a_float:
        return a if _FLOAT_WIDTH[a] >= _FLOAT_WIDTH[b] else b
    if {a, b} == {DType.INDEX, DType.INT64}:
        return DType.INT64  # one width: no cast node between them
    if DType.INDEX in (a, b):
        return DType.INDEX
    wa, wb = _INTEGER_WIDTH.get(a, 0), _INTEGER_WIDTH.get(b, 0)
    if wa != wb:
        return a if wa > wb else b
    return a if a.value.startswith("INT") else b


def dtype_of(expr: Expr, lookup: Callable[[str], Type | None]) -> DType | None:
    """Dtype of a scalar expression; None where a name is no scalar."""
    match expr:
        case Int() | Float():
            return expr.dtype
        case Bool():
            return DType.BOOL
        case Name():
            found = lookup(expr.id)
            return found.dtype if isinstance(found, ScalarType) else None
        case Cast():
            return expr.dtype
        case Unary():
            return DType.BOOL if expr.op == "not" else dtype_of(expr.operand, lookup)
        case Binary():
            if expr.op in COMPARISONS:
                return DType.BOOL
            left, right = dtype_of(expr.left, lookup), dtype_of(expr.right, lookup)
            return promoted(left, right) if left and right else None
    return None


Bounds = tuple[int, int]
_ANY = (-WIDE, WIDE)


def bounds(expr: Expr, known: Mapping[str, Bounds]) -> Bounds:
    """Smallest and largest value `expr` can take, as far as the bounds of its variables tell."""
    match expr:
        case Int():
            return expr.value, expr.value
        case Name():
            return known.get(expr.id, _ANY)
        case Cast():
            return bounds(expr.operand, known)
        case Unary(op="-"):
            low, high = bounds(expr.operand, known)
            return -high, -low
        case Binary():
            return _binary(expr.op, bounds(expr.left, known), bounds(expr.right, known))
    return _ANY


def divisor(expr: Expr, known: Mapping[str, int]) -> int:
    """A number that divides every value `expr` can take, as far as those of its variables tell; 0 for what is 0."""
    match expr:
        case Int():
            return abs(expr.value)
        case Name():
            return known.get(expr.id, 1)
        case Cast():
            return divisor(expr.operand, known)
        case Binary(op="+" | "-"):
            return gcd(divisor(expr.left, known), divisor(expr.right, known))
        case Binary(op="*"):
            product = divisor(expr.left, known) * divisor(expr.right, known)
            return product if product < WIDE else gcd(product, WIDE)  # places are aligned to powers of two
    return 1


def _binary(op: str, a: Bounds, b: Bounds) -> Bounds:
    if op == "+":
        return _clip(a[0] + b[0], a[1] + b[1])
    if op == "-":
        return _clip(a[0] - b[1], a[1] - b[0])
    if op == "*":
        if any(abs(x) >= WIDE for x in (*a, *b)):
            return (0 if a[0] >= 0 and b[0] >= 0 else -WIDE), WIDE
        products = [x * y for x in a for y in b]
        return _clip(min(products), max(products))
    if op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    if op == "max":
        return max(a[0], b[0]), max(a[1], b[1])
    if op == "//" and b[0] == b[1] > 0 and a[0] >= 0:
        return a[0] // b[0], a[1] // b[0] if a[1] < WIDE else WIDE
    if op == "%" and b[0] == b[1] > 0 and a[0] >= 0:
        return 0, min(a[1], b[0] - 1)
    if op == "%" and b[0] == b[1] > 0 and a[0] > -WIDE:  # at run time it has the sign of the left side
        return max(a[0], 1 - b[0]), min(max(a[1], 0), b[0] - 1)
    return _ANY


def _clip(low: int, high: int) -> Bounds:
    return max(low, -WIDE), min(high, WIDE)


def names_in(exprs: tuple[Expr, ...]) -> Iterator[str]:
    """Every variable read by `exprs`, in order."""
    for e in exprs:
        match e:
            case Name():
                yield e.id
            case Unary() | Cast():
                yield from names_in((e.operand,))
            case Binary():
                yield from names_in((e.left, e.right))
            case Tuple():
                yield from names_in(e.items)
            case Item():
                yield from names_in((e.value,))
            case Call():
                yield from names_in(e.args)
                yield from names_in(tuple(v for _, v in e.kwargs))
