"""A build: program -> units -> `.pto` -> assembler -> kernel sources, orchestrations, manifest.

Source: kernel-wrapper.md §1, §2, §10.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError, Diagnostic, Severity
from pypto_rw.records import dataclass, replace
from pypto_rw.wrapper.assembler import Assembler, Failed
from pypto_rw.wrapper.directory import Output, held
from pypto_rw.wrapper.manifest import Runtime, manifest
from pypto_rw.wrapper.orchestration.generate import Orchestration, OrchestrationRefused, generate
from pypto_rw.wrapper.report import REPORT, full_report, table
from pypto_rw.wrapper.signature import uses_of
from pypto_rw.wrapper.source import assembled, kernel_source
from pypto_rw.wrapper.units import (
    Failure,
    Rejected,
    Unit,
    check_program,
    core_of,
    external_source,
    orchestrations,
    reachable,
    units,
)

_WORKERS = "PYPTO_CODEGEN_MAX_WORKERS"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to build. `lower` gives the `.pto` of a module of kernels; `assembler` None leaves it out.

    `reference` writes what the reference build writes; `folder` is where relative source paths start."""

    lower: Callable[[ir.Module], str]
    assembler: Assembler | None
    target: str
    runtime: Runtime
    dump: bool
    reference: bool
    filename: str
    folder: Path
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Built:
    """What a build made: the output folder, its files (relative path -> text), and warnings."""

    folder: Path
    files: dict[str, str]
    diagnostics: tuple[Diagnostic, ...] = ()


class BuildError(CompileError):
    """Some functions failed. `files` has what was made all the same; `str()` is the report."""

    def __init__(self, report: str, diagnostics: Iterable[Diagnostic], source: str, files: dict[str, str]) -> None:
        super().__init__(diagnostics, source)
        self.report = report
        self.files = files

    def __str__(self) -> str:
        return self.report


def build(module: ir.Module, source: str, output: Path, plan: Plan) -> Built:
    """Build `module`, the text `source`, into the folder `output`.

    Raises CompileError for a program that is no build's, BuildError for functions that failed, OSError."""
    if refused := check_program(module, plan.filename):
        raise CompileError(sorted(refused, key=lambda d: (d.span.line, d.span.column)), source)
    output = output.absolute()
    warnings: list[Diagnostic] = []
    entries = orchestrations(module)
    with held(output) as out:
        program = _Build(plan, out, _worker_count(warnings, plan.filename))
        if len(entries) > 1:
            for entry in entries:
                program.add(reachable(module, entry), entry, f"next_levels/{entry.name}/")
        else:
            program.add(module, entries[0] if entries else None, "")
        program.assemble()
        files, failures = program.finish()
        if failures:
            out.write(REPORT, full_report(failures, source))
        out.publish()
    if failures:
        report = table(failures, source, output / REPORT)
        raise BuildError(report, [d for f in failures for d in f.diagnostics], source, files)
    if not entries:
        message = "the program has no orchestration, so there is no manifest; kernel sources only"
        warnings.append(Diagnostic("no-orchestration", message, severity=Severity.note, filename=plan.filename))
    return Built(output, files, tuple(warnings))


@dataclass(slots=True)
class _Part:
    """One complete build under `prefix`: of the whole program, or of what one orchestration reaches."""

    module: ir.Module
    entry: ir.Function | None
    prefix: str
    units: list[Unit]
    failures: dict[str, Failure]
    texts: dict[str, str]  # unit -> .pto
    sources: dict[str, dict[str, str]]  # unit -> files


