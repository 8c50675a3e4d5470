"""From an allocated module to MLIR text: the last stage.

Each function is walked into nodes, all shapes go through the engine at once, then the emitter prints the body and,
above it, what the body asked for: constants, tensor views, hoisted handles. Source: types-and-memory.md §1-§7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pypto_rw import ir, mlir
from pypto_rw.checks import unit_findings
from pypto_rw.diagnostics import CompileError, Diagnostic, Span
from pypto_rw.lowering.emit import Emitter
from pypto_rw.lowering.nodes import Branch, Carry, Declare, Do, Loop, Node, Same, Walked, WhileLoop
from pypto_rw.lowering.printed import Place, PrintedFunction
from pypto_rw.lowering.walk import Walker
from pypto_rw.records import dataclass
from pypto_rw.rewriting.engine import Engine
from pypto_rw.scalars import names_in
from pypto_rw.shaping.operands import Instance, Operand, Var
from pypto_rw.shaping.shapes import Refused
from pypto_rw.shaping.unit import contexts_of, surroundings_of, windows_and_contexts

if TYPE_CHECKING:
    from pypto_rw.lowering.inspection import Inspection

DEVICE = {"AIC": "cube", "AIV": "vector", "InCore": None}


@dataclass(frozen=True, slots=True)
class Settings:
    """What the text is for. `addresses`: alloc_tile carries addresses; `loc`: op lines carry source places;
    `reference`: non-finite constants print as the reference build prints them; `marks`: the text is from before the
    fences and cache marks between ranks were added, so that the reference's text has them too; `inspection` is shown
    how the text came to be."""

    target: str
    addresses: bool
    loc: bool
    reference: bool
    filename: str
    marks: bool = False
    inspection: Inspection | None = None


def lower_module(
    module: ir.Module,
    engine: Engine,
    settings: Settings,
    source: str,
    *,
    unit: tuple[ir.Function, ...] | None = None,
) -> tuple[str, list[PrintedFunction]]:
    """MLIR text of every function of `module`, in name order, and the instructions it is made of.

    Raises CompileError with every refusal. `unit`: all functions that are compiled together, where `module` has only
    some of them."""
    diagnostics: list[Diagnostic] = []
    members = _checked_windows(module.functions, engine, settings, diagnostics)
    # the unit as it is lowered: members whose signals were put in order stand for the ones written
    ordered = {f.name: f for f in members}
    known = {f.name for f in unit or ()}
    made = (f for f in members if f.name not in known)  # by the stages, out of scopes
    unit = (*(ordered.get(f.name, f) for f in unit or ()), *made)
    functions = sorted(members, key=lambda f: f.name)
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
                    filename=settings.filename,
                    function=function.name,
                )
            )
            continue
        walker = Walker(
            engine,
            function,
            addresses=settings.addresses,
            filename=settings.filename,
            surroundings=surroundings_of(function, unit),
            marks=(settings.marks or not settings.reference) and bool(windows_and_contexts(function)[0]),
        )
        walked.append(walker.walk())
        walkers.append(walker)
        diagnostics += walker.diagnostics
    declared = {name: type_ for w in walkers for name, type_ in w.declared.items()}
    diagnostics += _reserved(functions, declared, settings.filename)
    diagnostics += unit_findings(
        module.functions,
        unit,
        engine.rulebook,
        target=settings.target,
        reference=settings.reference,
        filename=settings.filename,
    )
    templates = _Templates(engine)
    if settings.inspection is not None:
        settings.inspection.wanted = templates.wanted
    parameters = [_parameter_views(w, diagnostics) for w in walkers]
    for f, params in zip(walked, parameters, strict=True):
        for instance, span in (
            *_instances(f.body),
            *((p, _span_of(f.function, p.result)) for p in params),
            *f.regions,
        ):
            templates.want(instance, span, f.function.name)
    diagnostics += templates.finish(settings.filename)
    if diagnostics:
        raise CompileError(_in_order(diagnostics, source), source)
    text = [f'module attributes {{pto.target_arch = "{settings.target}"}} {{']
    printed = []
    for f, params in zip(walked, parameters, strict=True):
        printer = _Printer(f, params, settings)
        lines = printer.print()
        text += lines
        distinct = printer.emitter.distinct
        kernel = DEVICE[f.function.kind or ""]
        printed.append(PrintedFunction(f.function.name, kernel, distinct, [] if settings.addresses else lines))
    text += (f"  func.func private @{name}{type_}" for name, type_ in declared.items())
    text.append("}")
    if settings.inspection is not None:
        settings.inspection.lines = text
    return "\n".join(text) + "\n", printed


def _checked_windows(
    unit: tuple[ir.Function, ...], engine: Engine, settings: Settings, diagnostics: list[Diagnostic]
) -> tuple[ir.Function, ...]:
    """The unit with its signals ordered; what its kernels with windows do wrong as whole functions is reported."""
    distributed = [f for f in unit if windows_and_contexts(f)[0]]
    if not distributed:
        return unit
    from pypto_rw.distributed.deferred import faults  # only kernels with windows need these two
    from pypto_rw.distributed.members import settled

    for f in distributed:
        diagnostics += (r.diagnostic(f.span, settings.filename, f.name) for r in faults(f, engine.rulebook))
    if settings.reference:
        return unit
    unit, unordered = settled(unit, engine.rulebook)
    diagnostics += (r.diagnostic(r.span, settings.filename, name) for r, name in unordered)
    return unit


def _reserved(functions: list[ir.Function], declared: dict[str, str], filename: str) -> Iterator[Diagnostic]:
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
    from pypto_rw.lowering.places import at_its_name  # only a refused kernel needs it

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
    walker: Walker, walked: Walked, engine: Engine, settings: Settings
) -> tuple[list[str], dict[str, str]]:
    """Lines of one function's statements and the types printed for its values; for a rule's example."""
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
    if refused := list(templates.finish(settings.filename)):
        raise CompileError(refused)
    printer = _Printer(walked, params, settings)
    return printer.statements(given), printer.emitter.types


class _Templates:
    """Collects the shapes of a module, rewrites them in one go, reports what the rules refuse."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.wanted: list[tuple[Instance, Span, str]] = []

    def want(self, instance: Instance, span: Span, function: str) -> None:
        if instance.plain:
            self.wanted.append((instance, span, function))
            return
        for nested in _nested(instance):
            self.wanted.append((nested, span, function))

    def finish(self, filename: str) -> Iterator[Diagnostic]:
        self.engine.rewrite([i.shape for i, _, _ in self.wanted])
        for instance, span, function in self.wanted:
            shape = instance.shape
            result = self.engine.result(shape)
            for f in result.findings:
                yield Diagnostic(
                    f.rule.rsplit("/", 1)[-1],
                    _subject(instance) + f.message,
                    span,
                    f.help,
                    self.engine.rule_place(f.rule),
                    filename=filename,
                    function=function,
                )
            if result.findings:
                continue
            if result.template is None:
                yield Diagnostic(
                    "no-lowering",
                    f"no rule lowers {self.engine.described(shape)}",
                    span,
                    _way_to_a_lowering(self.engine, shape),
                    filename=filename,
                    function=function,
                )
                continue
            instance.template = result.template


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


