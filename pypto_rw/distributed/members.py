"""Signals of a mixed kernel: a notify stays on the core that wrote the data, so that it cannot overtake them.

A mixed kernel is split into a cube member `k_aic` and a vector member `k_aiv`, and what only signals is copied to both.
The copies run independently: the one of the member that wrote nothing would tell the peer of data that are still on
their way, and the peer's counter would move twice. Source: distributed.md §5, §9.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.records import replace
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.values import Refused


def settled(functions: tuple[ir.Function, ...], book: Rulebook) -> tuple[tuple[ir.Function, ...], list[Refusal]]:
    """The functions with every copied notify only in the member it belongs to, and the notifies that have no order."""
    by_name = {f.name: f for f in functions}
    found: list[Refusal] = []
    for cube in functions:
        vector = by_name.get(f"{cube.name.removesuffix('_aic')}_aiv")
        if cube.kind != "AIC" or vector is None or vector.kind != "AIV":
            continue
        pair = (_Member(cube, book), _Member(vector, book))
        if not any(m.signals for m in pair):
            continue
        by_name[cube.name], by_name[vector.name] = (
            replace(m.function, body=_without(m.function.body, _copies(m, other))) for m, other in (pair, pair[::-1])
        )
        for m, other in (pair, pair[::-1]):
            found += _unordered(m, other)
    return tuple(by_name[f.name] for f in functions), found


Refusal = tuple[Refused, str]  # and the function it is in


class _Member:
    """One member: its notifies, what it writes for other ranks, and what stands before each notify."""

    def __init__(self, function: ir.Function, book: Rulebook) -> None:
        self.function = function
        self.signals: list[ir.Call] = []
        self.writes: ir.Call | None = None
        self.joined: set[int] = set()  # the notifies that come after the other core was waited for
        windows = {p.name for p in function.params if _is_window(p.type)}
        waited = False
        for stmt in ir.statements(function.body):
            if isinstance(stmt, ir.Assign | ir.Yield) and stmt.type is not None and _is_window(stmt.type):
                windows.update(stmt.targets)
            call = ir.called(stmt)
            signature = book.signature(call.callee) if call is not None else None
            if call is None or signature is None:
                continue
            waited = waited or signature.trait("awaits-core") is not None
            if signature.trait("notifies") is not None:
                self.signals.append(call)
                if waited:
                    self.joined.add(id(call))
            published = signature.trait("publishes")
            target = dict(zip((p.name for p in signature.parameters), call.args, strict=False))
            if signature.trait("orders") is not None or (
                published and isinstance(n := target.get(published[0]), ir.Name) and n.id in windows
            ):
                self.writes = self.writes or call


def _copies(m: _Member, other: _Member) -> list[ir.Call]:
    """The notifies of `m` that the other member has too, and that belong there: the vector member's, unless only the
    cube member writes for other ranks."""
    one_writes = (m.writes is None) != (other.writes is None)
    keeps = m.writes is not None if one_writes else m.function.kind == "AIV"
    return [] if keeps else [c for c in m.signals if c in other.signals]


def _unordered(m: _Member, other: _Member) -> Iterator[Refusal]:
    """Notifies of `m` that tell of data the other member writes, without having waited for it."""
    if other.writes is None:
        return
    dropped = _copies(m, other)
    for call in m.signals:
        if call not in dropped and id(call) not in m.joined:
            refused = Refused(
                "notify-order",
                f"{call.callee} in {m.function.name} can reach the peer before the data that {other.function.name} "
                f"writes with {other.writes.callee}: the two run on different cores",
                call.span,
                f"notify in {other.function.name}, after the write; or wait for it here first (a pop from it, or "
                "system.sync_wait)",
            )
            yield refused, m.function.name


def _is_window(t: ir.Type) -> bool:
    return isinstance(t, ir.TensorType) and t.distributed


def _without(body: tuple[ir.Stmt, ...], calls: list[ir.Call]) -> tuple[ir.Stmt, ...]:
    if not calls:
        return body
    kept: list[ir.Stmt] = []
    for stmt in body:
        if ir.called(stmt) in calls:
            continue
        match stmt:
            case ir.For() | ir.While() | ir.Scope():
                stmt = replace(stmt, body=_without(stmt.body, calls))
            case ir.If():
                orelse = None if stmt.orelse is None else _without(stmt.orelse, calls)
                stmt = replace(stmt, body=_without(stmt.body, calls), orelse=orelse)
        kept.append(stmt)
    return tuple(kept)
