"""Runtime scopes of an orchestration that nobody has written out yet. Source: orchestration-overview.md §1."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.records import replace


def scoped(function: ir.Function) -> ir.Function:
    """The function with its runtime scopes written out: around the body, every loop body and every branch."""
    if dict(function.options).get("auto_scope") == ir.Bool(False):
        return function
    if any(
        isinstance(s, ir.Scope) and s.call.callee == "scope" and not s.call.kwargs for s in ir.statements(function.body)
    ):
        return function

    def around(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return (ir.Scope(ir.Call("scope"), inside(body)),) if body else body

    def inside(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(
            replace(s, body=around(s.body))
            if isinstance(s, ir.For | ir.While)
            else replace(s, body=around(s.body), orelse=None if s.orelse is None else around(s.orelse))
            if isinstance(s, ir.If)
            else s
            for s in body
        )

    return replace(function, body=around(function.body))
