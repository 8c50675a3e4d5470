"""The pipeline, read top to bottom: text, module, types, legal module, plan, text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pypto_rw import ir, kept
from pypto_rw.allocation import DEVICE, needs_plan
from pypto_rw.assembler import assembler_warnings
from pypto_rw.authored import is_allocated, lacks_types
from pypto_rw.collector import paused
from pypto_rw.diagnostics import CompileError, Diagnostic, InternalError, Severity
from pypto_rw.lowering.module import lower_module
from pypto_rw.options import Options
from pypto_rw.pipeline import STAGES, Task, ready, staged
from pypto_rw.records import dataclass, replace
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.shelf import Shelf, state
from pypto_rw.syntax import parse

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from pypto_rw.inspection import Inspection
    from pypto_rw.options import Given
    from pypto_rw.wrapper import Built


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
    options = Options.of(
        filename=filename,
        target=target,
        planner=planner,
        ptoas=ptoas,
        reference=reference,
        loc=loc,
        rules=rules,
        functions=functions,
        assembler_checks=assembler_checks,
        emit_tile_addr=emit_tile_addr,
        inspection=inspection,
    )
    return lowered(source, options)


def lowered(source: str, options: Options) -> Lowered:
    """`lower`, for one who has the options already."""
    with paused():
        return _lowered(source, options)


def _lowered(source: str, options: Options) -> Lowered:
    """A function of its own, so that what it read is gone before the collector looks at what is left."""
    whole = _read(source, options.filename)
    unit = whole.functions if options.functions is not None else None
    return _compiled(_chosen(whole, options), options, source, unit=unit)


def stop_after(source: str, *, stage: str, **given: Unpack[Given]) -> Staged:
    """The module after the stage `stage` (pipeline.STAGES), as `.pyir`; other arguments as for `lower`.

    The text reads back as the same module, and lowers to the same `.pto` but for source places. Raises as `lower`."""
    from pypto_rw.syntax import write  # only this function prints modules

    if stage not in STAGES:
        raise ValueError(f"unknown stage {stage!r}; known: {', '.join(STAGES)}")
    options = Options.of(**given)
    whole = _read(source, options.filename)
    chosen = _chosen(whole, options)
    with paused(), _engine(options) as engine:
        task = Task(engine, options, source)
        module = staged(chosen, whole.functions, task, until=stage).module
    return Staged(write(module), tuple(task.notes), module, engine.rulebook)


def _read(source: str, filename: str) -> ir.Module:
    """The module of a text, its constants in their places."""
    module = parse(source, filename=filename)
    if not module.constants:
        return module
    from pypto_rw.front.constants import with_constants

    return with_constants(module, filename=filename, source=source)


def _chosen(module: ir.Module, options: Options) -> ir.Module:
    if options.functions is None:
        return module
    known = {f.name for f in module.functions}
    if missing := [f for f in options.functions if f not in known]:
        raise ValueError(f"no function {missing[0]} in {options.filename}; it has {', '.join(sorted(known))}")
    return replace(module, functions=tuple(f for f in module.functions if f.name in set(options.functions)))


def _compiled(
    module: ir.Module, options: Options, source: str, *, unit: tuple[ir.Function, ...] | None = None
) -> Lowered:
    """A parsed module through the stages, as text, with what the assembler would refuse of it.

    `unit`: all functions compiled together, where `module` has only some."""
    given = {f.name for f in module.functions if kept.once(f, "planned", _is_planned)}
    try:
        with paused(), _engine(options) as engine:
            task = Task(engine, options, source)
            done = ready(module, unit, task)
            printed = lower_module(done.module, engine, options, source, unit=done.unit, marks=done.marks)
            found = assembler_warnings(
                printed.functions,
                engine,
                target=options.target,
                ptoas=options.ptoas,
                planned=options.addresses,
                filename=options.filename,
                checks=options.assembler_checks,
            )
        if any(d.severity is Severity.error for d in found):
            raise CompileError(found, source)
        shared = _shared_bytes(done.module, given, options, engine) if given else []
        warned = _of_authors(printed.notes, module) if options.assembler_checks else ()
        notes = (*task.notes, *warned, *shared, *found)
        return Lowered(printed.text, notes, done.module, engine.rulebook)
    except (CompileError, InternalError, KeyboardInterrupt):
        raise
    except RecursionError as error:
        raise InternalError("an expression is nested too deeply") from error


def _of_authors(notes: Sequence[Diagnostic], module: ir.Module) -> Sequence[Diagnostic]:
    """Warnings without those that are no mistake in a dump: its passes read an updated tile by its first name."""
    if not any(n.code == "overwritten-operand" for n in notes):
        return notes
    dumped = {f.name for f in module.functions if not lacks_types(f)}
    return [n for n in notes if n.code != "overwritten-operand" or n.function not in dumped]


def _is_planned(function: ir.Function) -> bool:
    """Whether a device function came with its tiles in allocations."""
    return function.kind in DEVICE and is_allocated(function) and not needs_plan(function)


def _shared_bytes(module: ir.Module, given: set[str], options: Options, engine: Engine) -> list[Diagnostic]:
    """Warnings of tiles that are needed at once and share bytes, in the functions that came with their addresses."""
    from pypto_rw.colive import suspect

    def in_place(op: str) -> bool:
        signature = engine.rulebook.signature(op)
        return signature is not None and (signature.trait("inherits") or signature.trait("in-place")) is not None

    def suspected(function: ir.Function) -> bool:
        return suspect(function, in_place, addresses=options.addresses)

    key = ("suspect", engine.serial, options.addresses)
    found = tuple(f for f in module.functions if f.name in given and kept.once(f, key, suspected))
    if not found:
        return []
    from pypto_rw.memory.verify import verify_plan  # a right plan does without

    wrong = verify_plan(
        replace(module, functions=found),
        planner=options.seen_planner,
        target=options.target,
        rulebook=engine.rulebook,
        filename=options.filename,
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

    if loc is None:
        loc = os.environ.get("PYPTO_EMIT_PTO_LOC", "").strip().lower() not in ("0", "false", "no", "off")
    options = Options.of(
        filename=filename,
        target=target,
        planner=planner,
        ptoas=ptoas_version,
        reference=reference,
        loc=loc,
        rules=rules,
        assembler_checks=not reference,
    )
    wanted = wrapper.Runtime.named(runtime)
    assembler = None
    if not skip_ptoas:
        assembler = wrapper.Assembler(wrapper.locate(ptoas), options.target, options.addresses)
    plan = wrapper.Plan(
        lambda module: _accepted(module, options, source),
        assembler,
        options.target,
        wanted,
        dump_ptoas_passes,
        reference,
        filename,
        Path() if filename.startswith("<") else Path(filename).absolute().parent,
        progress,
    )
    return wrapper.build(_read(source, filename), source, Path(output), plan)


def _accepted(module: ir.Module, options: Options, source: str) -> str:
    """The text of a unit that the assembler takes. CompileError for another, but for one made to compare with the
    reference build."""
    done = _compiled(module, options, source)
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
    inspection: Inspection | None = None,
) -> tuple[Diagnostic, ...]:
    """Every diagnostic of `source`, errors included; arguments as for `lower`. What the assembler would refuse is an
    error here, and so is what the verifier finds in the text: tiles that overlap or leave their memory, windows outside
    their tensor or tile, tiles read before they are written. Raises nothing for a refused input."""
    options = Options.of(
        filename=filename,
        target=target,
        planner=planner,
        ptoas=ptoas,
        reference=reference,
        loc=True,  # places lead the verifier's findings back to the author's lines, whatever `loc` says
        rules=rules,
        functions=functions,
        assembler_checks=assembler_checks,
        emit_tile_addr=emit_tile_addr,
        inspection=inspection,
    )
    try:
        done = lowered(source, options)
    except CompileError as error:
        return as_errors(error.diagnostics)
    from pypto_rw.verifier import verify as verified
    from pypto_rw.verifier.authored import at_author

    found = verified(
        done.mlir,
        target=options.target,
        planner=options.seen_planner,
        ptoas=options.ptoas,
        filename=options.filename,
    )
    told = {d.span.line for d in done.diagnostics}
    same = {d.code for d in done.diagnostics} & {"overlapping-live-tiles"}  # told where the tile is written
    more = (d for d in at_author(found, done.mlir, source) if d.span.line not in told and d.code not in same)
    every = sorted([*done.diagnostics, *more], key=lambda d: (d.span.line, d.span.column))
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

    options = Options.of(target=target, planner=planner, ptoas=ptoas, filename=filename)
    chip, planned = options.target, options.addresses
    found = verified(text, target=chip, planner=planner, ptoas=ptoas, filename=filename)
    assembler = verify_text(text, Rulebook(), target=chip, ptoas=ptoas, planned=planned, filename=filename)
    return told_once(found, assembler)


# Idle ones, with the state of the rules they were made for; a shape is rewritten once a process.
_engines: dict[tuple[str, ...], tuple[str, Engine]] = {}
_MOST_SHAPES = 20_000  # an engine may remember


def forget() -> None:
    """Drop the engines and the functions that are kept for the next call. The thread that made them must do it."""
    _engines.clear()
    kept.forget()


@contextmanager
def _engine(options: Options) -> Iterator[Engine]:
    """An engine that nobody else uses meanwhile, for the rules as they are now."""
    target, facts = options.target, options.facts
    folders = tuple(os.fspath(f) for f in options.rules)
    if (shown := options.inspection) is not None:
        rulebook = Rulebook(folders)
        shown.selection.require(rulebook)
        shown.engine = Engine(rulebook, target=target, facts=facts, selection=shown.selection, watch=shown.watch)
        yield shown.engine
        return
    key = (*folders, target, *facts)
    known = state(folders)
    made_for, engine = _engines.pop(key, ("", None))
    if engine is None or made_for != known:
        engine = Engine(Rulebook(folders), target=target, facts=facts, shelf=Shelf(known, (target, *facts)))
    sound = False
    try:
        yield engine
        sound = True
    except CompileError as error:  # a kernel that is refused leaves it as it was; a rule file, who knows
        sound = all(d.code != "rule-file" for d in error.diagnostics)
        raise
    finally:
        engine.save()
        if sound and engine.size < _MOST_SHAPES:
            _engines[key] = known, engine
