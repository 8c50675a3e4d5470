"""The pipeline, read top to bottom: text, module, types, legal module, plan, text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.allocation import DEVICE, needs_plan
from pypto_rw.assembler import assembler_warnings
from pypto_rw.authored import is_allocated, lacks_types
from pypto_rw.collector import paused
from pypto_rw.diagnostics import CompileError, Diagnostic, InternalError, Severity
from pypto_rw.lowering.module import lower_module
from pypto_rw.lowering.printer import Settings
from pypto_rw.pipeline import STAGES, Task, run
from pypto_rw.records import dataclass, replace
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.shelf import Shelf, state
from pypto_rw.shaping.unit import windows_and_contexts
from pypto_rw.syntax import parse

if TYPE_CHECKING:
    from pathlib import Path

    from pypto_rw.lowering.inspection import Inspection
    from pypto_rw.wrapper import Built

TARGETS = {"a2a3": "a2a3", "a3": "a2a3", "Ascend910B": "a2a3", "a5": "a5", "Ascend950": "a5"}
PLANNERS = ("pypto", "dsa_rp", "ptoas")
ASSEMBLERS = ("0.57", "0.60")


@dataclass(frozen=True, slots=True)
class Lowered:
    """What `lower` gives: the MLIR text, diagnostics that did not refuse the input (warnings, notes), and the rules
    that were asked."""

    mlir: str
    diagnostics: tuple[Diagnostic, ...] = ()
    module: ir.Module | None = None
    rulebook: Rulebook | None = None


@dataclass(frozen=True, slots=True)
class Staged:
    """What `stop_after` gives: the module, its `.pyir` text, and warnings."""

    pyir: str
    diagnostics: tuple[Diagnostic, ...]
    module: ir.Module
    rulebook: Rulebook


def lower(
    source: str,
    *,
    filename: str = "<string>",
    target: str = "a2a3",
    planner: str = "pypto",
    ptoas: str = "0.57",
    reference: bool = False,
    loc: bool = True,
    rules: Sequence[str | Path] = (),
    functions: Sequence[str] | None = None,
    assembler_checks: bool = True,
    emit_tile_addr: bool | None = None,
    inspection: Inspection | None = None,
) -> Lowered:
    """Lower textual PyPTO IR to PTO-ISA MLIR.

    `source` is the text of one `.pyir` file; `filename` names it in diagnostics and locations. `target` is `a2a3`
    or `a5` (or a synonym), `planner` `pypto`, `dsa_rp` or `ptoas` (no addresses), `ptoas` the assembler's version the
    text is for. `reference` prints what the reference build prints. `loc` puts source places on op lines. `rules` are
    folders searched before the built-in rules. `functions` limits the output to these. `emit_tile_addr` says whether
    `pto.alloc_tile` carries an address; None: as the planner has it, that is with `pypto` and `dsa_rp`.
    `assembler_checks` puts what the assembler would refuse into the result's diagnostics, as warnings.
    `inspection` says which rules take part and is shown what they do; nothing of such a run is kept.

    Raises CompileError for an input that is refused, ValueError for an option out of range, InternalError for a fault
    of the compiler itself. Source: design §6.
    """
    _require(target, planner, ptoas)
    addresses = planner != "ptoas" if emit_tile_addr is None else emit_tile_addr
    settings = Settings(TARGETS[target], addresses, loc, reference, filename, inspection=inspection)
    with paused():
        whole = _read(source, filename)
        chosen = _chosen(whole, functions, filename)
        unit = whole.functions if functions is not None else None
        return _compiled(
            chosen, settings, planner, rules, source, unit=unit, ptoas=ptoas, assembler_checks=assembler_checks
        )


def stop_after(
    source: str,
    *,
    stage: str,
    filename: str = "<string>",
    target: str = "a2a3",
    planner: str = "pypto",
    reference: bool = False,
    rules: Sequence[str | Path] = (),
    functions: Sequence[str] | None = None,
    inspection: Inspection | None = None,
) -> Staged:
    """The module after the stage `stage` (pipeline.STAGES), as `.pyir`; other arguments as for `lower`.

    The text reads back as the same module, and lowers to the same `.pto` but for source places. Raises as `lower`."""
    from pypto_rw.syntax import write  # only this function prints modules

    if stage not in STAGES:
        raise ValueError(f"unknown stage {stage!r}; known: {', '.join(STAGES)}")
    _require(target, planner, ASSEMBLERS[0])
    settings = Settings(TARGETS[target], planner != "ptoas", False, reference, filename, inspection=inspection)
    whole = _read(source, filename)
    chosen = _chosen(whole, functions, filename)
    with paused(), _engine(settings, rules) as engine:
        after = inspection.after if inspection is not None else None
        task = Task(engine, settings.target, planner, filename, source, after=after)
        module, _, _ = _ready_of(chosen, whole.functions, settings, task, until=stage)
    return Staged(write(module), tuple(task.notes), module, engine.rulebook)


def _read(source: str, filename: str) -> ir.Module:
    """The module of a text, its constants in their places."""
    module = parse(source, filename=filename)
    if not module.constants:
        return module
    from pypto_rw.front.constants import with_constants

    return with_constants(module, filename=filename, source=source)


def _chosen(module: ir.Module, functions: Sequence[str] | None, filename: str) -> ir.Module:
    if functions is None:
        return module
    known = {f.name for f in module.functions}
    if missing := [f for f in functions if f not in known]:
        raise ValueError(f"no function {missing[0]} in {filename}; it has {', '.join(sorted(known))}")
    return replace(module, functions=tuple(f for f in module.functions if f.name in set(functions)))


def _ready(
    module: ir.Module, settings: Settings, task: Task, *, until: str | None = None
) -> tuple[ir.Module, Settings]:
    """The module after the stages (or after the stage `until`), and the settings it is printed with."""
    if any(windows_and_contexts(f)[0] for f in module.functions):
        from pypto_rw.distributed.composites import (  # only kernels with windows need it
            composite,
            expanded,
            with_contexts,
        )

        if any(map(composite, module.functions)):
            module = expanded(module, filename=task.filename, source=task.source)
            settings = replace(settings, marks=True)
        elif (made := tuple(map(with_contexts, module.functions))) != module.functions:
            module = replace(module, functions=made)
            settings = replace(settings, marks=True)
        elif not any(lacks_types(f) or needs_plan(f) for f in module.functions):
            return module, settings  # a pass gave it its contexts after all that the stages do
    written = {f.name for f in module.functions}
    module = run(module, task, until=until)
    if any(windows_and_contexts(f)[0] for f in module.functions if f.name not in written):  # made of scopes
        from pypto_rw.distributed.composites import with_contexts
        from pypto_rw.distributed.deferred import as_waiter

        book = task.engine.rulebook
        made = tuple(f if f.name in written else as_waiter(with_contexts(f), book) for f in module.functions)
        return replace(module, functions=made), replace(settings, marks=True)
    return module, settings


def _ready_of(
    chosen: ir.Module,
    unit: tuple[ir.Function, ...] | None,
    settings: Settings,
    task: Task,
    *,
    until: str | None = None,
) -> tuple[ir.Module, tuple[ir.Function, ...] | None, Settings]:
    """The chosen functions after the stages, all functions of the unit as far as they went through them, and the
    settings they are printed with."""
    if unit is None or len(unit) == len(chosen.functions):
        module, settings = _ready(chosen, settings, task, until=until)
        return module, unit, settings
    from pypto_rw.tied import with_tied  # only a part of a module needs it

    module, settings = _ready(with_tied(chosen, unit, task.engine.rulebook), settings, task, until=until)
    done = {f.name: f for f in module.functions}
    others = {f.name for f in unit} - {f.name for f in chosen.functions}
    if any(done.get(f.name) != f for f in chosen.functions):  # the stages keep what runs on the host out of a unit
        unit = tuple(f for f in unit if f.name in done or f.kind in DEVICE)
    module = replace(module, functions=tuple(f for f in module.functions if f.name not in others))
    return module, tuple(done.get(f.name, f) for f in unit), settings


def _compiled(
    module: ir.Module,
    settings: Settings,
    planner: str,
    rules: Sequence[str | Path],
    source: str,
    *,
    unit: tuple[ir.Function, ...] | None = None,
    ptoas: str,
    assembler_checks: bool = True,
) -> Lowered:
    """A parsed module through the stages, as text, with what the assembler would refuse of it.

    `unit`: all functions compiled together, where `module` has only some."""
    given = {f.name for f in module.functions if f.kind in DEVICE and is_allocated(f) and not needs_plan(f)}
    try:
        with paused(), _engine(settings, rules) as engine:
            after = settings.inspection.after if settings.inspection is not None else None
            task = Task(engine, settings.target, planner, settings.filename, source, after=after)
            module, unit, settings = _ready_of(module, unit, settings, task)
            text, printed = lower_module(module, engine, settings, source, unit=unit)
            found = assembler_warnings(
                printed,
                engine,
                target=settings.target,
                ptoas=ptoas,
                planned=settings.addresses,
                filename=settings.filename,
                checks=assembler_checks,
            )
        if any(d.severity is Severity.error for d in found):
            raise CompileError(found, source)
        shared = _shared_bytes(module, given, settings, engine) if given else []
        return Lowered(text, (*task.notes, *shared, *found), module, engine.rulebook)
    except (CompileError, InternalError, KeyboardInterrupt):
        raise
    except RecursionError as error:
        raise InternalError("an expression is nested too deeply") from error


def _shared_bytes(module: ir.Module, given: set[str], settings: Settings, engine: Engine) -> list[Diagnostic]:
    """Warnings of tiles that are needed at once and share bytes, in the functions that came with their addresses."""
    from pypto_rw.colive import suspect

    def in_place(op: str) -> bool:
        signature = engine.rulebook.signature(op)
        return signature is not None and (signature.trait("inherits") or signature.trait("in-place")) is not None

    functions = (f for f in module.functions if f.name in given)
    found = tuple(f for f in functions if suspect(f, in_place, addresses=settings.addresses))
    if not found:
        return []
    from pypto_rw.memory.verify import verify_plan  # a right plan does without

    wrong = verify_plan(
        replace(module, functions=found),
        planner="pypto" if settings.addresses else "ptoas",
        target=settings.target,
        rulebook=engine.rulebook,
        filename=settings.filename,
    )
    help = "give the two tiles addresses that do not overlap"
    return [
        replace(d, code="overlapping-live-tiles", help=help, severity=Severity.warning)
        for d in wrong
        if d.code == "plan-overlap"
    ]


def build(
    source: str,
    output: str | Path,
    *,
    filename: str = "<string>",
    target: str = "a2a3",
    planner: str = "pypto",
    ptoas: str | Path | None = None,
    ptoas_version: str = "0.57",
    skip_ptoas: bool = False,
    dump_ptoas_passes: bool = False,
    runtime: str = "tensormap_and_ringbuffer",
    reference: bool = False,
    loc: bool | None = None,
    rules: Sequence[str | Path] = (),
    progress: Callable[[int, int, str], None] | None = None,
) -> Built:
    """Build the program `source`: `.pto`, the assembler's C++ in kernel sources, orchestrations, `kernel_config.py`.

    `output` is the folder for all of it, made if it is not there; another build into it waits. `ptoas` is the
    assembler (else under `PTOAS_ROOT`, else on `PATH`), `ptoas_version` the one the text is for; `skip_ptoas` stops at
    the `.pto` of each kernel. `dump_ptoas_passes` keeps what the assembler prints after each of its passes under
    `ptoas_passes/`. `loc` None: places on op lines unless `PYPTO_EMIT_PTO_LOC` is 0, false, no or off. `progress` is
    called with how many units are done, how many there are, and the last one's name. The others: as for `lower`.

    Raises BuildError (a CompileError) where functions failed, after the others have been written; CompileError for a
    program that cannot be built at all, ValueError for an option out of range, FileNotFoundError without an assembler,
    OSError for a folder that cannot be written. Source: kernel-wrapper.md.
    """
    from pathlib import Path

    from pypto_rw import wrapper  # only a build needs these

    _require(target, planner, ptoas_version)
    if loc is None:
        loc = os.environ.get("PYPTO_EMIT_PTO_LOC", "").strip().lower() not in ("0", "false", "no", "off")
    settings = Settings(TARGETS[target], planner != "ptoas", loc, reference, filename)
    wanted = wrapper.Runtime.named(runtime)
    assembler = None
    if not skip_ptoas:
        assembler = wrapper.Assembler(wrapper.locate(ptoas), settings.target, settings.addresses)
    plan = wrapper.Plan(
        lambda module: _accepted(module, settings, planner, rules, source, ptoas_version),
        assembler,
        settings.target,
        wanted,
        dump_ptoas_passes,
        reference,
        filename,
        Path() if filename.startswith("<") else Path(filename).absolute().parent,
        progress,
    )
    return wrapper.build(_read(source, filename), source, Path(output), plan)


def _accepted(
    module: ir.Module, settings: Settings, planner: str, rules: Sequence[str | Path], source: str, ptoas: str
) -> str:
    """The text of a unit that the assembler takes. CompileError for another, but for one made to compare with the
    reference build."""
    checks = not settings.reference
    done = _compiled(module, settings, planner, rules, source, ptoas=ptoas, assembler_checks=checks)
    if any(d.severity is Severity.warning for d in done.diagnostics):
        raise CompileError(as_errors(done.diagnostics), source)
    return done.mlir


def check(
    source: str,
    *,
    filename: str = "<string>",
    target: str = "a2a3",
    planner: str = "pypto",
    ptoas: str = "0.57",
    reference: bool = False,
    loc: bool = True,
    rules: Sequence[str | Path] = (),
    functions: Sequence[str] | None = None,
    assembler_checks: bool = True,
    emit_tile_addr: bool | None = None,
) -> tuple[Diagnostic, ...]:
    """Every diagnostic of `source`, errors included; arguments as for `lower`. What the assembler would refuse is an
    error here, and so is what the verifier finds in the text: tiles that overlap or leave their memory, windows outside
    their tensor or tile, tiles read before they are written. Raises nothing for a refused input."""
    try:
        lowered = lower(
            source,
            filename=filename,
            target=target,
            planner=planner,
            ptoas=ptoas,
            reference=reference,
            rules=rules,
            functions=functions,
            assembler_checks=assembler_checks,
            emit_tile_addr=emit_tile_addr,
        )
    except CompileError as error:
        return as_errors(error.diagnostics)
    from pypto_rw.verifier import verify as verified
    from pypto_rw.verifier.authored import at_author

    addresses = planner != "ptoas" if emit_tile_addr is None else emit_tile_addr
    printed = "pypto" if addresses else "ptoas"  # the verifier asks whether tiles have addresses
    found = verified(lowered.mlir, target=TARGETS[target], planner=printed, ptoas=ptoas, filename=filename)
    told = {d.span.line for d in lowered.diagnostics}
    same = {d.code for d in lowered.diagnostics} & {"overlapping-live-tiles"}  # told where the tile is written
    more = (d for d in at_author(found, lowered.mlir, source) if d.span.line not in told and d.code not in same)
    every = sorted([*lowered.diagnostics, *more], key=lambda d: (d.span.line, d.span.column))
    return as_errors(every)


def as_errors(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The same diagnostics with every warning an error, as `check`, `build` and `-Werror` take them."""
    return tuple(replace(d, severity=Severity.error) if d.severity is Severity.warning else d for d in diagnostics)


