"""Which functions make one assembler run, and what calls what. Source: cross-core.md §1, kernel-wrapper.md §1, §2."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import dataclass, replace
from pypto_rw.shaping.unit import Surroundings
from pypto_rw.wrapper.names import Unfit, source_path, symbol

CORE = {"AIC": "aic", "AIV": "aiv"}
KERNELS = frozenset({"AIC", "AIV", "InCore"})
_SUBMITS = frozenset({"submit", "spmd_submit"})
_HOST_LEVELS = frozenset({"HOST", "CLUSTER_0", "CLUSTER_1", "CLUSTER_2", "GLOBAL"})
_UNLAUNCHED = frozenset({"Opaque", "Inline", "Graph"})


class Rejected(Exception):
    """A unit or an orchestration cannot be generated. `diagnostic` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


@dataclass(frozen=True, slots=True)
class Unit:
    """One MLIR module and assembler run: `members` get a kernel source each, `printed` are in the text."""

    name: str
    members: tuple[ir.Function, ...]
    printed: tuple[ir.Function, ...]
    is_group: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """A unit or orchestration that could not be generated, and why."""

    name: str
    diagnostics: tuple[Diagnostic, ...]


def calls(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Call]:
    """Every call in the statements of `body`, nested ones included, in source order."""
    for stmt in ir.statements(body):
        match stmt:
            case ir.Assign() | ir.Evaluate():
                yield from _calls_in(stmt.value)
            case ir.Yield() | ir.Return():
                for value in stmt.values:
                    yield from _calls_in(value)
            case ir.For():
                for value in (*stmt.bounds, *stmt.initial):
                    yield from _calls_in(value)
            case ir.While() | ir.If():
                yield from _calls_in(stmt.condition)
            case ir.Scope():
                yield stmt.call


def _calls_in(expr: ir.Expr) -> Iterator[ir.Call]:
    match expr:
        case ir.Call():
            yield expr
            for part in (*expr.args, *(v for _, v in expr.kwargs)):
                yield from _calls_in(part)
        case ir.Binary():
            yield from _calls_in(expr.left)
            yield from _calls_in(expr.right)
        case ir.Unary() | ir.Cast():
            yield from _calls_in(expr.operand)
        case ir.Tuple():
            for part in expr.items:
                yield from _calls_in(part)
        case ir.Item():
            yield from _calls_in(expr.value)


def callee_of(call: ir.Call) -> str | None:
    """The function of the program that `call` runs or submits; None for an operator."""
    if call.callee.startswith("self."):
        return call.callee[len("self.") :]
    if call.callee in _SUBMITS and call.args and isinstance(call.args[0], ir.Symbol):
        return call.args[0].path.removeprefix("self.")
    return None


def callees(function: ir.Function) -> list[str]:
    """Functions of the program that `function` calls or submits, in order of first use."""
    return list(dict.fromkeys(name for call in calls(function.body) if (name := callee_of(call)) is not None))


def external_source(function: ir.Function) -> str | None:
    """The path of a hand-written kernel's source; None for one with a body."""
    value = dict(function.options).get("external_source")
    return value.value if isinstance(value, ir.Str) else None


def orchestrations(module: ir.Module) -> list[ir.Function]:
    """The orchestration functions of the program, in name order."""
    return sorted((f for f in module.functions if f.kind == "Orchestration"), key=lambda f: f.name)


def reachable(module: ir.Module, entry: ir.Function) -> ir.Module:
    """The program with only `entry` and what it reaches through calls and submits."""
    known = {f.name: f for f in module.functions}
    seen: dict[str, None] = {}
    waiting = [entry.name]
    while waiting:
        name = waiting.pop()
        if name not in seen and name in known:
            seen[name] = None
            waiting += callees(known[name])
    kept = tuple(f for f in module.functions if f.name in seen)
    return replace(module, functions=kept)


def check_program(module: ir.Module, filename: str) -> list[Diagnostic]:
    """What keeps the whole program from being built: functions of the host, kinds that passes remove, names."""
    found = []
    for f in module.functions:

        def refuse(code: str, message: str, help: str, f: ir.Function = f) -> None:
            found.append(Diagnostic(code, message, f.span, help, filename=filename, function=f.name))

        level = dict(f.options).get("level")
        word = level.path.rsplit(".", 1)[-1] if isinstance(level, ir.Symbol) else ""
        if word in _HOST_LEVELS:
            refuse(
                "distributed-build",
                f"the function {f.name} has level {word}: programs with functions at or above the host are not built",
                "build each chip's program by itself, with its orchestration as the entry",
            )
        elif (f.kind or "Opaque") in _UNLAUNCHED:
            refuse(
                "function-type",
                f"the function {f.name} has type {f.kind or 'Opaque'}; a build takes kernels (AIC, AIV), "
                "Group, Spmd and Orchestration functions",
                "build the program as it is after the last pass, where kernels and the orchestration stand apart",
            )
        try:
            symbol(f.name)
            if (path := external_source(f)) is not None:
                source_path(path)
        except Unfit as unfit:
            refuse("unfit-name", str(unfit), "rename it")
    return found


def units(module: ir.Module, filename: str) -> tuple[list[Unit], list[Failure]]:
    """The units of the program: groups in name order, then the other kernels; and groups that cannot be units."""
    known = {f.name: f for f in module.functions}
    found: list[Unit] = []
    failed: list[Failure] = []
    grouped: set[str] = set()
    for group in sorted((f for f in module.functions if f.kind == "Group"), key=lambda f: f.name):
        members = [known[n] for n in callees(group) if n in known and known[n].kind in KERNELS]
        grouped |= {m.name for m in members}
        written = [m for m in members if external_source(m) is None]
        if len(written) not in (0, len(members)):
            names = ", ".join(m.name for m in written)
            message = (
                f"the group '{group.name}' mixes hand-written kernels with kernels of the program: {names} "
                "have a body, the others an external source"
            )
            help = "give every member an external source, or none"
            where = (Diagnostic("mixed-group", message, group.span, help, filename=filename, function=group.name),)
            failed.append(Failure(group.name, where))
        elif written:
            ordered = tuple(sorted(written, key=lambda f: f.name))
            found.append(Unit(group.name, ordered, ordered, True))
    for f in sorted(module.functions, key=lambda f: f.name):
        if f.kind in KERNELS and f.name not in grouped and external_source(f) is None:
            peers = [known[p] for p in _peers(f) if p in known and p != f.name]
            found.append(Unit(f.name, (f,), tuple(sorted((f, *peers), key=lambda g: g.name)), False))
    return found, failed


def _peers(function: ir.Function) -> list[str]:
    """Functions whose buffers `function` imports."""
    values = (dict(c.kwargs).get("peer_func") for c in calls(function.body))
    return list(dict.fromkeys(v.value for v in values if isinstance(v, ir.Str)))


def core_of(function: ir.Function, filename: str) -> str:
    """`aic` or `aiv`. Raises Rejected for a kernel that is not placed on a core yet."""
    if function.kind in CORE:
        return CORE[function.kind]
    message = f"the kernel {function.name} has type {function.kind}; its source is for one core, AIC or AIV"
    help = "write type=pl.FunctionType.AIV (or AIC) on it"
    raise Rejected(Diagnostic("core-type", message, function.span, help, filename=filename, function=function.name))


def attribute(function: ir.Function, name: str) -> str:
    """A function attribute as a word, "" when absent."""
    return Surroundings(function).attribute(name)
