"""Loops of a function: what they carry, and that the next iteration finds it where this one leaves it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE
from pypto_rw.lowering.nodes import Carry, Loop, Node, WhileLoop, yield_span
from pypto_rw.lowering.tiles import signature_of
from pypto_rw.shaping.operands import Operand, Var
from pypto_rw.shaping.values import Refused, Value, kind_name, kind_of

if TYPE_CHECKING:
    from pypto_rw.lowering.walk import Walker


class Loops:
    """The loops of the function that `walker` walks."""

    def __init__(self, walker: Walker) -> None:
        self.walker, self.values, self.shaper = walker, walker.values, walker.shaper

    def _bound(self, expr: ir.Expr) -> Operand:
        self.walker.use(expr)
        return self.shaper.index(expr)

    def range(self, stmt: ir.For) -> Loop:
        """`for i in pl.range(…)`."""
        if stmt.kind in ("unroll", "pipeline"):
            raise Refused(
                "loop-kind",
                f"a pl.{stmt.kind} loop must be expanded before code generation",
                help="it needs the tensor-level pipeline; write pl.range here",
            )
        start: ir.Expr = ir.Int(0)
        step: ir.Expr = ir.Int(1)
        if len(stmt.bounds) == 1:
            stop = stmt.bounds[0]
        else:
            start, stop = stmt.bounds[:2]
            step = stmt.bounds[2] if len(stmt.bounds) == 3 else step
        known = self.shaper.resolved(step)
        if isinstance(known, ir.Int) and known.value <= 0:
            raise Refused("loop-step", f"scf.for needs a positive step; this loop's is {known.value}")
        lo, hi, by = map(self._bound, (start, stop, step))
        carries = self._carries(stmt.carried, stmt.initial, stmt.body)
        dtype = next(
            (b.dtype for b in stmt.bounds if isinstance(b, ir.Int) and b.dtype is not ir.DType.INDEX),
            ir.DType.INDEX,
        )
        first = self.shaper.bounds(start)
        last = self.shaper.bounds(stop)
        body, yields = self._carrying_body(
            stmt.body,
            carries,
            {stmt.variable: Value(ir.ScalarType(dtype), bounds=(first[0], max(first[0], last[1] - 1)))},
        )
        return Loop(stmt.variable, (lo, hi, by), carries, body, yields, stmt.span, yield_span(stmt.body, stmt.span))

    def while_(self, stmt: ir.While) -> WhileLoop:
        """`for … in pl.while_(…)`."""
        carries = self._carries(stmt.carried, stmt.initial, stmt.body)
        self.values.enter()
        for carry in carries:
            self.values[carry.name] = self._carried_value(carry)
        condition = self.walker.condition(stmt.condition)
        self.values.leave()
        body, yields = self._carrying_body(stmt.body, carries, {})
        return WhileLoop(condition, carries, body, yields, stmt.span, yield_span(stmt.body, stmt.span))

    def _carries(self, names: tuple[str, ...], initial: tuple[ir.Expr, ...], body: tuple[ir.Stmt, ...]) -> list[Carry]:
        last = body[-1] if body else None
        results: tuple[str, ...] = last.targets if isinstance(last, ir.Yield) else ()
        carries = []
        for k, (name, init) in enumerate(zip(names, initial, strict=True)):
            self.walker.use(init)
            found = self.values.get(init.id) if isinstance(init, ir.Name) else None
            kind = kind_of(found.type) if found is not None else "scalar"
            result = results[k] if k < len(results) else None
            if kind == "scalar":
                type_: ir.Type = ir.ScalarType(self.shaper.dtype(init))
                operand = self.shaper.scalar(init)
            else:
                assert found is not None and isinstance(init, ir.Name)
                self.walker.require_fixed(found, f"the loop carries {name}, but its first value {init.id}", NOWHERE)
                type_, operand = found.type, Var(init.id)
            carries.append(Carry(name, kind, operand, result, type_))
        return carries

    def _carried_value(self, carry: Carry) -> Value:
        """What a loop's body sees under a carried name: a scalar of its own, or the handle of the initial value."""
        if carry.kind == "scalar":
            return Value(carry.type)
        assert isinstance(carry.initial, Var)
        return self.values[carry.initial.name]

    def _carrying_body(
        self, body: tuple[ir.Stmt, ...], carries: list[Carry], inside: dict[str, Value]
    ) -> tuple[list[Node], list[Operand]]:
        """A loop's body and what it yields; `inside` are names that only the body sees."""
        last = body[-1] if body else None
        if not isinstance(last, ir.Yield) and carries:
            names = ", ".join(c.name for c in carries)
            raise Refused(
                "missing-yield",
                f"a loop with carried values ({len(carries)}) must end in pl.yield_",
                help=f"end the body with results = pl.yield_(…), the next value of each of {names}",
            )
        initial = {c.name: self._carried_value(c) for c in carries}
        self.values.enter()
        try:
            for name, value in {**inside, **initial}.items():
                self.values[name] = value
            if not isinstance(last, ir.Yield):
                return self.walker.block(body), []
            nodes = self.walker.block(body[:-1])
            if len(last.values) != len(carries):
                raise Refused(
                    "yield-count",
                    f"the loop carries {len(carries)} values, but {len(last.values)} are yielded",
                    last.span,
                )
            yields = [
                y
                for carry, value in zip(carries, last.values, strict=True)
                for y in self._carried_on(carry, value, last)
            ]
        finally:
            self.values.leave()
        for carry in carries:
            if carry.result is not None:
                self.values[carry.result] = initial[carry.name]
        return nodes, yields

    def _carried_on(self, carry: Carry, value: ir.Expr, end: ir.Yield) -> Iterator[Operand]:
        """The yielded value of a scalar carry; a tile must already be where the carry is."""
        self.walker.use(value)
        if carry.kind == "scalar":
            dtype = self.shaper.dtype(value)
            assert isinstance(carry.type, ir.ScalarType)
            if dtype is not carry.type.dtype:
                raise Refused(
                    "carry-dtype",
                    f"{carry.name} is carried as {carry.type.dtype.value}, but {dtype.value} is yielded",
                    end.span,
                    "a carried value keeps the dtype of its initial value; convert with pl.cast",
                )
            yield self.shaper.scalar(value)
            return
        found, carried = self.walker.operand_value(value), self.values[carry.name]
        if found is None or kind_of(found.type) != carry.kind:
            raise Refused(
                "carry-kind",
                f"the loop carries {carry.name}, {kind_name(carry.type)}, but yields "
                f"{kind_name(found.type) if found is not None else 'a scalar'}",
                end.span,
                "yield what is carried on, of one kind with its initial value",
            )
        if carry.kind == "tile" and signature_of(found.type) != signature_of(carried.type):
            from pypto_rw.wording import unlike

            was, yielded = unlike(carried.type, found.type if found else None)
            raise Refused(
                "carry-type",
                f"the loop carries {carry.name} as a tile of {was}, but yields one of {yielded}",
                end.span,
                "yield a tile of the shape, dtype and layout of the initial value",
            )
        if carry.kind == "tensor":
            self.walker.one_window(carry.name, carried, found, "the loop carries one and yields the other", end.span)
        both = found.place if found else None, carried.place
        if carry.kind == "tile" and both[0] and both[1] and _start(both[0][1]) != _start(both[1][1]):
            raise Refused(
                "carry-buffer",
                f"the loop carries {carry.name} in one buffer, but yields a tile in another, which the next iteration "
                "would not see",
                end.span,
                f"end the body with a pl.tile.move into the buffer of {carry.name}, and yield that",
            )


def _start(where: object) -> object:
    """Where bytes begin: a tile may take a part of the buffer that is carried."""
    return where[:2] if isinstance(where, tuple) else where
