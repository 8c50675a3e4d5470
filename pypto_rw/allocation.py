"""Whether a function has its tiles in allocations already. Cheap: every compilation asks."""

from __future__ import annotations

from pypto_rw import ir

DEVICE = ("AIC", "AIV", "InCore")
_TYPED = (ir.Assign, ir.Yield)
_PLACED = (ir.TileType, ir.TensorType)


def needs_plan(function: ir.Function) -> bool:
    """Whether a device function has a tile that needs an allocation, and none that has one."""
    if function.kind not in DEVICE:
        return False
    if any(_allocated(p.type) for p in function.params):
        return False
    tiles = False
    for stmt in ir.statements(function.body):
        if not isinstance(stmt, _TYPED):
            continue
        t = stmt.type
        if isinstance(t, ir.TileType):
            tiles = True
        if (t is not None and _allocated(t)) or (isinstance(stmt, ir.Assign) and _allocates(stmt.value)):
            return False
    return tiles


def _allocated(t: ir.Type) -> bool:
    memref = t.memref if isinstance(t, _PLACED) else None
    return memref is not None and memref.offset is not None


def _allocates(value: ir.Expr) -> bool:
    return isinstance(value, ir.Call) and value.callee == "tile.alloc"