def _emitter(settings: Settings) -> Emitter:
    if settings.inspection is None:
        return Emitter(reference=settings.reference)
    from pypto_rw.lowering.inspection import TracingEmitter  # a plain run traces nothing

    return TracingEmitter(reference=settings.reference)


class _Printer:
    """Text of one walked function."""

    def __init__(self, walked: Walked, parameters: list[Instance], settings: Settings) -> None:
        self.walked, self.parameters, self.settings = walked, parameters, settings
        self.function = walked.function
        self.place = f' loc("{escaped(settings.filename)}":'
        self.scopes: list[set[str]] = [set()]  # handles declared, by enclosing region
        self.closed: set[str] = set()  # handles whose region has ended
        self.hoisted: list[str] = []
        self.arguments: list[str] = []
        self.emitter = _emitter(settings)
        self.emitter.distinct.planned = settings.addresses
        if settings.reference:
            self.emitter.wishes.update(second_names(self.function.body))
        self.contexts = contexts_of(self.function)
        self.tensors = [p for p in self.function.params if isinstance(p.type, ir.TensorType)]

    def print(self) -> list[str]:
        """The function's lines."""
        body = self.statements([])
        e = self.emitter
        for p, instance in zip(self.tensors, self.parameters, strict=True):
            if p.name in self.walked.used:
                e.location = self._location(p.span)
                e.run(instance)
        kind = DEVICE[self.function.kind or ""]
        attributes = f" attributes {{pto.kernel_kind = #pto.kernel_kind<{kind}>}}" if kind else ""
        head = f"  func.func @{self.function.name}({', '.join(self.arguments)}){attributes} {{"
        return [head, *e.constants, *e.lines, *self.hoisted, *body, "  return", "  }"]

    def statements(self, given: list[Instance]) -> list[str]:
        """Lines of the statements; `given` handles are declared first, unprinted."""
        e = self.emitter
        self._arguments()
        by_handle: dict[object, str] = {}
        for name, handle in self.walked.tiles.items():
            own = e.named(name) if self.settings.addresses or handle not in by_handle else by_handle[handle]
            e.owned[name] = by_handle.setdefault(handle, own)
        for p in self.tensors:
            view = e.named(f"{p.name}_view")
            e.owned[p.name] = e.bound[p.name] = view
            assert isinstance(p.type, ir.TensorType)
            e.types[view] = mlir.type_text(("TensorView", len(p.type.shape), (p.type.dtype.value,)))
            e.pointers[view] = self._pointer[p.name]
        if self.settings.addresses:
            for offset in self.walked.offsets:
                assert isinstance(offset, ir.Int)
                e.constant(offset.value, offset.dtype.value if self.settings.reference else "INT64")
        for p in self.tensors:
            if p.name not in self.walked.unviewed or p.name in self.walked.used:
                self._request_dimensions(p.type)
        for alloc in given:
            self._declare(alloc)
        e.lines = []
        for region, span in self.walked.regions:
            assert region.result is not None
            e.owned[region.result] = e.named(region.result)
            self._hoist(region, span)
        self._nodes(self.walked.body)
        body, e.lines = e.lines, []
        return body

    def _request_dimensions(self, t: ir.Type) -> None:
        assert isinstance(t, ir.TensorType)
        for d in t.shape:
            if isinstance(d, ir.Int):
                self.emitter.constant(d.value, "INDEX")
        stride = t.view.stride if t.view and t.view.stride else ()
        for s in stride:
            if isinstance(s, ir.Int):
                self.emitter.constant(s.value, "INDEX")
        if not stride:
            if len(t.shape) == 2 and isinstance(t.shape[1], ir.Int):
                self.emitter.constant(t.shape[1].value, "INDEX")
            self.emitter.constant(1, "INDEX")

    def _arguments(self) -> None:
        e = self.emitter
        others = [p for p in self.function.params if not isinstance(p.type, ir.TensorType | ir.TileType)]
        symbols: dict[str, None] = {}
        for p in self.tensors:
            assert isinstance(p.type, ir.TensorType)
            symbols.update(dict.fromkeys(names_in(p.type.shape)))
        self._pointer: dict[str, str] = {}
        count = 0

        def argument(type_: str) -> str:
            nonlocal count
            name = f"%arg{count}"
            count += 1
            e.names.add(name[1:])
            e.types[name] = type_
            self.arguments.append(f"{name}: {type_}")
            return name

        for p in self.tensors:
            assert isinstance(p.type, ir.TensorType)
            self._pointer[p.name] = argument(f"!pto.ptr<{mlir.dtype_text(p.type.dtype)}>")
        for p in others:
            text = "!pto.ptr<f32>"
            if isinstance(p.type, ir.ScalarType):
                text = mlir.dtype_text(p.type.dtype)
            elif isinstance(p.type, ir.OpaqueType) and p.type.name == "pld.CommCtxType":
                text = "!pto.ptr<i64>"
            e.bound[p.name] = argument(text)
        for window, context in self.contexts.items():
            e.contexts[self._pointer[window]] = e.bound[context]
        for s in symbols:
            e.bound[s] = argument("index")
        for kind, names in _HIDDEN:
            if kind in self.walked.hidden:
                for name in names:
                    if f"%{name}" in e.types:  # the other one of the pair asked for it
                        continue
                    if name == "":
                        e.bound[kind] = argument("!pto.ptr<i8>")
                        continue
                    type_ = "!pto.ptr<i64>" if "deferred" in kind else "i32"
                    e.names.add(name)
                    e.bound[name] = f"%{name}"
                    e.types[f"%{name}"] = type_
                    self.arguments.append(f"%{name}: {type_}")

    # ------------------------------------------------------------------------------ nodes

    def _location(self, span: Span, shape: str = "") -> Place:
        text = ""
        if self.settings.loc and span and self.settings.filename:
            text = f"{self.place}{span.line}:{max(span.column, 1)})"
        return Place(text, span, shape)

    def _nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            match node:
                case Do():
                    self._do(node)
                case Declare():
                    self.emitter.location = self._location(node.span)
                    self._declare(node.alloc)
                case Same():
                    self._same(node)
                case Loop():
                    self._loop(node)
                case WhileLoop():
                    self._while(node)
                case Branch():
                    self._branch(node)

    def _declare(self, alloc: Instance | None, *, hoisted: bool = False) -> None:
        """Print the declaration of a handle, once per name."""
        if alloc is None or alloc.result is None:
            return
        e = self.emitter
        own = e.owned[alloc.result]
        if not any(own in scope for scope in self.scopes):
            if own in self.closed:  # it was declared in a region that does not dominate this one
                again = e.named(own[1:])
                e.owned.update({name: again for name, o in e.owned.items() if o == own})
                own = again
            e.bound.pop(alloc.result, None)
            self.scopes[0 if hoisted else -1].add(own)
            e.run(alloc)
        e.bound[alloc.result] = own

    def _enter(self) -> None:
        self.scopes.append(set())

    def _leave(self) -> None:
        self.closed |= self.scopes.pop()

    def _do(self, node: Do) -> None:
        e = self.emitter
        shape = node.instance.shape
        e.location = self._location(node.span, shape)
        self._declare(node.alloc)
        e.location = self._location(node.call_span, shape)
        result = node.instance.result
        if node.shares is not None and result is not None:
            e.bound[result] = e.bound[node.shares]
        e.run(node.instance)

    def _same(self, node: Same) -> None:
        e = self.emitter
        e.location = self._location(node.span)
        self._declare(node.alloc)
        if node.alloc is None or not self.settings.addresses:
            e.bound[node.name] = e.operand(node.source)

    def _initial(self, carries: list[Carry]) -> list[tuple[Carry, str]]:
        """Initial values in order; scalars with their SSA name, handles bound to the carried name."""
        scalars = []
        for c in carries:
            name = self.emitter.operand(c.initial)
            if c.kind == "scalar":
                scalars.append((c, name))
            else:
                self.emitter.bound[c.name] = name
        return scalars

    def _after(self, carries: list[Carry]) -> None:
        for c in carries:
            if c.kind != "scalar" and c.result is not None:
                self.emitter.bound[c.result] = self.emitter.bound[c.name]

    def _loop(self, node: Loop) -> None:
        e = self.emitter
        here = e.location = self._location(node.span)
        lo, hi, step = map(e.operand, node.bounds)
        variable = e.named(node.variable)
        e.bound[node.variable] = variable
        e.types[variable] = "index"
        scalars = []
        for c in node.carries:
            initial = e.operand(c.initial)
            if c.kind == "scalar":
                carried = e.named(c.name)
                e.bound[c.name], e.types[carried] = carried, _scalar_text(c)
                scalars.append((c, initial, carried))
            else:
                e.bound[c.name] = initial
        results = [e.named(c.result or "") for c, _, _ in scalars]
        head = f"scf.for {variable} = {lo} to {hi} step {step}"
        if scalars:
            pairs = ", ".join(f"{carried} = {initial}" for _, initial, carried in scalars)
            types = ", ".join(_scalar_text(c) for c, _, _ in scalars)
            head = f"{', '.join(results)} = {head} iter_args({pairs}) -> ({types})"
        e.open(f"{head} {{")
        self._enter()
        self._nodes(node.body)
        self._leave()
        if scalars:
            e.location = self._location(node.yield_span)
            values = [e.operand(y) for y in node.yields]
            e.location = here
            e.line(f"scf.yield {', '.join(values)} : {', '.join(_scalar_text(c) for c, _, _ in scalars)}")
        e.close()
        for (c, _, _), name in zip(scalars, results, strict=True):
            if c.result is not None:
                e.bound[c.result], e.types[name] = name, _scalar_text(c)
        self._after(node.carries)

    def _while(self, node: WhileLoop) -> None:
        e = self.emitter
        here = e.location = self._location(node.span)
        scalars = self._initial(node.carries)
        types = ", ".join(_scalar_text(c) for c, _ in scalars)
        numbers = [(e.number(), e.number()) for _ in scalars]
        before, after = [b for b, _ in numbers], [a for _, a in numbers]
        results = [e.number() for _ in scalars]
        self._bind(scalars, before)
        if scalars:
            pairs = ", ".join(f"{b} = {i}" for b, (_, i) in zip(before, scalars, strict=True))
            e.open(f"{', '.join(results)} = scf.while ({pairs}) : ({types}) -> ({types}) {{")
        else:
            e.open("scf.while : () -> () {")
        condition = e.operand(node.condition)
        e.line(f"scf.condition({condition})" + (f" {', '.join(before)} : {types}" if scalars else ""))
        e.middle("} do {")
        self._bind(scalars, after)
        if scalars:
            block = ", ".join(f"{a} : {_scalar_text(c)}" for a, (c, _) in zip(after, scalars, strict=True))
            e.middle(f"^bb0({block}):")
        self._enter()
        self._nodes(node.body)
        self._leave()
        e.location = self._location(node.yield_span)
        values = [e.operand(y) for y in node.yields]
        e.location = here
        e.line("scf.yield" + (f" {', '.join(values)} : {types}" if scalars else ""))
        e.close()
        for (c, _), name in zip(scalars, results, strict=True):
            e.types[name] = _scalar_text(c)
            if c.result is not None:
                e.bound[c.result] = name
        self._after(node.carries)

    def _bind(self, scalars: list[tuple[Carry, str]], names: list[str]) -> None:
        for (c, _), name in zip(scalars, names, strict=True):
            self.emitter.bound[c.name], self.emitter.types[name] = name, _scalar_text(c)

    def _branch(self, node: Branch) -> None:
        e = self.emitter
        here = e.location = self._location(node.span)
        condition = e.operand(node.condition)
        results = []
        for m in node.merges:
            if m.kind == "scalar":
                name = e.named(m.name)
                e.types[name] = _merge_text(m.type)
                results.append((m, name))
            elif m.alloc is not None:
                self._hoist(m.alloc, self.function.span)
        for m in node.merges:
            if m.narrow is not None:
                e.run(m.narrow)
        types = ", ".join(e.types[n] for _, n in results)
        head = (
            f"{', '.join(n for _, n in results)} = scf.if {condition} -> ({types}) {{"
            if results
            else f"scf.if {condition} {{"
        )
        e.open(head)
        self._enter()
        self._nodes(node.body)
        self._yield(node, 0, types, here)
        self._leave()
        for m, source in zip(node.merges, node.sources, strict=True):
            if m.kind != "scalar" and m.alloc is None:
                e.bound[m.name] = e.operand(Var(source))
        if node.orelse is not None:
            e.middle("} else {")
            self._enter()
            self._nodes(node.orelse)
            self._yield(node, 1, types, here)
            self._leave()
        e.close()
        for m, name in results:
            e.bound[m.name] = name

    def _yield(self, node: Branch, branch: int, types: str, here: Place) -> None:
        e = self.emitter
        e.location = here
        for copy in node.copies[branch]:
            e.run(copy)
        e.location = self._location(node.yield_spans[branch])
        values = [e.operand(y) for y in node.yields[branch]]
        e.location = here
        if values:
            e.line(f"scf.yield {', '.join(values)} : {types}")

    def _hoist(self, alloc: Instance, span: Span) -> None:
        """Declare a handle in the function's head."""
        e = self.emitter
        lines, indent, location = e.lines, e.indent, e.location
        e.lines, e.indent, e.location = self.hoisted, "  ", self._location(span)
        self._declare(alloc, hoisted=True)
        e.lines, e.indent, e.location = lines, indent, location