def verify(
    text: str,
    *,
    target: str = "a2a3",
    planner: str = "pypto",
    ptoas: str = "0.57",
    filename: str = "<string>",
) -> list[Diagnostic]:
    """What is wrong with a `.pto` text from anywhere: names, types, dominance, regions, extents, addresses, and all
    that the assembler refuses; in the order of the text.

    Arguments as for `lower`; `planner` ptoas means that the text has no addresses. A diagnostic of the assembler's
    rules has their ids in `rule`. Raises nothing for a wrong text. Source: design §8."""
    from pypto_rw.assembler import verify_text
    from pypto_rw.verifier import verify as verified  # only this function needs the reader of .pto
    from pypto_rw.verifier.twins import told_once

    _require(target, planner, ptoas)
    chip = TARGETS[target]
    found = verified(text, target=chip, planner=planner, ptoas=ptoas, filename=filename)
    planned = planner != "ptoas"
    assembler = verify_text(text, Rulebook(), target=chip, ptoas=ptoas, planned=planned, filename=filename)
    return told_once(found, assembler)


def _require(target: str, planner: str, ptoas: str) -> None:
    if target not in TARGETS:
        raise ValueError(f"unknown target {target!r}; known: {', '.join(TARGETS)}")
    if planner not in PLANNERS:
        raise ValueError(f"unknown planner {planner!r}; known: {', '.join(PLANNERS)}")
    if ptoas not in ASSEMBLERS:
        raise ValueError(f"unknown assembler version {ptoas!r}; known: {', '.join(ASSEMBLERS)}")


