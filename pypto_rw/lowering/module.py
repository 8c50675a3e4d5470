"""From an allocated module to MLIR text: the last stage.

Each function is walked into nodes, all shapes go through the engine at once, then the emitter prints the body and,
above it, what the body asked for: constants, tensor views, hoisted handles. Source: types-and-memory.md §1-§7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pypto_rw import ir, kept
from pypto_rw.checks import unit_findings
from pypto_rw.checks.cores import on_another_core
from pypto_rw.diagnostics import CompileError, Diagnostic, Severity, Span
from pypto_rw.lowering.nodes import Branch, Declare, Do, Loop, Node, Same, Walked, WhileLoop
from pypto_rw.lowering.printed import PrintedFunction
from pypto_rw.lowering.printer import DEVICE, Printer
from pypto_rw.lowering.walk import Walker
from pypto_rw.records import replace
from pypto_rw.rewriting.engine import Engine
from pypto_rw.shaping.operands import Instance, Operand
from pypto_rw.shaping.unit import Surroundings, surroundings_in, windows_and_contexts
from pypto_rw.shaping.values import Refused

if TYPE_CHECKING:
    from pypto_rw.options import Options


def lower_module(
    module: ir.Module,
    engine: Engine,
    options: Options,
    source: str,
    *,
    unit: tuple[ir.Function, ...] | None = None,
    marks: bool = False,
) -> Printed:
    """MLIR text of every function of `module`, in name order, and the instructions it is made of.

    Raises CompileError with every refusal. `unit`: all functions that are compiled together, where `module` has only
    some of them. `marks`: the text is from before the fences and cache marks between ranks were added, so that the
    reference's text has them too."""
    diagnostics: list[Diagnostic] = []
    members = _checked_windows(module.functions, engine, options, diagnostics)
    # the unit as it is lowered: members whose signals were put in order stand for the ones written
    ordered = {f.name: f for f in members}
    known = {f.name for f in unit or ()}
    made = (f for f in members if f.name not in known)  # by the stages, out of scopes
    unit = (*(ordered.get(f.name, f) for f in unit or ()), *made)
    functions = sorted(members, key=lambda f: f.name)
    surroundings = surroundings_in(unit)
    again = _Again(engine, options, marks, surroundings)
    texts: dict[str, FunctionText] = {}
    walked: list[Walked] = []
    walkers: list[Walker] = []
    for function in functions:
        if function.kind not in DEVICE:
            kind = function.kind or "Opaque"
            diagnostics.append(
                Diagnostic(
                    "function-type",
                    f"the function {function.name} has type {kind}; only AIC, AIV and InCore have kernel code",
                    function.span,
                    filename=options.filename,
                    function=function.name,
                )
            )
            continue
        text = again.get(function)
        if text is not None:
            texts[function.name] = text
            continue
        walker = Walker(
            engine,
            function,
            addresses=options.addresses,
            filename=options.filename,
            surroundings=surroundings(function),
            marks=(marks or not options.reference) and bool(windows_and_contexts(function)[0]),
        )
        walked.append(walker.walk())
        walkers.append(walker)
        diagnostics += walker.diagnostics
    called = set().union(*(w.declared for w in walkers), *(t.declared for t in texts.values()))
    diagnostics += _reserved(functions, called, options.filename)
    found = list(
        unit_findings(
            module.functions,
            unit,
            engine.rulebook,
            target=options.target,
            reference=options.reference,
            filename=options.filename,
        )
    )
    diagnostics += (d for d in found if d.severity is Severity.error)
    templates = _Templates(engine)
    if options.inspection is not None:
        options.inspection.wanted = templates.wanted
    parameters = [_parameter_views(w, diagnostics) for w in walkers]
    for f, params in zip(walked, parameters, strict=True):
        for instance, span in (
            *_instances(f.body),
            *((p, _span_of(f.function, p.result)) for p in params),
            *f.regions,
        ):
            templates.want(instance, span, f.function.name)
    diagnostics += templates.finish(options.filename)
    if diagnostics:
        raise CompileError(_in_order(diagnostics, source), source)
    for f, w, params in zip(walked, walkers, parameters, strict=True):
        printer = Printer(f, params, options)
        lines = printer.print()
        kernel = DEVICE[f.function.kind or ""]
        seen = PrintedFunction(f.function.name, kernel, printer.emitter.distinct, [] if options.addresses else lines)
        notes = [n for n in templates.notes if n.function == f.function.name]
        notes += (*w.notes, *_overwritten(f, options), *on_another_core(f.function, options.filename))
        text = texts[f.function.name] = FunctionText(lines, seen, w.declared, notes)
        again.put(f.function, text)
    every = [texts[f.name] for f in functions]
    notes = [*(n for t in every for n in t.notes), *(d for d in found if d.severity is Severity.warning)]
    return Printed(_joined(every, options), [t.printed for t in every], notes)


