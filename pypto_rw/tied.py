"""Functions that must go through the stages together: those that set up pipes share buffers and regions.

Compiling some functions of a module gives the same text as compiling all of them.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.records import replace
from pypto_rw.rewriting.rulebook import Rulebook


def with_tied(module: ir.Module, unit: tuple[ir.Function, ...], rulebook: Rulebook) -> ir.Module:
    """`module` with the functions of `unit` that set up pipes, if one of its own does; in the order of `unit`."""
    chosen = {f.name for f in module.functions}
    if len(chosen) == len(unit) or not any(_sets_up(f, rulebook) for f in module.functions):
        return module
    return replace(module, functions=tuple(f for f in unit if f.name in chosen or _sets_up(f, rulebook)))


def _sets_up(function: ir.Function, rulebook: Rulebook) -> bool:
    """Whether a function has a call that belongs to the set-up of a kernel: `(prologue op)`."""
    for stmt in ir.statements(function.body):
        if (call := ir.called(stmt)) is not None:
            name = call.callee if "." in call.callee else f"system.{call.callee}"
            signature = rulebook.signature(name) if name.startswith("system.") else None
            if signature is not None and signature.trait("prologue") is not None:
                return True
    return False
