"""Branches of a function: what both arms yield is one value afterwards, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE
from pypto_rw.layout import effective_view
from pypto_rw.lowering.nodes import Branch, Merge, yield_span
from pypto_rw.lowering.tiles import signature_of
from pypto_rw.records import replace
from pypto_rw.shaping.operands import Instance, Operand
from pypto_rw.shaping.values import Refused, Value, kind_of

if TYPE_CHECKING:
    from pypto_rw.lowering.walk import Walker


class Branches:
    """The branches of the function that `walker` walks."""

    def __init__(self, walker: Walker) -> None:
        self.walker, self.values, self.shaper, self.tiles = walker, walker.values, walker.shaper, walker.tiles
        self.merged: dict[str, Value] = {}

    def branch(self, stmt: ir.If) -> Branch:
        """`if`, with what it yields."""
        condition = self.walker.condition(stmt.condition)
        then, other = (_split(stmt.body), _split(stmt.orelse)) if stmt.orelse else (_split(stmt.body), ((), None))
        ends = then[1], other[1]
        names = ends[0].targets if ends[0] is not None else ()
        if names and stmt.orelse is None:
            raise Refused("missing-else", "an if with results must have an else")
        values = tuple(e.values if e is not None else () for e in ends)
        if names and len(values[0]) != len(values[1]):
            raise Refused("yield-count", f"the branches yield {len(values[0])} and {len(values[1])} values")
        if names and not self.tiles.addresses:
            self._redirect(stmt, names, values)
        merges = []
        yields: tuple[list[Operand], list[Operand]] = ([], [])
        self.values.enter()
        nodes = self.walker.block(then[0])
        self._yielded(ends[0], yields[0])
        inner = self.values.leave()
        self.values.enter()
        orelse = self.walker.block(other[0]) if stmt.orelse is not None else None
        self._yielded(ends[1], yields[1])
        inner = {**inner, **self.values.leave()}
        self.values.enter()
        for name, value in inner.items():
            self.values[name] = value
        sources = []
        copies: tuple[list[Instance], list[Instance]] = ([], [])
        for k, name in enumerate(names):
            self._one_kind(name, ends, k)
            merges.append(self._merge(name, ends, k))
            self.merged[name] = self.values[name]
            source = values[0][k]
            sources.append(source.id if isinstance(source, ir.Name) else "")
            for branch in (0, 1):
                self._copied(name, values[branch][k], copies[branch])
        self.values.leave()
        for merge in merges:
            self.values[merge.name] = self.merged[merge.name]
        spans = yield_span(stmt.body, stmt.span), yield_span(stmt.orelse or (), stmt.span)
        return Branch(condition, merges, nodes, orelse, yields, sources, copies, stmt.span, spans)

    def _redirect(self, stmt: ir.If, names: tuple[str, ...], values: tuple[tuple[ir.Expr, ...], ...]) -> None:
        """Without addresses a branch's own result writes the merged handle directly."""
        bodies = stmt.body, stmt.orelse or ()
        last = stmt.body[-1]
        for k in range(len(names)):
            first = values[0][k]
            written = last.type if isinstance(last, ir.Yield) and last.type is not None else None
            if written is None and isinstance(first, ir.Name):
                written = self._written(first.id, bodies[0])
            if not isinstance(written, ir.TileType) or written.memref is None:
                continue
            handle: object = self.tiles.identity(written.memref)
            if len(self.tiles.signatures().get(handle, ())) > 1:
                handle = names[k]  # tiles of several types share the bytes: the merged one needs a handle of its own
                self.tiles.redirected[names[k]] = handle
            for branch in (0, 1):
                value = values[branch][k]
                if isinstance(value, ir.Name) and self._computed_in(value.id, bodies[branch]):
                    self.tiles.redirected[value.id] = handle

    def _written(self, name: str, body: tuple[ir.Stmt, ...]) -> ir.Type | None:
        for s in ir.statements(body):
            if isinstance(s, ir.Assign | ir.Yield) and name in s.targets:
                return s.type
        found = self.values.get(name)
        return found.type if found else None

    def _computed_in(self, name: str, body: tuple[ir.Stmt, ...]) -> bool:
        """Whether `name` is the result of an op of this block that makes a tile: no copy, no view, nothing in place."""
        for s in body:
            if isinstance(s, ir.Assign) and name in s.targets and isinstance(s.value, ir.Call):
                signature = self.walker.engine.rulebook.signature(s.value.callee)
                views = ("makes", "makes-window", "in-place")
                return signature is not None and not any(signature.trait(t) for t in views)
        return False

    def _one_kind(self, name: str, ends: tuple[ir.Yield | None, ir.Yield | None], k: int) -> None:
        """Refused: the branches yield values that cannot be one after the `if`."""
        if ends[0] is None or ends[1] is None:
            return
        values = ends[0].values[k], ends[1].values[k]
        found = [self.walker.operand_value(v) for v in values]
        kinds = ["scalar" if f is None else kind_of(f.type) for f in found]
        if kinds[0] != kinds[1]:
            raise Refused(
                "merge-kind",
                f"{name} is {_a(kinds[0])} in one branch and {_a(kinds[1])} in the other",
                ends[1].span,
                "yield values of one kind",
            )
        if kinds[0] == "scalar":
            dtypes = [self.shaper.dtype(v) for v in values]
            if dtypes[0] is not dtypes[1]:
                raise Refused(
                    "merge-dtype",
                    f"{name} is {dtypes[0].value} in one branch and {dtypes[1].value} in the other",
                    ends[1].span,
                    "convert one with pl.cast",
                )
        if kinds[0] == "tensor":
            roots = [f.root for f in found if f is not None and not getattr(f.type, "distributed", False)]
            if len(roots) == 2 and None not in roots and roots[0] != roots[1]:  # windows: see _merge
                raise Refused(
                    "merge-tensor",
                    f"{name} is {roots[0]} in one branch and {roots[1]} in the other: a tensor is chosen before a "
                    "kernel runs",
                    ends[1].span,
                    "write both branches with their own tensor",
                )

    def _copied(self, name: str, value: ir.Expr, out: list[Instance]) -> None:
        """A branch's tile that is somewhere else than the merged handle is copied into it."""
        merged, found = self.values[name], self.walker.operand_value(value)
        if not isinstance(merged.type, ir.TileType) or found is None or not isinstance(value, ir.Name):
            return
        self.walker.require_fixed(found, f"a branch yields {value.id} for {name}, but {value.id}", NOWHERE)
        if not isinstance(found.type, ir.TileType) or signature_of(found.type) != signature_of(merged.type):
            from pypto_rw.wording import authors_name, unlike

            was, other = unlike(merged.type, found.type)
            raise Refused(
                "merge-type",
                f"{authors_name(name, value)} is a tile of {was} after one branch, but of {other} after the other",
                help="yield tiles of one shape, dtype and layout from both branches",
            )
        what = 1 if self.tiles.addresses else 2  # the bytes, or the handle
        if merged.place and found.place and merged.place[what] != found.place[what]:
            out.append(self.shaper.copy(value.id, name))

    def _yielded(self, end: ir.Yield | None, out: list[Operand]) -> None:
        for value in end.values if end is not None else ():
            self.walker.use(value)
            found = self.walker.operand_value(value)
            if found is None or kind_of(found.type) == "scalar":
                out.append(self.shaper.scalar(value))

    def _merge(self, name: str, ends: tuple[ir.Yield | None, ir.Yield | None], k: int) -> Merge:
        then = ends[0]
        assert then is not None
        value = then.values[k]
        found = self.walker.operand_value(value)
        kind = kind_of(found.type) if found is not None else "scalar"
        if kind == "scalar":
            t: ir.Type = ir.ScalarType(self.shaper.dtype(value))
            self.values[name] = Value(t)
            return Merge(name, kind, t)
        assert found is not None
        t = then.type if then.type is not None else found.type
        if not isinstance(t, ir.TileType):
            other = self.walker.operand_value(ends[1].values[k]) if ends[1] is not None else None
            self.walker.one_window(name, found, other, "one branch yields the one, the other the other", then.span)
            self.values[name] = replace(found, type=t)
            return Merge(name, kind, t)
        if t.memref is None:
            raise Refused("tile-without-memory", f"the tile {name} has no allocation")
        merged = self.tiles.of(name, t)
        self.values[name] = merged
        view = effective_view(t)
        narrow = None
        if not all(isinstance(self.shaper.resolved(e), ir.Int) for e in view.valid):
            narrow = self.shaper.narrow(name, merged)
            full = replace(t, view=replace(t.view or ir.TileView(), valid=None))
            merged = replace(merged, type=full)
        return Merge(name, kind, t, self.tiles.alloc(name, merged), narrow)


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _split(body: tuple[ir.Stmt, ...]) -> tuple[tuple[ir.Stmt, ...], ir.Yield | None]:
    last = body[-1] if body else None
    return (body[:-1], last) if isinstance(last, ir.Yield) else (body, None)