class _Build:
    """Collects parts, runs the assembler over all their units at once, then writes what is left."""

    def __init__(self, plan: Plan, out: Output, workers: int) -> None:
        self.plan, self.out, self.workers = plan, out, workers
        self.parts: list[_Part] = []
        self._lowered: dict[tuple[str, ...], str | Failure] = {}

    def add(self, module: ir.Module, entry: ir.Function | None, prefix: str) -> None:
        """A part of the build: its units are lowered now."""
        found, failed = units(module, self.plan.filename)
        part = _Part(module, entry, prefix, found, {f.name: f for f in failed}, {}, {})
        for unit in found:
            printed = self._text(module, unit)
            if isinstance(printed, Failure):
                part.failures[unit.name] = printed
            else:
                part.texts[unit.name] = printed
        self.parts.append(part)

    def _text(self, module: ir.Module, unit: Unit) -> str | Failure:
        key = (unit.name, *(f.name for f in unit.printed))
        if key not in self._lowered:
            try:
                for member in unit.members:
                    core_of(member, self.plan.filename)
                self._lowered[key] = self.plan.lower(replace(module, functions=unit.printed))
            except Rejected as rejected:
                self._lowered[key] = Failure(unit.name, (rejected.diagnostic,))
            except CompileError as error:
                self._lowered[key] = Failure(unit.name, error.diagnostics)
        return self._lowered[key]

    def assemble(self) -> None:
        """Run the assembler for every unit, several at a time, and wrap what it gives."""
        jobs = [(part, unit) for part in self.parts for unit in part.units if unit.name in part.texts]
        assembler = self.plan.assembler
        if assembler is None:
            for part, unit in jobs:
                part.sources[unit.name] = self._unassembled(part, unit)
            return
        for part, unit in jobs:
            self.out.write(f"{part.prefix}ptoas/{unit.name}.pto", part.texts[unit.name])
        done = 0
        with ThreadPoolExecutor(max_workers=self.workers) as pool:
            waiting = {
                pool.submit(
                    assembler.run, unit, self.out.work / part.prefix, self.out.folder / part.prefix, dump=self.plan.dump
                ): (part, unit)
                for part, unit in jobs
            }
            try:
                for future in as_completed(waiting):
                    part, unit = waiting[future]
                    done += 1
                    if self.plan.progress is not None:
                        self.plan.progress(done, len(jobs), unit.name)
                    try:
                        part.sources[unit.name] = self._wrapped(unit, future.result())
                    except Failed as failed:
                        told = Diagnostic("ptoas-failed", f"ptoas compilation failed: {failed}", function=unit.name)
                        part.failures[unit.name] = Failure(unit.name, (told,))
                    except Rejected as rejected:
                        part.failures[unit.name] = Failure(unit.name, (rejected.diagnostic,))
            except BaseException:
                assembler.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def _wrapped(self, unit: Unit, cpp: str) -> dict[str, str]:
        plan = self.plan
        code = assembled(unit, cpp, reference=plan.reference)
        return {
            f"kernels/{core_of(f, plan.filename)}/{f.name}.cpp": kernel_source(
                f, unit, code, target=plan.target, reference=plan.reference, filename=plan.filename
            )
            for f in unit.members
        }

    def _unassembled(self, part: _Part, unit: Unit) -> dict[str, str]:
        place = "" if unit.is_group else f"{core_of(unit.members[0], self.plan.filename)}/"
        return {f"kernels/{place}{unit.name}.pto": part.texts[unit.name]}

    def finish(self) -> tuple[dict[str, str], list[Failure]]:
        """Write sources, orchestrations and manifests; all files, and all failures in the order of the units."""
        files: dict[str, str] = {}
        failures: list[Failure] = []
        for part in self.parts:
            made = [f for unit in part.units for f in part.sources.get(unit.name, {}).items()]
            order = [*(u.name for u in part.units), *part.failures]
            failed = [part.failures[n] for n in dict.fromkeys(order) if n in part.failures]
            if part.entry is not None:
                try:
                    made += self._entry_files(part, part.entry)
                except OrchestrationRefused as refused:
                    failed.append(Failure(part.entry.name, refused.diagnostics))
            files.update({f"{part.prefix}{path}": text for path, text in made})
            failures += [f for f in failed if all(f.name != known.name for known in failures)]
        for path, text in files.items():
            self.out.write(path, text)
        return files, failures

    def _entry_files(self, part: _Part, entry: ir.Function) -> Sequence[tuple[str, str]]:
        plan = self.plan
        made: Orchestration = generate(part.module, entry, target=plan.target, filename=plan.filename)
        files = [(f"orchestration/{entry.name}.cpp", made.text)]
        if plan.assembler is None and not all(external_source(k.function) for k in made.kernels):
            return files
        written = [m for u in part.units if u.name in part.sources for m in u.members]
        config = manifest(
            entry.name,
            made.signature,
            made.kernels,
            runtime=plan.runtime,
            sdma=any(uses_of(f).sdma for f in written),
            folder=plan.folder,
        )
        return [*files, ("kernel_config.py", config)]


def _worker_count(warnings: list[Diagnostic], filename: str) -> int:
    """How many assemblers run at a time: the environment's number, else one a processor."""
    default = max(1, min(32, os.cpu_count() or 1))
    written = os.environ.get(_WORKERS, "").strip()
    if not written:
        return default
    if written.isascii() and written.isdigit() and int(written) > 0:
        return min(int(written), 256)
    message = f"{_WORKERS}={written!r} is no positive number; {default} assemblers run at a time"
    warnings.append(Diagnostic("worker-count", message, severity=Severity.warning, filename=filename))
    return default