def _overwritten(walked: Walked, options: Options) -> Iterator[Diagnostic]:
    """Warnings of tiles that are read after an op has updated them in place."""
    if not walked.updates:
        return
    from pypto_rw.lowering.inplace import updates  # few kernels have such an op

    for tile, result, span, line in updates(walked.function.body, walked.updates):
        yield Diagnostic(
            "overwritten-operand",
            f"{result} is made of {tile} in place, so {tile} is {result} where line {line} reads it",
            span,
            f"read {result} there, or make it of a tile that is not read again",
            severity=Severity.warning,
            filename=options.filename,
            function=walked.function.name,
        )


class Printed(NamedTuple):
    """The text of a module, its instructions, and warnings of the rules."""

    text: str
    functions: list[PrintedFunction]
    notes: list[Diagnostic]


def _joined(texts: list[FunctionText], options: Options) -> str:
    """The text of a module."""
    declared = {name: type_ for t in texts for name, type_ in t.declared.items()}
    lines = [f'module attributes {{pto.target_arch = "{options.target}"}} {{']
    for text in texts:
        lines += text.lines
    lines += (f"  func.func private @{name}{type_}" for name, type_ in declared.items())
    lines.append("}")
    if options.inspection is not None:
        options.inspection.lines = lines
    return "\n".join(lines) + "\n"


class FunctionText(NamedTuple):
    """A function's lines, its distinct instructions, the functions that it calls, with their types, and warnings."""

    lines: list[str]
    printed: PrintedFunction
    declared: dict[str, str]
    notes: list[Diagnostic]


class _Again:
    """Texts of functions that were lowered before and come again (`kept`), with all else that a text depends on."""

    def __init__(
        self, engine: Engine, options: Options, marks: bool, surroundings: Callable[[ir.Function], Surroundings]
    ) -> None:
        self._on = options.inspection is None
        self._surroundings = surroundings
        self._around = ("text", engine.serial, marks, *options.told)

    def _key(self, function: ir.Function) -> tuple[object, ...]:
        around = self._surroundings(function)
        if not around.regions and not around.clashes:
            return self._around
        return (*self._around, tuple(around.regions.items()), tuple(around.clashes.items()))

    def get(self, function: ir.Function) -> FunctionText | None:
        """The text of a function, if it was printed as it would be now."""
        if not self._on or not kept.is_kept(function):
            return None
        text: FunctionText | None = kept.known(function, self._key(function))
        return text

    def put(self, function: ir.Function, text: FunctionText) -> None:
        """Note the text of a function that is kept."""
        if self._on and kept.is_kept(function):
            kept.note(function, self._key(function), text)


def _checked_windows(
    unit: tuple[ir.Function, ...], engine: Engine, options: Options, diagnostics: list[Diagnostic]
) -> tuple[ir.Function, ...]:
    """The unit with its signals ordered; what its kernels with windows do wrong as whole functions is reported."""
    distributed = [f for f in unit if windows_and_contexts(f)[0]]
    if not distributed:
        return unit
    from pypto_rw.distributed.deferred import faults  # only kernels with windows need these two
    from pypto_rw.distributed.members import settled

    for f in distributed:
        diagnostics += (r.diagnostic(f.span, options.filename, f.name) for r in faults(f, engine.rulebook))
    if options.reference:
        return unit
    unit, unordered = settled(unit, engine.rulebook)
    diagnostics += (r.diagnostic(r.span, options.filename, name) for r, name in unordered)
    return unit


def _reserved(functions: list[ir.Function], declared: set[str], filename: str) -> Iterator[Diagnostic]:
    """Functions that have the name of one the text calls."""
    for f in functions:
        if f.name in declared:
            yield Diagnostic(
                "reserved-name",
                f"a kernel cannot be called {f.name!r}: the text calls the adapter of that name",
                f.span,
                "give the kernel another name",
                filename=filename,
                function=f.name,
            )


def _span_of(function: ir.Function, parameter: str | None) -> Span:
    return next((p.span for p in function.params if p.name == parameter), function.span)


def _in_order(diagnostics: Iterable[Diagnostic], source: str) -> list[Diagnostic]:
    """Each finding once, where it is, in the order of the text."""
    from pypto_rw.front.places import at_its_name  # only a refused kernel needs it

    lines = source.splitlines()
    found = dict.fromkeys(at_its_name(d, lines) for d in diagnostics)
    return sorted(found, key=lambda d: (d.span.line, d.span.column))


def _parameter_views(walker: Walker, diagnostics: list[Diagnostic]) -> list[Instance]:
    """Instances of a function's tensor views; a dimension that is no scalar is reported."""
    views = []
    for p in walker.function.params:
        if isinstance(p.type, ir.TensorType):
            try:
                views.append(walker.shaper.parameter(p))
            except Refused as refused:
                diagnostics.append(refused.diagnostic(p.span, walker.filename, walker.function.name))
    return views


