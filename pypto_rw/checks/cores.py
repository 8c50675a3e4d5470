"""Tiles in a memory that the core of their kernel does not have. Source: cross-core.md §1."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic, Severity

CUBE = frozenset(
    {ir.Space.Mat, ir.Space.Left, ir.Space.Right, ir.Space.Acc, ir.Space.Bias, ir.Space.LeftScale, ir.Space.RightScale}
)
"""The memories of the cube core."""
_FOREIGN = {"AIC": frozenset({ir.Space.Vec}), "AIV": CUBE}  # by the function's type, what is the other core's
_OTHER = {"AIC": "AIV", "AIV": "AIC"}


def on_another_core(function: ir.Function, filename: str) -> Iterator[Diagnostic]:
    """A warning of the first tile of a kernel that is in a memory of the other core."""
    foreign = _FOREIGN.get(function.kind or "")
    if foreign is None or function.kind is None:
        return
    for stmt in ir.statements(function.body):
        t = stmt.type if isinstance(stmt, ir.Assign) else None
        if isinstance(t, ir.TileType) and t.space in foreign and isinstance(stmt, ir.Assign):
            core, other = function.kind, _OTHER[function.kind]
            yield Diagnostic(
                "wrong-core",
                f"{stmt.targets[0]} is in {t.space.value}, which {core} kernels do not have",
                stmt.span,
                f"write type=pl.FunctionType.{other}, or InCore: such a kernel runs on the core that its tiles need",
                severity=Severity.warning,
                filename=filename,
                function=function.name,
            )
            return
