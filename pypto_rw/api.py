"""The pipeline, read top to bottom: text, module, types, legal module, plan, text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError, Diagnostic, InternalError
from pypto_rw.engine import Engine
from pypto_rw.lower import Settings, lower_module
from pypto_rw.pipeline import STAGES, Task, run
from pypto_rw.rulebook import Rulebook
from pypto_rw.syntax import parse

TARGETS = {"a2a3": "a2a3", "a3": "a2a3", "Ascend910B": "a2a3", "a5": "a5", "Ascend950": "a5"}
PLANNERS = ("pypto", "dsa_rp", "ptoas")
ASSEMBLERS = ("0.57", "0.60")


@dataclass(frozen=True, slots=True)
class Lowered:
    """What `lower` gives: the MLIR text, and diagnostics that did not refuse the input (warnings, notes)."""

    mlir: str
    diagnostics: tuple[Diagnostic, ...] = ()
    module: ir.Module | None = None


@dataclass(frozen=True, slots=True)
class Staged:
    """What `stop_after` gives: the module, its `.pyir` text, and warnings."""

    pyir: str
    diagnostics: tuple[Diagnostic, ...]
    module: ir.Module


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
) -> Lowered:
    """Lower textual PyPTO IR to PTO-ISA MLIR.

    `source` is the text of one `.pyir` file; `filename` names it in diagnostics and locations. `target` is `a2a3`
    or `a5` (or a synonym), `planner` `pypto`, `dsa_rp` or `ptoas` (no addresses), `ptoas` the assembler's version the
    text is for. `reference` prints what the reference build prints. `loc` puts source places on op lines. `rules` are
    folders searched before the built-in rules. `functions` limits the output to these.

    Raises CompileError for an input that is refused, ValueError for an option out of range, InternalError for a fault
    of the compiler itself. Source: design §6.
    """
    engine, settings = _prepared(filename, target, planner, ptoas, reference, loc, rules)
    module = _chosen(parse(source, filename=filename), functions, filename)
    task = Task(engine, settings.target, planner, filename, source)
    try:
        module = run(module, task)
        return Lowered(lower_module(module, engine, settings, source), tuple(task.notes), module)
    except (CompileError, InternalError, KeyboardInterrupt):
        raise
    except RecursionError as error:
        raise InternalError("an expression is nested too deeply") from error


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
) -> Staged:
    """The module after the stage `stage` (pipeline.STAGES), as `.pyir`; other arguments as for `lower`.

    The text reads back as the same module, and lowers to the same `.pto` but for source places. Raises as `lower`."""
    from pypto_rw.syntax import write  # only this function prints modules

    if stage not in STAGES:
        raise ValueError(f"unknown stage {stage!r}; known: {', '.join(STAGES)}")
    engine, settings = _prepared(filename, target, planner, ASSEMBLERS[0], reference, False, rules)
    task = Task(engine, settings.target, planner, filename, source)
    module = run(_chosen(parse(source, filename=filename), functions, filename), task, until=stage)
    return Staged(write(module), tuple(task.notes), module)


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
) -> tuple[Diagnostic, ...]:
    """Every diagnostic of `source`, errors included; arguments as for `lower`. Raises nothing for a refused input."""
    try:
        lowered = lower(
            source,
            filename=filename,
            target=target,
            planner=planner,
            ptoas=ptoas,
            reference=reference,
            loc=loc,
            rules=rules,
            functions=functions,
        )
    except CompileError as error:
        return error.diagnostics
    return lowered.diagnostics


def verify(
    text: str,
    *,
    target: str = "a2a3",
    planner: str = "pypto",
    ptoas: str = "0.57",
    filename: str = "<string>",
) -> list[Diagnostic]:
    """What is wrong with a `.pto` text from anywhere: names, types, dominance, regions, extents, addresses.

    Arguments as for `lower`. Raises nothing for a wrong text. Source: design §8."""
    from pypto_rw.verifier import verify as verified  # only this function needs the reader of .pto

    _require(target, planner, ptoas)
    return verified(text, target=TARGETS[target], planner=planner, ptoas=ptoas, filename=filename)


def _chosen(module: ir.Module, functions: Sequence[str] | None, filename: str) -> ir.Module:
    if functions is None:
        return module
    known = {f.name for f in module.functions}
    if missing := [f for f in functions if f not in known]:
        raise ValueError(f"no function {missing[0]} in {filename}; it has {', '.join(sorted(known))}")
    return replace(module, functions=tuple(f for f in module.functions if f.name in set(functions)))


def _require(target: str, planner: str, ptoas: str) -> None:
    if target not in TARGETS:
        raise ValueError(f"unknown target {target!r}; known: {', '.join(TARGETS)}")
    if planner not in PLANNERS:
        raise ValueError(f"unknown planner {planner!r}; known: {', '.join(PLANNERS)}")
    if ptoas not in ASSEMBLERS:
        raise ValueError(f"unknown assembler version {ptoas!r}; known: {', '.join(ASSEMBLERS)}")


def _prepared(
    filename: str,
    target: str,
    planner: str,
    ptoas: str,
    reference: bool,
    loc: bool,
    rules: Sequence[str | Path],
) -> tuple[Engine, Settings]:
    _require(target, planner, ptoas)
    addresses = planner != "ptoas"
    facts = [
        "(addresses)" if addresses else "(no-addresses)",
        "(as-reference)" if reference else "(as-specified)",
    ]
    engine = Engine(Rulebook(tuple(rules)), target=TARGETS[target], facts=tuple(facts))
    return engine, Settings(TARGETS[target], addresses, loc, reference, filename)
