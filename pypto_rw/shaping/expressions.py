"""Scalars, types and extents as terms of a shape: what stands at run time becomes a position."""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.records import dataclass, field
from pypto_rw.rewriting.engine import Engine
from pypto_rw.scalars import OPERATORS, UNARY, WIDE, Bounds, bounds, dtype_of
from pypto_rw.shaping import terms
from pypto_rw.shaping.operands import Const, Instance, Operand, Var
from pypto_rw.shaping.values import Refused, Value, kind_name, undefined

_RANGES = {
    d: (-(1 << (w - 1)), (1 << (w - 1)) - 1) if d.value.startswith("INT") else (0, (1 << w) - 1)
    for d in ir.DType
    if (w := int("".join(c for c in d.value if c.isdigit()) or "0")) and "INT" in d.value
}
_DIVISIONS = frozenset({"/", "//", "%"})


@dataclass(slots=True)
class Key:
    """A shape under construction: operand positions and run-time extents, numbered as they come."""

    operands: list[Operand] = field(default_factory=list)
    sources: list[ir.Expr | None] = field(default_factory=list)  # the expression behind each operand
    owners: list[str] = field(default_factory=list)  # the parameter each operand belongs to
    extents: list[ir.Expr] = field(default_factory=list)
    places: tuple[dict[object, int], dict[object, int], dict[object, int]] = field(default_factory=lambda: ({}, {}, {}))

    def position(self, operand: Operand, source: ir.Expr | None = None) -> int:
        """The number of an operand that comes next; `source` is the expression behind it."""
        self.operands.append(operand)
        self.sources.append(source)
        return len(self.operands) - 1


