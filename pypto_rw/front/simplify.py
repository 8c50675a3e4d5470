"""Simplifies a typed function: canonical scalars, branches and loops whose course is known, values nobody reads.

for i in pl.range(1): body    =>   body with i = 0         if 3 < 2: a else: b   =>   b
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pypto_rw import ir
from pypto_rw.front.arithmetic import Arithmetic
from pypto_rw.front.copies import copied, defined
from pypto_rw.front.names import assigned, fresh, reads, substituted
from pypto_rw.records import replace
from pypto_rw.scalars import WIDE, Bounds, bounds, dtype_of
from pypto_rw.shaping.values import Refused

T = TypeVar("T")
_UNROLLED = 4096  # statements an unrolled loop may become


def simplified(function: ir.Function) -> ir.Function:
    """`function` without scalars that nobody reads and without control flow whose course is known.

    Raises Refused for a loop that cannot be unrolled."""
    body = tuple(_Simplifier(function).block(function.body))
    return replace(
        function,
        body=without_dead(body, lambda s: isinstance(s.type, ir.ScalarType) and not isinstance(s.value, ir.Call)),
    )


def without_dead(body: tuple[ir.Stmt, ...], droppable: Callable[[ir.Assign], bool]) -> tuple[ir.Stmt, ...]:
    """A function's body without the `droppable` assignments whose values nobody reads; calls only where it says so."""
    if not any(isinstance(s, ir.Assign) and droppable(s) for s in ir.statements(body)):
        return body
    return _without_dead(body, frozenset(), droppable)[0]


