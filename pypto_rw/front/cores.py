"""Which core a kernel runs on: its tiles tell. A kernel typed InCore becomes AIC (cube) or AIV (vector)."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.checks.cores import CUBE
from pypto_rw.records import replace
from pypto_rw.shaping.values import Refused


def placed_on_core(function: ir.Function) -> ir.Function:
    """`function` as an AIC or AIV sub-worker. Raises Refused for a kernel that needs both cores."""
    if function.kind != "InCore":
        return function
    cube: ir.Assign | ir.Yield | None = None
    vector: ir.Assign | ir.Yield | None = None
    for stmt in ir.statements(function.body):
        if not isinstance(stmt, ir.Assign | ir.Yield):
            continue
        if isinstance(stmt.type, ir.TileType) and stmt.type.space is not None:
            if stmt.type.space in CUBE:
                cube = cube or stmt
            else:
                vector = vector or stmt
    if cube and vector:
        raise Refused(
            "mixed-kernel",
            f"{function.name} uses both cores: {cube.targets[0]} is a cube tile, {vector.targets[0]} a vector tile; "
            "splitting such a kernel needs the tensor-level pipeline, which this compiler does not have",
            max(cube.span, vector.span, key=lambda s: s.line),
            "write an AIC and an AIV function that exchange tiles with pl.tpush_to_… and pl.tpop_from_…",
        )
    core = "AIC" if cube else "AIV"
    options = (("level", ir.Symbol(f"Level.{core}")), ("role", ir.Symbol("Role.SubWorker")))
    return replace(function, kind=core, options=options, self_=False)
