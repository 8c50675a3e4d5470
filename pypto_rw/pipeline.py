"""The stages between a parsed module and its lowering, by name and in order.

A stage takes a module and gives one; one with nothing to do gives back the module it got. What a stage needs is
imported only when it has something to do, so that an allocated kernel pays for none of it.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir, kept
from pypto_rw.allocation import DEVICE, needs_plan
from pypto_rw.authored import is_tensor_level, lacks_types, needs_legal, needs_types
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.options import Options
from pypto_rw.records import dataclass, field, replace
from pypto_rw.rewriting.engine import Engine
from pypto_rw.shaping.unit import windows_and_contexts


@dataclass(frozen=True, slots=True)
class Task:
    """What the stages have at hand. `notes` receives warnings; `source` is the text that refusals quote."""

    engine: Engine
    options: Options
    source: str = ""
    notes: list[Diagnostic] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ready:
    """A module that can be lowered. `unit`: all functions compiled together with it, as far as they went through the
    stages, None where the module has them all. `marks`: fences and cache marks between ranks are still to be added."""

    module: ir.Module
    unit: tuple[ir.Function, ...] | None
    marks: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    """What became of functions, which it keeps alive: the module that can be lowered, and warnings."""

    given: tuple[ir.Function, ...]
    ready: Ready
    notes: tuple[Diagnostic, ...]


def types(module: ir.Module, task: Task) -> ir.Module:
    """Full op names, one call a statement, a type at every variable."""
    if not any(map(needs_types, module.functions)) and not is_tensor_level(module):
        return module
    from pypto_rw.front.stages import typed

    return typed(module, task.engine, filename=task.options.filename, source=task.source)


def legalize(module: ir.Module, task: Task) -> ir.Module:
    """Every op one that the target has, every tile where its ops read it, indices as the reference has them."""
    if any(map(needs_legal, module.functions)):
        from pypto_rw.front.stages import legal

        module = legal(module, task.engine, filename=task.options.filename, source=task.source)
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
        planner=task.options.planner,
        target=task.options.target,
        rulebook=task.engine.rulebook,
        filename=task.options.filename,
        source=task.source,
        notes=task.notes,
    )


STAGES: dict[str, Callable[[ir.Module, Task], ir.Module]] = {"type": types, "legalize": legalize, "plan": plan}


def run(module: ir.Module, task: Task, *, until: str | None = None) -> ir.Module:
    """The module after the stages, or after the stage `until`. Raises CompileError for a refused module."""
    for name, stage in STAGES.items():
        module = stage(module, task)
        if task.options.inspection is not None:
            task.options.inspection.after(name, module)
        if name == until:
            break
    return module


def ready(chosen: ir.Module, unit: tuple[ir.Function, ...] | None, task: Task) -> Ready:
    """The chosen functions of a unit (None: they are all there is) after all stages. Raises CompileError for a refused
    module.

    Where all functions are kept, so is what becomes of them."""
    given = (*chosen.functions, *(unit or ()))
    if not given or task.options.inspection is not None or not all(map(kept.is_kept, given)):
        return staged(chosen, unit, task)
    around = (chosen.name, chosen.dynamic, chosen.header, chosen.prefix, repr(chosen.constants))
    key = ("ready", task.engine.serial, *task.options.told, *around, len(chosen.functions), *map(id, given))
    found: _Kept | None = kept.known(given[0], key)
    if found is None:
        done = staged(chosen, unit, task)
        kept.note(given[0], key, _Kept(given, done, tuple(task.notes)))
        for f in (*done.module.functions, *(done.unit or ())):
            if not kept.is_kept(f):
                kept.adopt(f, sum(1 for _ in ir.statements(f.body)))
        return done
    task.notes.extend(found.notes)
    return found.ready


def staged(chosen: ir.Module, unit: tuple[ir.Function, ...] | None, task: Task, *, until: str | None = None) -> Ready:
    """The chosen functions of a unit (None: they are all there is) after the stages, or after the stage `until`."""
    if unit is None or len(unit) == len(chosen.functions):
        module, marks = _with_windows(chosen, task, until)
        return Ready(module, unit, marks)
    from pypto_rw.tied import with_tied  # only a part of a module needs it

    module, marks = _with_windows(with_tied(chosen, unit, task.engine.rulebook), task, until)
    done = {f.name: f for f in module.functions}
    others = {f.name for f in unit} - {f.name for f in chosen.functions}
    if any(done.get(f.name) != f for f in chosen.functions):  # the stages keep what runs on the host out of a unit
        unit = tuple(f for f in unit if f.name in done or f.kind in DEVICE)
    module = replace(module, functions=tuple(f for f in module.functions if f.name not in others))
    return Ready(module, tuple(done.get(f.name, f) for f in unit), marks)


def _with_windows(module: ir.Module, task: Task, until: str | None) -> tuple[ir.Module, bool]:
    """The module after the stages, its windows with their contexts; whether marks are still to be added."""
    marks = False
    if any(map(_has_windows, module.functions)):
        from pypto_rw.distributed.composites import opened  # only kernels with windows need it

        written = module
        module = opened(module, filename=task.options.filename, source=task.source)
        marks = module is not written
        if not marks and not any(lacks_types(f) or needs_plan(f) for f in module.functions):
            return module, marks  # a pass gave it its contexts after all that the stages do
    names = {f.name for f in module.functions}
    module = run(module, task, until=until)
    if any(f.name not in names and _has_windows(f) for f in module.functions):  # made of scopes
        from pypto_rw.distributed.composites import with_contexts
        from pypto_rw.distributed.deferred import as_waiter

        book = task.engine.rulebook
        made = tuple(f if f.name in names else as_waiter(with_contexts(f), book) for f in module.functions)
        return replace(module, functions=made), True
    return module, marks


def _has_windows(function: ir.Function) -> bool:
    return bool(windows_and_contexts(function)[0])