def print_walked(
    walker: Walker, walked: Walked, engine: Engine, options: Options
) -> tuple[list[str], dict[str, str], list[Diagnostic]]:
    """Lines of one function's statements, the types printed for its values, and warnings; for a rule's example."""
    params = [walker.shaper.parameter(p) for p in walked.function.params if isinstance(p.type, ir.TensorType)]
    given = [
        walker.shaper.alloc(p.name, walker.values[p.name])
        for p in walked.function.params
        if isinstance(p.type, ir.TileType)
    ]
    templates = _Templates(engine)
    for instance, span in (*_instances(walked.body), *walked.regions):
        templates.want(instance, span, walked.function.name)
    for instance in (*params, *given):
        templates.want(instance, walked.function.span, walked.function.name)
    if refused := list(templates.finish(options.filename)):
        raise CompileError(refused)
    printer = Printer(walked, params, options)
    return printer.statements(given), printer.emitter.types, templates.notes


class _Templates:
    """Collects the shapes of a module, rewrites them in one go, reports what the rules refuse."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.wanted: list[tuple[Instance, Span, str]] = []
        self.notes: list[Diagnostic] = []

    def want(self, instance: Instance, span: Span, function: str) -> None:
        if instance.plain:
            if instance.template is None or instance.template.remarks:  # else it was repeated: the rules have said all
                self.wanted.append((instance, span, function))
            return
        for nested in _nested(instance):
            if nested.template is None or nested.template.remarks:
                self.wanted.append((nested, span, function))

    def finish(self, filename: str) -> Iterator[Diagnostic]:
        self.engine.rewrite([i.shape for i, _, _ in self.wanted])
        for instance, span, function in self.wanted:
            shape = instance.shape
            result = self.engine.result(shape)
            for f in result.findings:
                yield self._told(f.rule, _subject(instance) + f.message, f.help, span, filename, function)
            if result.findings:
                continue
            if result.template is None:
                from pypto_rw.lowering.described import described  # only this refusal spells types

                yield Diagnostic(
                    "no-lowering",
                    f"no rule lowers {described(self.engine.op(shape), *self.engine.types(shape))}",
                    span,
                    _way_to_a_lowering(self.engine, shape),
                    filename=filename,
                    function=function,
                )
                continue
            if instance.result is None and _names_a_result(result.template.steps):
                yield Diagnostic(
                    "unused-result",
                    f"{self.engine.op(shape)} makes a value, which this statement does not name",
                    span,
                    "assign it to a variable, or remove the statement",
                    filename=filename,
                    function=function,
                )
                continue
            for rule, _, message, help in result.template.remarks:
                told = self._told(rule, message, help, span, filename, function)
                self.notes.append(replace(told, severity=Severity.warning))
            instance.template = result.template

    def _told(self, rule: str, message: str, help: str, span: Span, filename: str, function: str) -> Diagnostic:
        place = self.engine.rule_place(rule)
        return Diagnostic(rule.rsplit("/", 1)[-1], message, span, help, place, filename=filename, function=function)


def _names_a_result(steps: tuple[Any, ...]) -> bool:
    """Whether a part of a template stands for the result that a statement does not have."""
    return any(type(s) is tuple and (s == ("none",) or _names_a_result(s)) for s in steps)


def _way_to_a_lowering(engine: Engine, shape: str) -> str:
    """Where the rules of an op that none lowers are."""
    file = engine.rulebook.op_file(engine.op(shape))
    if file is None:
        return ""
    op, own = engine.op(shape), [r for r in file.rule_lines if f':ruleset lowering :name "{r}"' in file.text]
    if not own and not any(words[0].startswith("emits") for words in file.facts):
        return f'{file.name}.egg has neither (emits "{op}" "…") nor a rule in the ruleset lowering'
    asked = f"--why-not {own[0]}" if own else f"--op {op}"
    return f"`pypto-rw explain FILE {asked}` tells which condition of {file.name}.egg fails"


def _subject(instance: Instance) -> str:
    """The tile or tensor that a finding about its type is about."""
    named = instance.result and instance.shape.startswith(("(alloc ", "(parameter "))
    return f"{instance.result}: " if named else ""


def _nested(operand: Operand) -> Iterator[Instance]:
    if isinstance(operand, Instance):
        for o in (*operand.operands, *operand.extents):
            yield from _nested(o)
        yield operand


def _instances(body: Iterable[Node]) -> Iterator[tuple[Instance, Span]]:
    for node in body:
        match node:
            case Do():
                if node.alloc is not None:
                    yield node.alloc, node.span
                yield node.instance, node.call_span
            case Declare():
                yield node.alloc, node.span
            case Same():
                if node.alloc is not None:
                    yield node.alloc, node.span
            case Loop() | WhileLoop():
                operands = (*node.bounds,) if isinstance(node, Loop) else (node.condition,)
                for o in (*operands, *(c.initial for c in node.carries), *node.yields):
                    if isinstance(o, Instance):
                        yield o, node.span
                yield from _instances(node.body)
            case Branch():
                for o in (node.condition, *node.yields[0], *node.yields[1]):
                    if isinstance(o, Instance):
                        yield o, node.span
                for m in node.merges:
                    for i in (m.alloc, m.narrow):
                        if i is not None:
                            yield i, node.span
                for i in (*node.copies[0], *node.copies[1]):
                    yield i, node.span
                yield from _instances(node.body)
                yield from _instances(node.orelse or [])
