"""Refusals of ops that no rule file declares: imported only where one is made."""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.rewriting.declared import FAMILIES
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.values import Refused, Value, kind_name

NAMES = "`pypto-rw rules list` names every operation"


def no_op(call: ir.Call, book: Rulebook, lookup: Callable[[str], Value | None]) -> Refused:
    """The refusal of a call whose op has no signature."""
    op = call.callee
    elsewhere = next((s.path for s in book.ops() if s.op == op), None)
    if elsewhere is not None:
        return Refused(
            "unknown-op",
            f"{op} is declared in {elsewhere}, where nobody looks for it",
            call.span,
            f"name the file {op.replace('.', '/')}.egg in its rules folder",
        )
    if op.startswith("self."):
        return Refused(
            "unknown-op",
            f"a kernel cannot call another function of the program: {op}",
            call.span,
            "write the statements of that function here, in place of the call",
        )
    full = None if "." in op else full_name(op, book)
    if full is not None:
        return Refused(
            "unknown-op",
            f"pl.{op} is no full name of an operation: a function with allocations is taken as planned, and its "
            "operations have full names",
            call.span,
            f"write pl.{full}, or drop every pl.tile.alloc and pl.MemRef, so that the memory is planned",
        )
    operands = (lookup(a.id) for a in call.args if isinstance(a, ir.Name))
    types = ", ".join(kind_name(v.type) for v in operands if v is not None)
    return Refused(
        "unknown-op",
        f"no codegen registered: no rule lowers {op}" + (f" of {types}" if types else ""),
        call.span,
        _nearest(op, book),
    )


def full_name(op: str, book: Rulebook) -> str | None:
    """The op that a name without a namespace may mean."""
    known = (f"{family}.{op}" for family in FAMILIES)
    return next((name for name in known if name == "tile.alloc" or book.op_file(name) is not None), None)


def _nearest(op: str, book: Rulebook) -> str:
    file = book.file(op.replace(".", "/"))
    if file is not None:
        return f'{file.name}.egg has no (signature "{op}" "…") or (operands "{op}" "…")'
    near = ", ".join(book.nearest(op))
    return f"the nearest ops are {near}" if near else NAMES