# Idle ones, with the state of the rules they were made for; a shape is rewritten once a process.
_engines: dict[tuple[str, ...], tuple[str, Engine]] = {}
_MOST_SHAPES = 20_000  # an engine may remember


def forget() -> None:
    """Drop the engines that are kept for the next call. The thread that made them must do it."""
    _engines.clear()


@contextmanager
def _engine(settings: Settings, rules: Sequence[str | Path]) -> Iterator[Engine]:
    """An engine that nobody else uses meanwhile, for the rules as they are now."""
    facts = (
        "(addresses)" if settings.addresses else "(no-addresses)",
        "(as-reference)" if settings.reference else "(as-specified)",
    )
    if (shown := settings.inspection) is not None:
        rulebook = Rulebook(tuple(rules))
        shown.selection.require(rulebook)
        shown.engine = Engine(
            rulebook, target=settings.target, facts=facts, selection=shown.selection, watch=shown.watch
        )
        yield shown.engine
        return
    folders = tuple(os.fspath(f) for f in rules)
    key = (*folders, settings.target, *facts)
    known = state(folders)
    made_for, engine = _engines.pop(key, ("", None))
    if engine is None or made_for != known:
        engine = Engine(
            Rulebook(folders), target=settings.target, facts=facts, shelf=Shelf(known, (settings.target, *facts))
        )
    try:
        yield engine
    finally:
        engine.save()
    if engine.size < _MOST_SHAPES:  # and it did not fail
        _engines[key] = known, engine
