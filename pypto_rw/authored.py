"""Whether a function was written by a person: names without a namespace, types or spaces left out. Every compilation
asks, so this is cheap."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.allocation import DEVICE


def is_allocated(function: ir.Function) -> bool:
    """Whether a function comes from after memory planning."""
    first = function.body[0] if function.body else None
    if isinstance(first, ir.Assign) and isinstance(first.value, ir.Call) and first.value.callee == "tile.alloc":
        return True
    if any(isinstance(p.type, ir.TensorType | ir.TileType) and p.type.memref is not None for p in function.params):
        return True
    for s in ir.statements(function.body):
        t = s.type if type(s) is ir.Assign else None
        if type(t) is ir.TileType and t.memref is not None and t.memref.offset is not None:
            return True
    return False


def is_tensor_level(module: ir.Module) -> bool:
    """Whether a module has no kernel, only scopes that another pipeline makes kernels of."""
    return not any(f.kind in DEVICE for f in module.functions) and any(
        isinstance(s, ir.Scope) for f in module.functions for s in f.body
    )


def needs_types(function: ir.Function) -> bool:
    """Whether a device function lacks types or full names, or assigns a name twice."""
    if function.kind not in DEVICE or is_allocated(function):
        return False
    if function.kind == "InCore":
        return True
    return lacks_types(function)


def lacks_types(function: ir.Function) -> bool:
    """Whether a function lacks a type or a full name, or assigns a name that is visible already."""
    return _lacks(function.body, {p.name for p in function.params})


def _lacks(body: tuple[ir.Stmt, ...], seen: set[str]) -> bool:
    """Whether a block lacks a type or a full name, or assigns a name that is visible already."""
    for stmt in body:
        match stmt:
            case ir.Assign() | ir.Evaluate():
                value = stmt.value
                if isinstance(value, ir.Call) and ("." not in value.callee or any(map(_nested, value.args))):
                    return True
                if isinstance(stmt, ir.Assign):
                    if stmt.type is None or (isinstance(stmt.type, ir.TileType) and stmt.type.space is None):
                        return True
                    if not seen.isdisjoint(stmt.targets):
                        return True
                    seen.update(stmt.targets)
            case ir.For() | ir.While():
                if _lacks(stmt.body, set(seen)):
                    return True
            case ir.If():
                if _lacks(stmt.body, set(seen)) or _lacks(stmt.orelse or (), set(seen)):
                    return True
    return False


def needs_legal(function: ir.Function) -> bool:
    """Whether a device function comes from before memory planning and has something to legalize."""
    if function.kind not in DEVICE or is_allocated(function):
        return False
    return function.kind == "InCore" or any(
        isinstance(s, ir.Assign) and isinstance(s.type, ir.TileType | ir.TupleType)
        for s in ir.statements(function.body)
    )


def _nested(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Call) or (isinstance(expr, ir.Tuple) and any(map(_nested, expr.items)))
