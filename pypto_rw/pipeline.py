"""The stages between a parsed module and its lowering, by name and in order.

A stage takes a module and gives one; one with nothing to do gives back the module it got. What a stage needs is
imported only when it has something to do, so that an allocated kernel pays for none of it.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.allocation import needs_plan
from pypto_rw.authored import is_tensor_level, needs_legal, needs_types
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import dataclass, field, replace
from pypto_rw.rewriting.engine import Engine


@dataclass(frozen=True, slots=True)
class Task:
    """What a module is compiled for. `notes` receives warnings; `source` is the text that refusals quote.

    `after` is shown the module after each stage."""

    engine: Engine
    target: str
    planner: str
    filename: str = "<string>"
    source: str = ""
    notes: list[Diagnostic] = field(default_factory=list)
    after: Callable[[str, ir.Module], None] | None = None


def types(module: ir.Module, task: Task) -> ir.Module:
    """Full op names, one call a statement, a type at every variable."""
    if not any(map(needs_types, module.functions)) and not is_tensor_level(module):
        return module
    from pypto_rw.front.stages import typed

    return typed(module, task.engine, filename=task.filename, source=task.source)


def legalize(module: ir.Module, task: Task) -> ir.Module:
    """Every op one that the target has, every tile where its ops read it, indices as the reference has them."""
    if any(map(needs_legal, module.functions)):
        from pypto_rw.front.stages import legal

        module = legal(module, task.engine, filename=task.filename, source=task.source)
    unplanned = [needs_plan(f) for f in module.functions]
    if not any(unplanned):
        return module
    from pypto_rw.simplify import simplify as simplified

    functions = zip(module.functions, unplanned, strict=True)
    return replace(module, functions=tuple(simplified(f) if needed else f for f, needed in functions))


def plan(module: ir.Module, task: Task) -> ir.Module:
    """Every tile in an allocation."""
    if not any(needs_plan(f) for f in module.functions):
        return module
    from pypto_rw.memory import plan as planned  # an allocated kernel does without

    return planned(
        module,
        planner=task.planner,
        target=task.target,
        rulebook=task.engine.rulebook,
        filename=task.filename,
        source=task.source,
        notes=task.notes,
    )


STAGES: dict[str, Callable[[ir.Module, Task], ir.Module]] = {"type": types, "legalize": legalize, "plan": plan}


def run(module: ir.Module, task: Task, *, until: str | None = None) -> ir.Module:
    """The module after the stages, or after the stage `until`. Raises CompileError for a refused module."""
    for name, stage in STAGES.items():
        module = stage(module, task)
        if task.after is not None:
            task.after(name, module)
        if name == until:
            break
    return module