class Expressions:
    """Scalar expressions of one function, and its types, for one engine; `lookup` gives a variable's Value or None."""

    def __init__(self, engine: Engine, lookup: Callable[[str], Value | None]) -> None:
        self.engine, self.lookup = engine, lookup

    def resolved(self, expr: ir.Expr) -> ir.Expr:
        """`expr`, with a variable that stands for a constant replaced by it."""
        if isinstance(expr, ir.Name):
            found = self.lookup(expr.id)
            if found is not None and found.constant is not None:
                return found.constant
        return expr

    def bounds(self, expr: ir.Expr) -> Bounds:
        """Smallest and largest value of a scalar expression, as far as its variables tell."""
        return bounds(expr, _KnownBounds(self.lookup))

    def dtype(self, expr: ir.Expr) -> ir.DType:
        """Dtype of a scalar expression; Refused where it is none."""
        found = dtype_of(expr, self.type)
        if found is None:
            raise self._not_scalar(expr)
        return found

    def type(self, name: str) -> ir.Type | None:
        """The type of a variable; None for one that is not known."""
        found = self.lookup(name)
        return found.type if found else None

    def _not_scalar(self, expr: ir.Expr) -> Refused:
        match expr:
            case ir.Name():
                if self.lookup(expr.id) is None:
                    return undefined(expr.id)
                return Refused(
                    "not-a-scalar",
                    f"a scalar is needed here, but {expr.id} is {kind_name(self.type(expr.id))}",
                )
            case ir.Unary():
                return self._not_scalar(expr.operand)
            case ir.Binary():
                left = dtype_of(expr.left, self.type)
                return self._not_scalar(expr.left if left is None else expr.right)
            case ir.Call():
                return Refused("nested-call", f"the call {expr.callee} must be a statement of its own here", expr.span)
            case ir.Str():
                return Refused("not-a-scalar", f"a scalar is needed here, but {expr.value!r} is a text")
            case ir.Tuple():
                return Refused("not-a-scalar", f"a scalar is needed here, but this is a list of {len(expr.items)}")
        return Refused("not-a-scalar", "a scalar is needed here")

    def scalar(self, expr: ir.Expr) -> Operand:
        """Operand for a scalar expression: a constant, a variable, or an instance to print where it is needed."""
        expr = self.resolved(expr)
        match expr:
            case ir.Int():
                low, high = _RANGES.get(expr.dtype, (-WIDE * 2, WIDE * 4))
                if not low <= expr.value <= high:
                    raise Refused(
                        "integer-range", f"{expr.value} is no {expr.dtype.value}: its values are {low}..{high}"
                    )
                return Const(expr.value, expr.dtype.value)
            case ir.Float():
                return Const(expr.value, expr.dtype.value)
            case ir.Bool():
                return Const(int(expr.value), "BOOL")
            case ir.Name():
                if self.lookup(expr.id) is None:
                    raise undefined(expr.id)
                return Var(expr.id)
            case ir.Binary():
                op = OPERATORS.get(expr.op)
                if op is None or op == "pow":
                    raise Refused(
                        "no-lowering",
                        f"the scalar operator {expr.op} has no instruction",
                        expr.span,
                        "multiply instead",
                    )
                self.require_divisor(expr)
                return self.operator(op, (expr.left, expr.right), self.dtype(expr))
            case ir.Unary():
                return self.operator(UNARY[expr.op], (expr.operand,), self.dtype(expr))
            case ir.Cast():
                return self.operator("cast", (expr.operand,), expr.dtype)
        raise self._not_scalar(expr)

    def require_divisor(self, expr: ir.Binary) -> None:
        """Refused where an integer is divided by the constant 0."""
        divisor = self.resolved(expr.right)
        if expr.op in _DIVISIONS and isinstance(divisor, ir.Int) and divisor.value == 0:
            raise Refused(
                "division-by-zero", f"the right side of {expr.op} is 0", expr.span, "divide by a number other than 0"
            )

    def operator(self, name: str, operands: tuple[ir.Expr, ...], result: ir.DType) -> Instance:
        """Instance of the scalar operator `name`."""
        key = Key()
        self.engine.load_op(f"scalar.{name}")
        parts = " ".join(self.scalar_term(key, e) for e in operands)
        shape = f'(call "scalar.{name}" (vec-of {parts}) (res {self.interned(f"(Scalar ({result.value}))")} (nowhere)))'
        return Instance(shape, tuple(key.operands))

    def assigned(self, expr: ir.Expr, own: ir.DType, wanted: ir.DType) -> Operand:
        """Operand for the right side of an assignment to a variable of dtype `wanted`.

        An integer operator is computed in the dtype of the variable, as the reference's in-memory node is."""
        expr = self.resolved(expr)
        integers = own.value.strip("U").startswith("IN") and wanted.value.strip("U").startswith("IN")
        if (
            own in (wanted, ir.DType.INDEX)
            or not integers
            or not isinstance(expr, ir.Binary)
            or expr.op not in OPERATORS
        ):
            return self.scalar(expr)
        return self.operator(OPERATORS[expr.op], (expr.left, expr.right), wanted)

    def index(self, expr: ir.Expr) -> Operand:
        """Operand for an extent or a loop bound, as an index value."""
        expr = self.resolved(expr)
        if isinstance(expr, ir.Int):
            return Const(expr.value, "INDEX")
        dtype = self.dtype(expr)
        if dtype is ir.DType.INDEX:
            return self.scalar(expr)
        if dtype is ir.DType.BOOL:
            what = f"{expr.id} is" if isinstance(expr, ir.Name) else "this is"
            raise Refused("extent-dtype", f"an extent, an offset or a bound must be an integer; {what} {dtype.value}")
        return self.operator("index", (expr,), ir.DType.INDEX)

    def scalar_term(self, key: Key, expr: ir.Expr, *, literal: bool = False) -> str:
        """The term of a scalar operand. A `literal` shows its value in the shape, other constants do not."""
        expr = self.resolved(expr)
        operand = self.scalar(expr)
        k = key.position(operand, expr)
        if isinstance(operand, Const):
            if (literal or operand.dtype == "BOOL") and isinstance(operand.value, int):
                if not -WIDE < operand.value < WIDE:
                    raise Refused("integer-range", f"the constant {operand.value} is out of range here")
                return f"(lit {k} {operand.value} ({operand.dtype}))"
            return f"(const {k} ({operand.dtype}))"
        return f"(arg {k} {self.interned(f'(Scalar ({self.dtype(expr).value}))')} (nowhere) (plain))"

    def type_term(self, key: Key, t: ir.Type) -> str:
        """The number of a type, its run-time extents being positions of the shape."""
        known = self.engine.type_terms.get(id(t))
        if known is None:
            _require_addressable(t)
            text = terms.static_type_term(t)
            known = (t, None if text is None else self.interned(text))  # the reference keeps the id valid
            self.engine.type_terms[id(t)] = known
        if known[1] is not None:
            return known[1]
        return self.interned(terms.type_term(t, lambda e: self.extent(key, e)))

    def extent(self, key: Key, expr: ir.Expr) -> str:
        """The term of an extent: a number, or a position of the shape with its bounds."""
        expr = self.resolved(expr)
        if isinstance(expr, ir.Int):
            if not -(2**63) <= expr.value < 2**63:
                raise Refused("number-range", f"{expr.value} does not fit into 64 bits")
            return f"(at {expr.value})"
        if expr not in key.extents:
            key.extents.append(expr)
        low, high = self.bounds(expr)
        low, high = (min(max(b, -(2**63)), 2**63 - 1) for b in (low, high))
        return f"(dyn {key.extents.index(expr)} {low} {high})"

    def interned(self, text: str) -> str:
        """A type by its number, as a shape has it."""
        return f"(ty {self.engine.type_number(text)})"


class _KnownBounds(dict[str, Bounds]):
    """Bounds by variable name, read through a lookup."""

    def __init__(self, lookup: Callable[[str], Value | None]) -> None:
        super().__init__()
        self._lookup = lookup

    def get(self, name: str, default: Bounds = (-WIDE, WIDE)) -> Bounds:  # type: ignore[override]
        found = self._lookup(name)
        return found.bounds if found else default


def _require_addressable(t: ir.Type) -> None:
    count = 1
    for extent in t.shape if isinstance(t, ir.TensorType | ir.TileType) else ():
        count *= max(1, abs(extent.value)) if isinstance(extent, ir.Int) else 1
    if count >= 2**60:  # times the bits of an element
        raise Refused("number-range", f"{count} elements are more than can be addressed")
