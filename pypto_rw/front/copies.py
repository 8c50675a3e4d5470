"""Copies of blocks: every name that a copy defines is its own."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.front.names import replaced
from pypto_rw.records import replace


def defined(body: tuple[ir.Stmt, ...]) -> list[str]:
    """Every name that a block defines, blocks inside it included; a name of several branches more than once."""
    out: list[str] = []
    for stmt in ir.statements(body):
        match stmt:
            case ir.Assign() | ir.Yield():
                out += stmt.targets
            case ir.For():
                out += (stmt.variable, *stmt.carried)
            case ir.While():
                out += stmt.carried
    return out


def copied(body: tuple[ir.Stmt, ...], own: dict[str, str]) -> tuple[ir.Stmt, ...]:
    """A block with every name it defines renamed."""

    def new(name: str) -> str:
        return own.get(name, name)

    def copy(stmt: ir.Stmt) -> ir.Stmt:
        read = replaced(stmt, lambda n: ir.Name(new(n)))
        match read:
            case ir.Assign() | ir.Yield():
                return replace(read, targets=tuple(map(new, read.targets)))
            case ir.For():
                body = tuple(map(copy, stmt.body))  # type: ignore[union-attr]
                return replace(read, variable=new(read.variable), carried=tuple(map(new, read.carried)), body=body)
            case ir.While():
                body = tuple(map(copy, stmt.body))  # type: ignore[union-attr]
                return replace(read, carried=tuple(map(new, read.carried)), body=body)
            case ir.If():
                assert isinstance(stmt, ir.If)
                orelse = None if stmt.orelse is None else tuple(map(copy, stmt.orelse))
                return replace(read, body=tuple(map(copy, stmt.body)), orelse=orelse)
        return read

    return tuple(map(copy, body))
