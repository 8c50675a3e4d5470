"""What of a module may be made smaller, and how. An edit need not give a module that compiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypto_rw import ir
from pypto_rw.front.names import substituted
from pypto_rw.records import replace
from pypto_rw.reduction.trees import Path, nodes

Block = tuple[ir.Stmt, ...]


def lists(module: ir.Module) -> Iterator[Path]:
    """Paths of the lists that elements can be taken out of, the largest things first."""
    yield ("functions",)
    blocks = [(*path, name) for path, node in nodes(module) for name in ("body", "orelse") if getattr(node, name, None)]
    yield from sorted(blocks, key=len)
    yield from (("constants",), ("dynamic",))
    for path, node in nodes(module):
        for name in ("params", "args", "kwargs", "attrs", "options", "comments"):
            if getattr(node, name, None):
                yield (*path, name)


def opened(block: Block) -> Iterator[Block]:
    """The block with one of its regions in the place of the statement that holds it."""
    for k, stmt in enumerate(block):
        for inner in _inner(stmt):
            rest = block[k + 1 :]
            if inner and isinstance(last := inner[-1], ir.Yield):  # its values stand for the region's results
                inner, rest = inner[:-1], substituted(rest, dict(zip(last.targets, last.values, strict=False)))
            yield (*block[:k], *inner, *rest)


def _inner(stmt: ir.Stmt) -> Iterator[Block]:
    match stmt:
        case ir.If():
            yield stmt.body
            if stmt.orelse:
                yield stmt.orelse
        case ir.For():
            first = stmt.bounds[0] if len(stmt.bounds) > 1 else ir.Int(0)
            values = {stmt.variable: first, **dict(zip(stmt.carried, stmt.initial, strict=False))}
            yield substituted(stmt.body, values)
        case ir.While():
            yield substituted(stmt.body, dict(zip(stmt.carried, stmt.initial, strict=False)))
        case ir.Scope():
            yield stmt.body


def forwarded(block: Block) -> Iterator[Block]:
    """The block without one of its calls, an operand of which stands for its result."""
    for k, stmt in enumerate(block):
        if isinstance(stmt, ir.Assign) and len(stmt.targets) == 1 and isinstance(stmt.value, ir.Call):
            target = stmt.targets[0]
            for operand in dict.fromkeys(a.id for a in stmt.value.args if isinstance(a, ir.Name)):
                rest = substituted(block[k + 1 :], {target: ir.Name(operand)})
                yield (*block[:k], *rest)


def smaller(node: Any) -> Iterator[Any]:
    """What may stand in the place of an expression, a type, a function, a branch or a module."""
    match node:
        case ir.Module(header=str()):
            yield replace(node, header=None)
        case ir.Function(returns=None):
            return
        case ir.Function():
            yield replace(node, returns=None)
        case ir.If(orelse=tuple()):
            yield replace(node, orelse=None)
        case ir.Binary():
            yield from (node.left, node.right)
        case ir.Unary() | ir.Cast():
            yield node.operand
        case ir.Int():
            for value in dict.fromkeys((0, 1, node.value // 2)):
                if abs(value) < abs(node.value):
                    yield replace(node, value=value)
        case ir.TileType() | ir.TensorType():
            if node.memref is not None:
                yield replace(node, memref=None)
            if node.view is not None:
                yield replace(node, view=None)
