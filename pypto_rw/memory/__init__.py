"""Memory planning: from a module at tile level to the allocated module that is lowered.

The stages are in their own files: `tree` resolves names, `initial` gives first memories, `aliases` puts carried tiles
in place, `lifetimes` and `intervals` say when memory is in use, `planners` has the three planners, `rebuild` writes
the module. Source: memory-planning.md.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.allocation import needs_plan
from pypto_rw.collector import paused
from pypto_rw.diagnostics import CompileError, Diagnostic
from pypto_rw.memory.facts import Facts, facts_of
from pypto_rw.memory.planners import PLANNERS
from pypto_rw.memory.rebuild import rebuild
from pypto_rw.memory.tree import build
from pypto_rw.records import replace
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.values import Refused


def plan(
    module: ir.Module,
    *,
    planner: str,
    target: str,
    rulebook: Rulebook | None = None,
    filename: str = "<string>",
    source: str = "",
    notes: list[Diagnostic] | None = None,
) -> ir.Module:
    """The module with every tile in an allocation; under `pypto` and `dsa_rp` with addresses.

    `module` has the types and memory spaces of every tile. A function that has allocations already, or is no device
    function, stays as it is. `planner` is `pypto`, `dsa_rp` or `ptoas`, `target` `a2a3` or `a5`; `notes` receives
    warnings. Raises CompileError with the first refusal of each function. Source: memory-planning.md."""
    facts = facts_of(rulebook or Rulebook(), target)
    refused: list[Diagnostic] = []
    functions = []
    found: list[Diagnostic] = []
    for function in module.functions:
        if not needs_plan(function):
            functions.append(function)
            continue
        try:
            functions.append(plan_function(function, planner=planner, facts=facts, notes=found))
        except Refused as error:
            refused.append(error.diagnostic(function.span, filename, function.name))
    if refused:
        raise CompileError(refused, source)
    if notes is not None:
        notes.extend(replace(n, filename=filename) for n in found)
    return replace(module, functions=tuple(functions))


def plan_function(
    function: ir.Function, *, planner: str, facts: Facts, notes: list[Diagnostic] | None = None
) -> ir.Function:
    """One function, planned. Raises Refused."""
    with paused():
        tree = build(function, facts)
        try:
            PLANNERS[planner](tree, notes if notes is not None else [])
            return rebuild(tree)
        finally:
            tree.take_apart()
