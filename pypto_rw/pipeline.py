"""The stages between a parsed module and its lowering, by name and in order.

A stage takes a module and gives one; one with nothing to do gives back the module it got. What a stage needs is
imported only when it has something to do, so that an allocated kernel pays for none of it.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.allocation import needs_plan
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import dataclass, field, replace
from pypto_rw.rulebook import Rulebook


@dataclass(frozen=True, slots=True)
class Task:
    """What a module is compiled for. `notes` receives warnings; `source` is the text that refusals quote."""

    rulebook: Rulebook
    target: str
    planner: str
    filename: str = "<string>"
    source: str = ""
    notes: list[Diagnostic] = field(default_factory=list)


def legalize(module: ir.Module, task: Task) -> ir.Module:
    """The tile-level module in the form the planner reads: index expressions as the reference has them."""
    if not any(needs_plan(f) for f in module.functions):
        return module
    from pypto_rw.simplify import simplify as simplified

    return replace(module, functions=tuple(simplified(f) if needs_plan(f) else f for f in module.functions))


def plan(module: ir.Module, task: Task) -> ir.Module:
    """Every tile in an allocation."""
    if not any(needs_plan(f) for f in module.functions):
        return module
    from pypto_rw.memory import plan as planned  # an allocated kernel does without

    return planned(
        module,
        planner=task.planner,
        target=task.target,
        rulebook=task.rulebook,
        filename=task.filename,
        source=task.source,
        notes=task.notes,
    )


STAGES: dict[str, Callable[[ir.Module, Task], ir.Module]] = {"legalize": legalize, "plan": plan}


def run(module: ir.Module, task: Task, *, until: str | None = None) -> ir.Module:
    """The module after the stages, or after the stage `until`. Raises CompileError for a refused module."""
    for name, stage in STAGES.items():
        module = stage(module, task)
        if name == until:
            break
    return module
