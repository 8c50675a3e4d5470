"""Launches of kernels that wait for every core of a chip: they must fill it, and start together. cross-core.md §5."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.checks import Ops, calls
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of a function: on how many cores, and whether they start together."""

    name: str
    width: int
    together: bool
    line: int


def launch_findings(
    function: ir.Function, unit: tuple[ir.Function, ...], ops: Ops, target: str
) -> Iterator[Diagnostic]:
    """Hard barriers of `function` that a launch of it in this unit does not fill.

    Widths that are no constants, and kernels without a launch here, are not checked."""
    barriers = list(_barriers(function, ops, target))
    if not barriers:
        return
    members = {c for f in unit if f.kind == "Group" for c in _callees(f)}
    for launch in _launches(unit):
        if function.name not in _reached(launch.name, unit):
            continue
        for call, kind, cores in barriers:
            grouped = function.name in members
            needed = cores["aic_only"] if grouped else cores.get(kind)
            alone = {"AIC": "aic_only", "AIV": "aiv_only"}.get(function.kind or "")
            if not grouped and (needed is None or (alone is not None and kind != alone)):
                yield Diagnostic(
                    "barrier-cores",
                    f'pl.{call.callee}: {function.name} is launched alone, but core_type "{kind}" waits for cores of '
                    "another kind, which never come",
                    call.span,
                    f'write core_type="{alone or "aiv_only"}", or launch a group of cube and vector kernels',
                )
            elif launch.width != needed:
                yield Diagnostic(
                    "barrier-width",
                    f'pl.{call.callee}: the hard barrier with core_type "{kind}" waits for all {needed} cores of '
                    f"{target}, but {launch.name} is launched on {launch.width} at line {launch.line}",
                    call.span,
                    f'launch it on {needed} cores with sync_start=True, or use mode="soft" with a gm_workspace',
                )
            elif not launch.together:
                yield Diagnostic(
                    "barrier-start",
                    f"pl.{call.callee}: the hard barrier needs all cores at once, but the launch of {launch.name} at "
                    f"line {launch.line} has no sync_start",
                    call.span,
                    'add sync_start=True to the launch, or use mode="soft" with a gm_workspace',
                )


def _barriers(function: ir.Function, ops: Ops, target: str) -> Iterator[tuple[ir.Call, str, dict[str, int]]]:
    """Barriers over all cores of a kind: the call, its core_type, and the cores of each kind."""
    for call in calls(function.body):
        signature = ops.get(call.callee)
        facts = signature.all("whole-launch") if signature is not None else ()
        kwargs = dict(call.kwargs)
        mode, kind = kwargs.get("mode"), kwargs.get("core_type")
        if facts and not (isinstance(mode, ir.Str) and mode.value != "hard"):
            yield (
                call,
                kind.value if isinstance(kind, ir.Str) else "mix",
                {core: int(n) for core, chip, n in facts if chip == target},
            )


def _launches(unit: tuple[ir.Function, ...]) -> Iterator[Launch]:
    for function in unit:
        if function.kind in (None, "Orchestration", "Opaque"):
            yield from _in_block(function.body, None)


def _in_block(body: tuple[ir.Stmt, ...], around: ir.Call | None) -> Iterator[Launch]:
    for stmt in body:
        match stmt:
            case ir.Scope():
                yield from _in_block(stmt.body, stmt.call if stmt.call.callee == "spmd" else around)
            case ir.For() | ir.While():
                yield from _in_block(stmt.body, around)
            case ir.If():
                yield from _in_block((*stmt.body, *(stmt.orelse or ())), around)
            case ir.Assign() | ir.Evaluate() if isinstance(stmt.value, ir.Call):
                call = stmt.value
                name = _called(call)
                options = {**dict(call.kwargs), **dict(call.attrs)}
                width = options.get("core_num")
                if around is not None:
                    width = around.args[0] if around.args else None
                    options = dict(around.kwargs)
                start = options.get("sync_start")
                if name is not None and isinstance(width, ir.Int):
                    together = isinstance(start, ir.Bool) and start.value
                    yield Launch(name, width.value, together, (around or call).span.line)


def _called(call: ir.Call) -> str | None:
    """The function of this program that a call runs."""
    if call.callee.startswith("self."):
        return call.callee.removeprefix("self.")
    if call.callee in ("submit", "spmd_submit") and call.args and isinstance(call.args[0], ir.Symbol):
        return call.args[0].path.rsplit(".", 1)[-1]
    return None


def _callees(function: ir.Function) -> list[str]:
    return [n for c in calls(function.body) if (n := _called(c)) is not None]


def _reached(name: str, unit: tuple[ir.Function, ...]) -> set[str]:
    """Functions that a launch of `name` runs: itself, and what a group or grid function calls."""
    found, todo = {name}, [name]
    while todo:
        function = next((f for f in unit if f.name == todo[-1]), None)
        todo.pop()
        for callee in _callees(function) if function is not None and function.kind in ("Group", "Spmd") else ():
            if callee not in found:
                found.add(callee)
                todo.append(callee)
    return found