class _Simplifier:
    def __init__(self, function: ir.Function) -> None:
        self.types: dict[str, ir.Type] = {p.name: p.type for p in function.params}
        self.known: dict[str, Bounds] = {}
        self.stands: dict[str, ir.Expr] = {}
        self.taken = {p.name for p in function.params} | set(assigned(function.body))
        for p in function.params:
            if isinstance(p.type, ir.TensorType):
                for name in reads(p.type.shape, p.type.view.valid if p.type.view and p.type.view.valid else ()):
                    self.types.setdefault(name, ir.ScalarType(ir.DType.INDEX))
        self.arithmetic = Arithmetic(self._dtype, lambda e: bounds(e, self.known))

    def _dtype(self, expr: ir.Expr) -> ir.DType:
        return dtype_of(expr, self.types.get) or ir.DType.TASK_ID

    def expr(self, expr: ir.Expr) -> ir.Expr:
        """An expression with what is known put in, in canonical form."""
        expr = self.put(expr)
        if isinstance(expr, ir.Call):
            args = self.arithmetic.all(expr.args)
            kwargs = expr.kwargs
            if kwargs:
                kwargs = tuple((k, self.arithmetic.simplified(v)) for k, v in kwargs)
            return expr if args is expr.args and not kwargs else replace(expr, args=args, kwargs=kwargs)
        return self.arithmetic.simplified(expr)

    def put(self, tree: T) -> T:
        return substituted(tree, self.stands) if self.stands else tree

    def block(self, body: tuple[ir.Stmt, ...]) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for stmt in body:
            self.statement(stmt, out)
        return out

    def inside(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """A block that may not run: what a name stands for in it ends with it."""
        count = len(self.stands)
        made = tuple(self.block(body))
        while len(self.stands) > count:
            self.stands.popitem()
        return made

    def statement(self, stmt: ir.Stmt, out: list[ir.Stmt]) -> None:
        match stmt:
            case ir.Assign():
                value, type_ = self.expr(stmt.value), self.put(stmt.type)
                if len(stmt.targets) == 1 and type_ is not None:
                    self.types[stmt.targets[0]] = type_
                    if isinstance(type_, ir.ScalarType) and not isinstance(value, ir.Call):
                        self.known[stmt.targets[0]] = bounds(value, self.known)
                    if isinstance(value, ir.Int | ir.Bool) and isinstance(type_, ir.ScalarType):
                        self.stands[stmt.targets[0]] = (
                            replace(value, dtype=type_.dtype) if isinstance(value, ir.Int) else value
                        )
                same = value is stmt.value and type_ is stmt.type
                out.append(stmt if same else replace(stmt, value=value, type=type_))
            case ir.Evaluate():
                value = self.expr(stmt.value)
                out.append(stmt if value is stmt.value else replace(stmt, value=value))
            case ir.Yield() | ir.Return():
                out.append(replace(stmt, values=tuple(map(self.expr, stmt.values))))
            case ir.If():
                self.branch(stmt, out)
            case ir.For():
                self.loop(stmt, out)
            case ir.While():
                initial = tuple(map(self.expr, stmt.initial))
                self._carried(stmt.carried, initial)
                condition = self.expr(stmt.condition)
                body = self.inside(stmt.body)
                self._results(body)
                out.append(replace(stmt, condition=condition, initial=initial, body=body))
            case _:
                out.append(stmt)

    def _carried(self, names: tuple[str, ...], values: tuple[ir.Expr, ...]) -> None:
        for name, value in zip(names, values, strict=False):
            found = self.types.get(value.id) if isinstance(value, ir.Name) else None
            self.types[name] = found if found is not None else ir.ScalarType(self._dtype(value))

    def _results(self, body: tuple[ir.Stmt, ...]) -> None:
        last = body[-1] if body else None
        if isinstance(last, ir.Yield):
            self._carried(last.targets, last.values)

    def branch(self, stmt: ir.If, out: list[ir.Stmt]) -> None:
        condition = self.expr(stmt.condition)
        if isinstance(condition, ir.Bool):
            self._inline(stmt.body if condition.value else stmt.orelse or (), out)
            return
        then = self.inside(stmt.body)
        orelse = self.inside(stmt.orelse) if stmt.orelse is not None else None
        self._results(then)
        out.append(replace(stmt, condition=condition, body=then, orelse=orelse))

    def _inline(self, body: tuple[ir.Stmt, ...], out: list[ir.Stmt]) -> None:
        """A block that always runs: its results stand for the values it yields."""
        last = body[-1] if body else None
        end = last if isinstance(last, ir.Yield) else None
        out += self.block(body[:-1] if end else body)
        if end is not None:
            for name, value in zip(end.targets, end.values, strict=True):
                self.stands[name] = self.expr(value)
                self._carried((name,), (self.stands[name],))

    def loop(self, stmt: ir.For, out: list[ir.Stmt]) -> None:
        bounds_ = tuple(map(self.expr, stmt.bounds))
        initial = tuple(map(self.expr, stmt.initial))
        start = bounds_[0] if len(bounds_) > 1 else ir.Int(0)
        stop = bounds_[0] if len(bounds_) == 1 else bounds_[1]
        step = bounds_[2] if len(bounds_) == 3 else ir.Int(1)
        fixed = isinstance(start, ir.Int) and isinstance(stop, ir.Int) and isinstance(step, ir.Int) and step.value > 0
        if fixed:
            assert isinstance(start, ir.Int) and isinstance(stop, ir.Int) and isinstance(step, ir.Int)
            trips = range(start.value, stop.value, step.value)
            if stmt.kind == "unroll" and len(trips) > _UNROLLED:
                raise Refused("loop-kind", f"this loop unrolls to {len(trips)} rounds, which is too many", stmt.span)
            if len(trips) <= 1 or stmt.kind == "unroll":
                self.unroll(stmt, [replace(start, value=k) for k in trips], initial, out)
                return
        elif stmt.kind == "unroll":
            raise Refused("loop-kind", "pl.unroll needs constant bounds", stmt.span, "write pl.range")
        low = bounds(start, self.known)[0]
        high = bounds(stop, self.known)[1]
        self.known[stmt.variable] = (low, max(low, high - 1) if high < WIDE else WIDE)
        dtype = next((b.dtype for b in bounds_ if isinstance(b, ir.Int) and b.dtype is not ir.DType.INDEX), None)
        self.types[stmt.variable] = ir.ScalarType(dtype or ir.DType.INDEX)
        self._carried(stmt.carried, initial)
        body = self.inside(stmt.body)
        self._results(body)
        if len(bounds_) == 3 and step == ir.Int(1):
            bounds_ = bounds_[:2]
        if len(bounds_) == 2 and start == ir.Int(0):
            bounds_ = bounds_[1:]
        out.append(replace(stmt, bounds=bounds_, initial=initial, body=body))

    def unroll(self, stmt: ir.For, trips: list[ir.Int], initial: tuple[ir.Expr, ...], out: list[ir.Stmt]) -> None:
        """The body once for every value of the variable."""
        if len(trips) * len(stmt.body) > _UNROLLED:
            raise Refused("loop-kind", f"this loop unrolls to {len(trips)} rounds, which is too many", stmt.span)
        last = stmt.body[-1] if stmt.body else None
        end = last if isinstance(last, ir.Yield) else None
        body = stmt.body[:-1] if end else stmt.body
        values = initial
        for number, value in enumerate(trips):
            own = {n: fresh(self.taken, n) if number else n for n in dict.fromkeys(defined(body))}
            self.stands.update({stmt.variable: value, **dict(zip(stmt.carried, values, strict=False))})
            copy = copied(body, own) if number else body
            out += self.block(copy)
            if end is not None:
                ends = substituted(end.values, {k: ir.Name(n) for k, n in own.items()})
                values = tuple(self.expr(v) for v in ends)
        for name, result in zip(end.targets if end else (), values, strict=False):
            self.stands[name] = result
            self._carried((name,), (result,))


def _without_dead(
    body: tuple[ir.Stmt, ...], after: frozenset[str], droppable: Callable[[ir.Assign], bool]
) -> tuple[tuple[ir.Stmt, ...], frozenset[str]]:
    """The statements whose values are read or that have an effect, and the names read by them."""
    needed = set(after)
    out: list[ir.Stmt] = []
    for stmt in reversed(body):
        match stmt:
            case ir.Assign() if not needed & set(stmt.targets) and droppable(stmt):
                continue
            case ir.For() | ir.While():
                inner, inside = _without_dead(stmt.body, frozenset(needed) | _loop_reads(stmt), droppable)
                stmt = replace(stmt, body=inner)
                needed |= inside
            case ir.If():
                then, a = _without_dead(stmt.body, frozenset(needed), droppable)
                other, b = _without_dead(stmt.orelse or (), frozenset(needed), droppable)
                needed |= a | b
                stmt = replace(stmt, body=then, orelse=None if stmt.orelse is None else other)
        needed |= set(_own_reads(stmt))
        out.append(stmt)
    return tuple(reversed(out)), frozenset(needed)


def _loop_reads(stmt: ir.For | ir.While) -> frozenset[str]:
    return frozenset(reads(stmt.condition)) if isinstance(stmt, ir.While) else frozenset()


def _own_reads(stmt: ir.Stmt) -> list[str]:
    match stmt:
        case ir.Assign():
            return list(reads(stmt.value, stmt.type))
        case ir.Evaluate():
            return list(reads(stmt.value))
        case ir.Yield() | ir.Return():
            return list(reads(stmt.values))
        case ir.For():
            return list(reads(stmt.bounds, stmt.initial))
        case ir.While():
            return list(reads(stmt.condition, stmt.initial))
        case ir.If():
            return list(reads(stmt.condition))
    return []
