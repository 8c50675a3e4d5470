"""A walked function as lines: its head, what the body asked for above it, and the body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pypto_rw import ir, mlir
from pypto_rw.diagnostics import Span
from pypto_rw.lowering.emit import Emitter
from pypto_rw.lowering.nodes import Branch, Carry, Declare, Do, Loop, Node, Same, Walked, WhileLoop
from pypto_rw.lowering.printed import Place
from pypto_rw.scalars import names_in
from pypto_rw.shaping.operands import Instance, Var
from pypto_rw.shaping.unit import contexts_of

if TYPE_CHECKING:
    from pypto_rw.options import Options

DEVICE = {"AIC": "cube", "AIV": "vector", "InCore": None}
_HIDDEN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("__pypto_deferred_raw_args", ("__pypto_deferred_raw_args",)),
    ("prefetch", ("",)),
    ("__pypto_spmd_block_idx", ("__pypto_spmd_block_idx", "__pypto_spmd_block_num")),
    ("__pypto_spmd_block_num", ("__pypto_spmd_block_idx", "__pypto_spmd_block_num")),
    ("__pypto_spmd_subblock_idx", ("__pypto_spmd_subblock_idx",)),
)
_RENAMED = re.compile(r"(\w+?)_\d+")


def emitter(options: Options) -> Emitter:
    if options.inspection is None:
        return Emitter(reference=options.reference)
    from pypto_rw.lowering.traced import TracingEmitter  # a plain run traces nothing

    return TracingEmitter(reference=options.reference)


class Printer:
    """Text of one walked function."""

    def __init__(self, walked: Walked, parameters: list[Instance], options: Options) -> None:
        self.walked, self.parameters, self.options = walked, parameters, options
        self.function = walked.function
        self.place = f' loc("{escaped(options.filename)}":'
        self.scopes: list[set[str]] = [set()]  # handles declared, by enclosing region
        self.closed: set[str] = set()  # handles whose region has ended
        self.hoisted: list[str] = []
        self.arguments: list[str] = []
        self.emitter = emitter(options)
        self.emitter.distinct.planned = options.addresses
        if options.reference:
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
            own = e.named(name) if self.options.addresses or handle not in by_handle else by_handle[handle]
            e.owned[name] = by_handle.setdefault(handle, own)
        for p in self.tensors:
            view = e.named(f"{p.name}_view")
            e.owned[p.name] = e.bound[p.name] = view
            assert isinstance(p.type, ir.TensorType)
            e.types[view] = mlir.type_text(("TensorView", len(p.type.shape), (p.type.dtype.value,)))
            e.pointers[view] = self._pointer[p.name]
        if self.options.addresses:
            for offset in self.walked.offsets:
                assert isinstance(offset, ir.Int)
                e.constant(offset.value, offset.dtype.value if self.options.reference else "INT64")
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
        if self.options.loc and span and self.options.filename:
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
        if node.alloc is not None:
            e.location = self._location(node.span, shape)
            self._declare(node.alloc)
        e.location = self._location(node.call_span, shape)
        result = node.instance.result
        if node.shares is not None and result is not None:
            e.bound[result] = e.bound[node.shares]
        e.run(node.instance)
        if result is not None and (handle := e.owned.get(result)) is not None:
            e.bound.setdefault(result, handle)  # it writes the handle of what the branches yield

    def _same(self, node: Same) -> None:
        e = self.emitter
        e.location = self._location(node.span)
        self._declare(node.alloc)
        if node.alloc is None or not self.options.addresses:
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
    """A file name inside `loc("…")`; what is no text in it as its byte."""
    plain = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
    return "".join(plain.get(c, f"\\{ord(c) & 0xFF:02X}" if _is_byte(c) else c) for c in filename)


def _is_byte(char: str) -> bool:
    """A control character, or a byte of a name that is not UTF-8, as the system hands it on."""
    return char < " " or char == "\x7f" or "\udc80" <= char <= "\udcff"