_HIDDEN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("__pypto_deferred_raw_args", ("__pypto_deferred_raw_args",)),
    ("prefetch", ("",)),
    ("__pypto_spmd_block_idx", ("__pypto_spmd_block_idx", "__pypto_spmd_block_num")),
    ("__pypto_spmd_block_num", ("__pypto_spmd_block_idx", "__pypto_spmd_block_num")),
    ("__pypto_spmd_subblock_idx", ("__pypto_spmd_subblock_idx",)),
)


_RENAMED = re.compile(r"(\w+?)_\d+")


def second_names(body: tuple[ir.Stmt, ...]) -> dict[str, str]:
    """Variables that a dump renamed, and the name they have in memory.

    A dump names the second variable `x` of a function `x_1`. Where a branch replays its sibling, or two loops count
    with one variable, the reference has two variables `x` and gives the second one a number
    (types-and-memory.md §3.4)."""
    found: dict[str, str] = {}
    loops = {s.variable for s in ir.statements(body) if isinstance(s, ir.For)}
    for s in ir.statements(body):
        if isinstance(s, ir.For) and (m := _RENAMED.fullmatch(s.variable)) and m[1] in loops:
            found[s.variable] = m[1]
        if isinstance(s, ir.If) and s.orelse:
            first = set(_defined(s.body))
            for name in _defined(s.orelse):
                if (m := _RENAMED.fullmatch(name)) and m[1] in first:
                    found[name] = m[1]
    return found


def _defined(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    for s in ir.statements(body):
        match s:
            case ir.Assign() | ir.Yield():
                yield from s.targets
            case ir.For():
                yield from (s.variable, *s.carried)
            case ir.While():
                yield from s.carried


def _scalar_text(c: Carry) -> str:
    return _merge_text(c.type)


def _merge_text(t: ir.Type) -> str:
    assert isinstance(t, ir.ScalarType)
    return mlir.dtype_text(t.dtype)


def escaped(filename: str) -> str:
    """A file name inside `loc("…")`."""
    plain = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
    return "".join(plain.get(c, f"\\{ord(c):02X}" if ord(c) < 32 or ord(c) == 127 else c) for c in filename)
