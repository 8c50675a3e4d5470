"""Loops and branches, typed: what they carry and merge has the type it begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.records import replace
from pypto_rw.shaping.values import Refused, Value

if TYPE_CHECKING:
    from pypto_rw.front.typed import Typer


class Blocks:
    """The blocks of the function that `typer` types."""

    def __init__(self, typer: Typer) -> None:
        self.typer = typer
        self.asker, self.values = typer.asker, typer.values

    def loop(self, stmt: ir.For, out: list[ir.Stmt]) -> None:
        """A counted loop."""
        bounds = tuple(self.typer.expression(b, out, stmt.span) for b in stmt.bounds)
        initial = tuple(self.typer.expression(v, out, stmt.span) for v in stmt.initial)
        dtype = next(
            (b.dtype for b in bounds if isinstance(b, ir.Int) and b.dtype is not ir.DType.INDEX), ir.DType.INDEX
        )
        shaper = self.asker.shaper
        first = shaper.bounds(bounds[0]) if len(bounds) > 1 else (0, 0)
        last = shaper.bounds(bounds[0 if len(bounds) == 1 else 1])
        self.values[stmt.variable] = Value(ir.ScalarType(dtype), bounds=(first[0], max(first[0], last[1] - 1)))
        self._carried(stmt.carried, initial)
        body = self._region(stmt.body, stmt.carried)
        out.append(replace(stmt, bounds=bounds, initial=initial, body=tuple(body)))

    def while_loop(self, stmt: ir.While, out: list[ir.Stmt]) -> None:
        """A conditional loop."""
        initial = tuple(self.typer.expression(v, out, stmt.span) for v in stmt.initial)
        self._carried(stmt.carried, initial)
        needed: list[ir.Stmt] = []
        condition = self.typer.expression(stmt.condition, needed, stmt.span)
        if needed:
            raise Refused(
                "nested-call",
                "the condition of a loop cannot contain a call",
                stmt.span,
                "carry its value, and compute it at the end of the body",
            )
        body = self._region(stmt.body, stmt.carried)
        out.append(replace(stmt, condition=condition, initial=initial, body=tuple(body)))

    def _carried(self, names: tuple[str, ...], initial: tuple[ir.Expr, ...]) -> None:
        self.typer.spread(names, initial)
        for name, value in zip(names, initial, strict=False):
            found = self.values.get(value.id) if isinstance(value, ir.Name) else None
            t = found.type if found is not None else ir.ScalarType(self.asker.shaper.dtype(value))
            place = (name, name, name) if isinstance(t, ir.TileType) else None
            self.values[name] = Value(t, place=place)

    def _region(self, body: tuple[ir.Stmt, ...], carried: tuple[str, ...]) -> list[ir.Stmt]:
        """A loop's body; its results have the types of what is carried."""
        out = self.typer.block(body)
        last = out[-1] if out else None
        if isinstance(last, ir.Yield):
            self.typer.spread(last.targets, tuple(map(ir.Name, carried)))
            self.typer.spread(last.targets, last.values)
            types = [self.values[c].type for c in carried]
            values = list(last.values)
            for k, t in enumerate(types[: len(values)]):
                if isinstance(t, ir.ScalarType):
                    values[k] = self.typer.scalars.converted(values[k], t.dtype)
            for k, name in enumerate(last.targets):
                t = types[k] if k < len(types) else ir.OpaqueType("pl.UnknownType")
                self.values[name] = Value(t, place=(name, name, name) if isinstance(t, ir.TileType) else None)
            single = self.values[last.targets[0]].type if len(last.targets) == 1 else None
            out[-1] = replace(last, values=tuple(values), type=single)
        return out

    def branch(self, stmt: ir.If, out: list[ir.Stmt]) -> None:
        """An `if`; the types of its results are those of both branches."""
        condition = self.typer.expression(stmt.condition, out, stmt.span)
        if self.asker.shaper.dtype(condition) is not ir.DType.BOOL:
            found = self.asker.shaper.dtype(condition).value
            from pypto_rw.wording import compared

            told = f"a condition must be BOOL; got {found}"
            raise Refused("condition-dtype", told, stmt.span, help=compared(stmt.condition))
        bodies = [self.typer.block(stmt.body), self.typer.block(stmt.orelse or ())]
        ends = [b[-1] if b and isinstance(b[-1], ir.Yield) else None for b in bodies]
        for end in ends:
            if end is not None:
                self.typer.spread(end.targets, end.values)
        if ends[0] is not None and ends[1] is not None and len(ends[0].values) == len(ends[1].values):
            types = [
                self._merged(n, a, b) for n, a, b in zip(ends[0].targets, ends[0].values, ends[1].values, strict=False)
            ]
            for name, t in zip(ends[0].targets, types, strict=True):
                self.values[name] = Value(t, place=(name, name, name) if isinstance(t, ir.TileType) else None)
            single = types[0] if len(types) == 1 else None
            bodies[0][-1] = replace(ends[0], type=single)
            bodies[1][-1] = replace(ends[1], type=single)
        orelse = tuple(bodies[1]) if stmt.orelse is not None else None
        out.append(replace(stmt, condition=condition, body=tuple(bodies[0]), orelse=orelse))

    def _merged(self, name: str, then: ir.Expr, other: ir.Expr) -> ir.Type:
        """Type of an if's result: that of the first branch, which the second must agree with."""
        types = []
        for value in (then, other):
            found = self.values.get(value.id) if isinstance(value, ir.Name) else None
            types.append(found.type if found is not None else ir.ScalarType(self.asker.shaper.dtype(value)))
        one, two = types
        if (
            type(one) is not type(two)
            or getattr(one, "dtype", None) != getattr(two, "dtype", None)
            or _differ(one, two)
        ):
            from pypto_rw.wording import authors_name, typed_as

            told = authors_name(name, then, other)
            raise Refused(
                "merge-type", f"{told} is {typed_as(one)} after one branch and {typed_as(two)} after the other"
            )
        return types[0]


def _differ(a: ir.Type, b: ir.Type) -> bool:
    """Whether two tiles have different numbers of rows or columns."""
    if not isinstance(a, ir.TileType) or not isinstance(b, ir.TileType):
        return False
    pairs = zip(a.shape, b.shape, strict=False)
    known = [(m.value, n.value) for m, n in pairs if isinstance(m, ir.Int) and isinstance(n, ir.Int)]
    return any(m != n for m, n in known)
