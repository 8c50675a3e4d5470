"""A function's statements as a tree of instances, in order: what the emitter prints.

The walk knows names, scopes, allocations and regions; what a call means is in its rules. Facts it reads off the
rule files: `(in-place op operand when)` - the result takes that operand's handle; `(makes op kind)` and
`(makes-window op source offsets)` - how the result came to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic, Span
from pypto_rw.layout import effective_view
from pypto_rw.lowering import allocations, slots
from pypto_rw.lowering.nodes import (
    Branch,
    Carry,
    Declare,
    Do,
    Loop,
    Merge,
    Node,
    Same,
    Scoped,
    Walked,
    WhileLoop,
)
from pypto_rw.records import replace
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Signature
from pypto_rw.scalars import WIDE, names_in
from pypto_rw.shaping.operands import Instance, Operand, Var
from pypto_rw.shaping.shapes import FLOATS, Refused, Shaper, Value, Window, apart, bind, kind_name, kind_of
from pypto_rw.shaping.typing import type_of
from pypto_rw.shaping.unit import Surroundings, contexts_of, windows_and_contexts

_ARGUMENTS = frozenset(
    d
    for d in ir.DType
    if d.value in ("BOOL", "INDEX", "FP16", "BF16", "FP32", "TASK_ID")
    or (d.value.startswith(("INT", "UINT")) and not d.value.endswith("T4"))
)


class Walker:
    """Walks one function; `diagnostics` collects every refusal.

    `place` gives a tile whose type was deduced its memory; `marks` adds the fences and cache marks that stores into
    windows, remote stores and waits need."""

    def __init__(
        self,
        engine: Engine,
        function: ir.Function,
        *,
        addresses: bool,
        filename: str,
        place: Callable[[str, ir.Type], ir.Type] = lambda name, t: t,
        surroundings: Surroundings | None = None,
        marks: bool = False,
    ) -> None:
        self.place = place
        self.marks = marks
        self.engine, self.function, self.addresses, self.filename = engine, function, addresses, filename
        self.values = Scoped()
        self.diagnostics: list[Diagnostic] = []
        self.shaper = Shaper(
            engine, self.values.get, addresses=addresses, surroundings=surroundings or Surroundings(function)
        )
        self.tiles: dict[str, object] = {}
        self.offsets: list[ir.Expr] = []
        self.used: set[str] = set()
        self.hidden: set[str] = set()
        self.declared: dict[str, str] = {}  # functions that the text calls, with their types
        self.elements: dict[str, dict[int, ir.Assign]] = {}
        self.redirected: dict[str, object] = {}
        self.regions: dict[str, Instance] = {}
        self.merged: dict[str, Value] = {}
        self.written: dict[str, str] = {}  # parameter -> "tile" or "scalar", by what stores into it
        self.allocations: dict[str, allocations.Allocation] = {}
        self._within: dict[int, ir.TileType] = {}  # types that are within their allocation
        self.unviewed: set[str] = {"__gm_pipe_buffer"}
        self._types_in: dict[object, set[object]] | None = None

    def walk(self) -> Walked:
        """The whole function."""
        for p in self.function.params:
            if isinstance(p.type, ir.ScalarType) and p.type.dtype not in _ARGUMENTS:
                refused = Refused(
                    "scalar-dtype",
                    f"the parameter {p.name} is a scalar of {p.type.dtype.value}; the chip takes none of it",
                    p.span,
                    "pass it as an integer or float of at least 8 bits, or in a tensor",
                )
                self.diagnostics.append(refused.diagnostic(p.span, self.filename, self.function.name))
            if isinstance(p.type, ir.TileType) and p.type.memref is not None:  # in a rule's example
                self.values[p.name] = self._tile(p.name, p.type)
            else:
                self.values[p.name] = Value(p.type, root=p.name)
        self._contexts()
        for p in self.function.params:
            if isinstance(p.type, ir.TensorType):
                self._symbols(p.type)
                if p.type.view is not None and p.type.view.marker and p.type.view.layout is ir.TensorLayout.DN:
                    refused = Refused(
                        "dn-marker",
                        f"pl.DN as a layout-only marker of {p.name} does not say where its elements are",
                        p.span,
                        "write the source shape and derive DN with pl.transpose(x, -2, -1), or a_trans / b_trans",
                    )
                    self.diagnostics.append(refused.diagnostic(p.span, self.filename, self.function.name))
        if not self.addresses:
            self._regions()
        body = self.block(self.function.body)
        self.hidden |= self.shaper.hidden
        return Walked(
            self.function,
            body,
            self.tiles,
            self.offsets,
            self.used,
            self.hidden,
            self._placed_regions(),
            self.unviewed,
        )

    def _contexts(self) -> None:
        if windows_and_contexts(self.function) == ([], []):
            return
        from pypto_rw.distributed.windows import require_contexts  # only kernels with windows need that module

        try:
            require_contexts(self.function)
        except Refused as refused:
            self.diagnostics.append(refused.diagnostic(self.function.span, self.filename, self.function.name))
            for name in windows_and_contexts(self.function)[0]:
                self.values[name] = replace(self.values[name], root=None)  # reported once

    def _one_window(self, name: str, first: Value, second: Value | None, where: str, span: Span) -> None:
        if second is not None and first.root != second.root:
            from pypto_rw.distributed.windows import require_one_window

            require_one_window(name, first, second, where, span)

    def _regions(self) -> None:
        for region in slots.regions(self.function.body).values():
            _, t, span = region.tiles[0]
            try:
                slots.require(region)
            except Refused as refused:
                self.diagnostics.append(refused.diagnostic(span, self.filename, self.function.name))
                continue
            self.regions[region.base] = self.shaper.region(f"{region.base}_mb", t)

    def _placed_regions(self) -> list[tuple[Instance, Span]]:
        """Regions, each at the statement that makes its allocation."""
        made = {s.targets[0]: s.span for s in self.function.body if isinstance(s, ir.Assign)}
        return [(r, made.get(base, self.function.span)) for base, r in self.regions.items()]

    def _symbols(self, t: ir.TensorType) -> None:
        for name in names_in(t.shape):
            self.values.setdefault(name, Value(ir.ScalarType(ir.DType.INDEX), bounds=(0, WIDE)))

    # ------------------------------------------------------------------------- statements

    def block(self, body: tuple[ir.Stmt, ...]) -> list[Node]:
        """Nodes of a block; a refused statement is reported and left out."""
        out: list[Node] = []
        for stmt in body:
            if (
                isinstance(stmt, ir.Assign)
                and isinstance(stmt.value, ir.Item)
                and isinstance(stmt.value.value, ir.Name)
            ):
                self.elements.setdefault(stmt.value.value.id, {})[stmt.value.index] = stmt
        depth = self.values.depth()
        for stmt in self._marked(body) if self.marks else body:
            try:
                out.extend(self.statement(stmt))
            except Refused as refused:
                while self.values.depth() > depth:  # it was refused inside a block of its own
                    self.values.leave()
                self._explain_symbol(refused, stmt)
                self.diagnostics.append(refused.diagnostic(stmt.span, self.filename, self.function.name))
                self._poison(stmt)
        return out

    def _marked(self, body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
        """The statements of a block, each followed by its marks; marks that already follow are not doubled."""
        from pypto_rw.distributed.windows import marks

        at = 0
        while at < len(body):
            stmt = body[at]
            at += 1
            yield stmt
            call = stmt.value if isinstance(stmt, ir.Assign | ir.Evaluate) else None
            if not isinstance(call, ir.Call):
                continue
            for mark in marks(call, self.engine.rulebook.signature(call.callee), self.values.get):
                following = body[at] if at < len(body) else None
                if isinstance(following, ir.Evaluate) and following.value == mark:
                    yield following
                    at += 1
                else:
                    yield ir.Evaluate(mark, stmt.span)

    def _explain_symbol(self, refused: Refused, stmt: ir.Stmt) -> None:
        """A symbol that only a valid_shape names is no argument of the function: say so."""
        if refused.code != "undefined-name" or refused.name is None:
            return
        refused.message = f"{refused.message} in {self.function.name}"
        self.values[refused.name] = Value(ir.ScalarType(ir.DType.INDEX))  # reported once
        result = stmt.type if isinstance(stmt, ir.Assign) and isinstance(stmt.type, ir.TileType) else None
        if result is not None and refused.name in names_in(effective_view(result).valid):
            refused.help = (
                f"only the dimensions of tensor parameters are arguments by themselves, not what a valid_shape of "
                f"pl.load or pl.TensorView names: pass it as the parameter {refused.name}: pl.Scalar[pl.INDEX]"
            )
        for p in self.function.params:
            view = p.type.view if isinstance(p.type, ir.TensorType) else None
            if view is not None and view.valid and refused.name in names_in(view.valid):
                refused.help = (
                    f"{refused.name} stands only in the pl.TensorView(valid_shape=…) of the parameter {p.name}: pass "
                    f"it as the parameter {refused.name}: pl.Scalar[pl.INDEX], or give pl.load a valid_shape"
                )

    def _poison(self, stmt: ir.Stmt) -> None:
        """After a refusal: the targets keep their written type, so that one fault is reported once."""
        if isinstance(stmt, ir.For | ir.While | ir.If) and stmt.body and isinstance(stmt.body[-1], ir.Yield):
            self._poison(stmt.body[-1])
        if isinstance(stmt, ir.Assign | ir.Yield) and stmt.type is not None:
            for name in stmt.targets:
                place = (name, name, name)
                if name not in self.values:
                    self.values[name] = Value(stmt.type, place=place if kind_of(stmt.type) == "tile" else None)

    def statement(self, stmt: ir.Stmt) -> Iterator[Node]:
        """Nodes of one statement."""
        match stmt:
            case ir.Assign():
                yield from self._assign(stmt)
            case ir.Evaluate():
                if not isinstance(stmt.value, ir.Call):
                    raise Refused("no-effect", "this expression has no effect; assign it or remove it")
                yield from self._call(stmt.value, None, None, stmt.span)
            case ir.For():
                yield self._for(stmt)
            case ir.While():
                yield self._while(stmt)
            case ir.If():
                yield self._if(stmt)
            case ir.Return():
                for v in stmt.values:
                    self._use(v)
            case ir.Yield():
                raise Refused("stray-yield", "pl.yield_ must be the last statement of a loop body or a branch")
            case ir.Jump():
                if stmt.kind != "...":
                    raise Refused(
                        "jump",
                        f"{stmt.kind} has no instruction: a loop in a kernel ends by its condition alone",
                        help=_INSTEAD[stmt.kind],
                    )
            case ir.Scope():
                raise Refused("scope", "a scope statement cannot be in a device function", stmt.call.span)

    def _use(self, expr: ir.Expr) -> None:
        if isinstance(expr, ir.Name):
            self.used.add(expr.id)
        elif not isinstance(expr, ir.Int | ir.Symbol):
            self.used.update(names_in((expr,)))

    def _assign(self, stmt: ir.Assign) -> Iterator[Node]:
        value = stmt.value
        if len(stmt.targets) != 1:
            raise Refused("tuple-target", "several names need a pl.yield_ on the right")
        name = stmt.targets[0]
        if isinstance(value, ir.Call):
            yield from self._call(value, name, stmt.type, stmt.span)
            return
        if isinstance(value, ir.Item) and isinstance(value.value, ir.Name):
            of = self.values.get(value.value.id)
            if of is not None and isinstance(of.type, ir.TupleType):  # its call has been refused
                self._poison(stmt)
            elif name not in self.values:
                raise Refused("tuple-element", f"{value.value.id} is no tuple with an element {value.index}")
            return  # declared where the tuple was made
        if isinstance(value, ir.Name):
            found = self.values.get(value.id)
            if found is not None and kind_of(found.type) != "scalar":
                yield self._alias(name, value.id, found, stmt)
                return
        self._use(value)
        dtype = self.shaper.dtype(value)
        written = stmt.type if isinstance(stmt.type, ir.ScalarType) else ir.ScalarType(dtype)
        operand = self.shaper.assigned(value, dtype, written.dtype)
        known = self.shaper.bounds(value)
        constant = self.shaper.resolved(value)
        self.values[name] = Value(
            written, bounds=known, constant=constant if isinstance(constant, ir.Int | ir.Float) else None
        )
        if isinstance(operand, Instance):
            operand.result = name
            yield Do(operand, None, stmt.span, stmt.span)
        elif isinstance(operand, Var) or operand.dtype == "BOOL":
            yield Same(name, operand, None, stmt.span)

    def _alias(self, name: str, source: str, found: Value, stmt: ir.Assign) -> Same:
        self.used.add(source)
        alloc = None
        value = replace(found, type=stmt.type or found.type)
        if isinstance(value.type, ir.TileType) and value.type.memref is not None:
            own = self._tile(name, value.type)
            alloc = self._alloc(name, own)
            if self.addresses:
                value = own
        self.values[name] = value
        return Same(name, Var(source), alloc, stmt.span)

    # ------------------------------------------------------------------------------ calls

    def _call(self, call: ir.Call, name: str | None, written: ir.Type | None, span: Span) -> Iterator[Node]:
        if call.callee in ("tile.alloc", "tensor.alloc"):
            if name is not None:
                self.values[name] = Value(ir.OpaqueType("pl.Ptr"))
                if call.callee == "tile.alloc":
                    self.allocations[name] = allocations.allocation(call)
            return
        signature = self.shaper.signature(call)
        unseen = signature.trait("no-view")
        if name is not None and written is not None and kind_of(written) == "effect":
            self.values[name] = Value(written)  # such a name only says that there was a call
            name = None
        if name is not None and signature.trait("effect") is not None:
            raise Refused(
                "no-value",
                f"{call.callee} gives no value, but it is assigned to {name}",
                call.span,
                f"write the call alone, or name it {name}: pl.UnknownType",
            )
        arguments = bind(call, signature)
        if call.callee.startswith("pld."):
            from pypto_rw.distributed.windows import require_windows

            require_windows(call, signature, arguments, self.values.get, contexts_of(self.function))
        for parameter, argument in arguments.items():
            if unseen is None or parameter not in unseen:
                self._use(argument)
            elif isinstance(argument, ir.Name):
                self.unviewed.add(argument.id)
        if trait := signature.trait("declares"):
            self.declared[trait[0]] = trait[1]
        if name is not None and isinstance(written, ir.TupleType):
            yield from self._pair(call, signature, name, written, span)
            return
        value, shares = self._result(call, signature, arguments, name, written)
        self._spaces(call, signature, arguments)
        if shares is None and value is not None:
            self._in_its_buffer(call, signature, arguments, value)
        instance = self.shaper.call(call, signature, value, name, arguments)
        alloc = None
        if name is not None and value is not None:
            if name in self.tiles and name not in self.redirected and shares is None:
                alloc = self._alloc(name, value)
            if isinstance(value.type, ir.TileType):
                self._require_memory(name, value.type, signature, call)
                self.used.update(names_in(effective_view(value.type).valid))
            if not self.addresses and value.place is not None and signature.trait("makes") is not None:
                value = replace(value, place=(*value.place[:2], name))  # a view has a handle of its own
            self.values[name] = value
        for trait in signature.all("materialises"):
            self._materialised(arguments.get(trait[0]))
        self._note_store(signature, arguments, name)
        self._use_types(value)
        yield Do(instance, alloc, span, call.span or span, shares)

    def _materialised(self, expr: ir.Expr | None) -> None:
        """A window that the op copied into its own allocation is an ordinary tile from here on."""
        found = self._operand_value(expr)
        if isinstance(expr, ir.Name) and found is not None and found.window is not None:
            assert found.window is not None
            self.values[expr.id] = replace(found, window=found.window._replace(memory=2))

    def _pair(
        self, call: ir.Call, signature: Signature, name: str, written: ir.TupleType, span: Span
    ) -> Iterator[Node]:
        """A call with two tiles as results: both are declared first, then written by the call."""
        elements = self.elements.get(name, {})
        results = []
        for k in range(len(written.items)):
            stmt = elements.get(k)
            if stmt is None or not isinstance(stmt.type, ir.TileType) or stmt.type.memref is None:
                raise Refused(
                    "tuple-element", f"element {k} of {name} must be bound to a tile with an allocation", call.span
                )
            value = self._tile(stmt.targets[0], stmt.type)
            self.values[stmt.targets[0]] = value
            results.append((stmt.targets[0], value))
            yield Declare(self._alloc(*results[-1]), span)
        if len(results) != 2:
            raise Refused("tuple-element", f"{call.callee} gives 2 tiles; {name} has {len(results)}", call.span)
        yield Do(self.shaper.call_for_pair(call, signature, results, name), None, span, call.span or span)

    def _note_store(self, signature: Signature, arguments: dict[str, ir.Expr], name: str | None) -> None:
        """A tensor is written by tile stores or by scalar writes, never by both: their order is not kept."""
        trait = signature.trait("in-place")
        target = arguments.get(trait[0]) if trait else None
        found = self._operand_value(target)
        if not isinstance(target, ir.Name) or found is None or not isinstance(found.type, ir.TensorType):
            return
        root = found.root or target.id
        by = "scalar" if signature.op == "tensor.write" else "tile"
        if self.written.setdefault(root, by) != by:
            raise Refused(
                "mixed-stores",
                f"{root} is written by tile stores (MTE3) and by scalar writes; their order is not kept",
                help="write it one way: through a tile, or element by element",
            )

    def _spaces(self, call: ir.Call, signature: Signature, arguments: dict[str, ir.Expr]) -> None:
        """Tile operands are where the op reads them: `(reads op "Vec Vec -")`, one word an operand."""
        for parameter, spaces in signature.usage.spaces:
            found = self._operand_value(arguments.get(parameter))
            if found is None or not isinstance(found.type, ir.TileType) or found.type.space is None:
                continue
            if found.type.space.value not in spaces:
                raise Refused(
                    "memory-space",
                    f"{call.callee}: {parameter} must be in {' or '.join(spaces)}, but it is in "
                    f"{found.type.space.value}",
                    call.span,
                    f"move it there first: pl.tile.move(…, target_memory=pl.Mem.{spaces[0]})",
                )

    def _in_its_buffer(self, call: ir.Call, signature: Signature, arguments: dict[str, ir.Expr], value: Value) -> None:
        """An op that updates an operand in place gives its result that operand's buffer."""
        trait = signature.trait("in-place")
        if trait is None or value.place is None or signature.trait("only-in-place") is None:
            return
        source = self._operand_value(arguments.get(trait[0]))
        if source is not None and source.place is not None and source.place[0] != value.place[0]:
            raise Refused(
                "in-place-buffer",
                f"{call.callee} updates {trait[0]} in place, but its result is in another allocation",
                call.span,
                f"give the result the pl.MemRef of {trait[0]}",
            )

    def _in_place_memory(self, t: ir.Type, signature: Signature, arguments: dict[str, ir.Expr]) -> ir.Type:
        """A result that can only be in an operand's buffer is there, if it says nothing else."""
        trait = signature.trait("in-place")
        if signature.trait("only-in-place") is None or trait is None or not isinstance(t, ir.TileType) or t.memref:
            return t
        source = self._operand_value(arguments.get(trait[0]))
        if source is None or not isinstance(source.type, ir.TileType):
            return t
        return replace(t, memref=source.type.memref, space=t.space or source.type.space)

    def _require_memory(self, name: str, t: ir.TileType, signature: Signature, call: ir.Call) -> None:
        """A tile lives in an allocation, unless its op takes it from elsewhere, as a pop does."""
        elsewhere = signature.trait("makes") or ("",)
        if t.memref is None and not elsewhere[0].startswith("popped") and not self._views_popped(signature, call):
            raise Refused(
                "tile-without-memory",
                f"the tile {name} has no allocation",
                call.span,
                "annotate it with a pl.MemRef and a memory space",
            )

    def _views_popped(self, signature: Signature, call: ir.Call) -> bool:
        """Whether the result is a view of, or the same as, a tile without an allocation."""
        if not any(signature.trait(t) for t in ("makes", "makes-window", "in-place")):
            return False
        source = self._operand_value(call.args[0]) if call.args else None
        return source is not None and isinstance(source.type, ir.TileType) and source.type.memref is None

    def _use_types(self, value: Value | None) -> None:
        if value is not None and isinstance(value.type, ir.TensorType):
            self.used.update(names_in(value.type.shape))

    def _result(
        self,
        call: ir.Call,
        signature: Signature,
        arguments: dict[str, ir.Expr],
        name: str | None,
        written: ir.Type | None,
    ) -> tuple[Value | None, str | None]:
        """What is known of a call's result, and the operand whose handle it takes."""
        if name is None:
            return None, None
        shares = None
        written = written if written is not None else self._deduced(call, signature, name)
        written = self._in_place_memory(written, signature, arguments)
        if not (signature.trait("makes") or ("",))[0].startswith("popped"):
            written = self.place(name, written)
        value = Value(written)
        if isinstance(written, ir.TileType) and written.memref is not None:
            value = self._tile(name, written)
        if (trait := signature.trait("in-place")) and (source := self._operand_value(arguments.get(trait[0]))):
            taken = trait[1]
            operand = arguments[trait[0]]
            if taken == "always" or (value.place and source.place and self._shares(taken, value, source)):
                handle = source.place[2] if source.place else name
                place = (*value.place[:2], handle) if value.place else source.place
                value = replace(value, place=place, origin=source.origin, window=source.window)
                shares = operand.id if isinstance(operand, ir.Name) else None
                if isinstance(written, ir.TileType) and written.memref is not None and name in self.tiles:
                    self.tiles[name] = handle
        if (trait := signature.trait("in-place") or signature.trait("inherits")) and isinstance(
            value.type, ir.TensorType
        ):
            source = self._operand_value(arguments.get(trait[0]))
            of = source.type if source is not None else None
            distributed = value.type.distributed or (isinstance(of, ir.TensorType) and of.distributed)
            t = replace(value.type, distributed=distributed)
            value = replace(value, type=t, root=source.root if source else None)
        if trait := signature.trait("makes") or signature.trait("yields"):
            value = replace(value, origin=trait[0])
        if trait := signature.trait("makes-window"):
            value = replace(value, origin="window")
            source = self._operand_value(arguments.get(trait[0]))
            offsets = arguments.get(trait[1])
            if source and source.place and isinstance(offsets, ir.Tuple) and len(offsets.items) == 2:
                value = replace(value, window=self._window(source, value, offsets))
        return value, shares

    def _window(self, source: Value, value: Value, offsets: ir.Tuple) -> Window:
        """What the window `value` of the tile `source` looks at."""
        assert source.place is not None and isinstance(source.type, ir.TileType)
        row, col = map(self.shaper.resolved, offsets.items)
        last = source.type.shape[-1]
        columns = last.value if isinstance(last, ir.Int) else 0
        whole: object = source.place[1]
        if source.window is not None:
            columns, whole = max(columns, source.window.columns), source.window.bytes
        memory = int(value.place is not None and apart(value.place[1], whole))
        return Window(source.place[2], row, col, columns, whole, memory)

    def _deduced(self, call: ir.Call, signature: Signature, name: str) -> ir.Type:
        """The result type of a call without an annotation, by its rules."""
        instance, extents = self.shaper.untyped(call, signature)
        self.engine.rewrite([instance.shape])
        found = self.engine.result(instance.shape)
        if found.findings:
            raise Refused(
                found.findings[0].rule.rsplit("/", 1)[-1],
                found.findings[0].message,
                call.span,
                found.findings[0].help,
                self.engine.rule_place(found.findings[0].rule),
            )
        if found.deduced is None:
            raise Refused(
                "no-type",
                f"the type of {name} is not known",
                call.span,
                f"annotate it: {name}: pl.Tile[…] = …",
            )
        return type_of(found.deduced, extents)

    def _operand_value(self, expr: ir.Expr | None) -> Value | None:
        return self.values.get(expr.id) if isinstance(expr, ir.Name) else None

    def _shares(self, how: str, a: Value, b: Value) -> bool:
        assert a.place and b.place
        if how == "same-buffer":
            return a.place[0] == b.place[0]
        return a.place[:2] == b.place[:2] and signature_of(a.type) == signature_of(b.type)

    def _tile(self, name: str, t: ir.TileType) -> Value:
        """The value of a tile with memory of its own; takes its name and notes its address."""
        memref = t.memref
        assert memref is not None
        if id(t) not in self._within:
            allocations.require(name, t, self.allocations)
            self._within[id(t)] = t  # the reference keeps the id valid
        for extent, size in zip(effective_view(t).valid, t.shape, strict=False):
            n, most = self.shaper.resolved(extent), self.shaper.resolved(size)
            if isinstance(most, ir.Int) and most.value <= 0:
                raise Refused("tile-extent", f"{name}: an extent of a tile must be positive; got {most.value}")
            if isinstance(n, ir.Int) and isinstance(most, ir.Int) and not 0 <= n.value <= most.value:
                raise Refused("valid-extent", f"{name}: the valid extent {n.value} is not within 0..{most.value}")
        old = self.values.get(name)
        if old is not None and self.values.here(name) and isinstance(old.type, ir.TileType) and old.type != t:
            raise Refused(
                "redefined-name",
                f"{name} is defined again in one block, as another tile: the first one's handle would be taken",
                help="give the second tile a name of its own",
            )
        offset = self.shaper.resolved(memref.offset) if memref.offset is not None else None
        if offset is not None and not isinstance(offset, ir.Int):
            dtype = self.shaper.dtype(offset)
            if dtype in FLOATS or dtype is ir.DType.BOOL:
                raise Refused(
                    "memref-offset",
                    f"the byte offset of {name} must be an integer; its dtype is {dtype.value}",
                    help="write the offset in bytes: pl.const(4096, pl.INT64)",
                )
        identity = self._identity(memref)
        if name in self.redirected:
            handle: object = self.redirected[name]
        else:
            handle = name if self.addresses else identity
        self.tiles.setdefault(name, handle)
        if isinstance(offset, ir.Int):
            self.offsets.append(offset)
        # two allocations may share bytes, so a range is named by where it is, not by its allocation
        bytes_ = (t.space, *identity[1:]) if self.addresses else identity
        return Value(t, place=(memref.base, bytes_, handle))

    def _identity(self, memref: ir.MemRef) -> tuple[object, ...]:
        """The bytes a tile occupies: allocation, offset by value, size."""
        offset = self.shaper.resolved(memref.offset) if memref.offset is not None else None
        where = offset.value if isinstance(offset, ir.Int) else offset
        return (
            memref.base,
            where,
            memref.size,
            self.shaper.resolved(memref.slot) if memref.slot is not None else None,
        )

    def _alloc(self, name: str, value: Value) -> Instance:
        """What declares a tile's handle: its allocation, or a slot of a region."""
        t = value.type
        memref = t.memref if isinstance(t, ir.TileType) else None
        if memref is not None and memref.base in self.regions and memref.slot is not None:  # a view selects none
            assert isinstance(t, ir.TileType)
            return self.shaper.slot(f"{memref.base}_mb", name, t)
        return self.shaper.alloc(name, value)

    # ---------------------------------------------------------------------------- regions

    def _bound(self, expr: ir.Expr) -> Operand:
        self._use(expr)
        return self.shaper.index(expr)

    def _for(self, stmt: ir.For) -> Loop:
        if stmt.kind in ("unroll", "pipeline"):
            raise Refused(
                "loop-kind",
                f"a pl.{stmt.kind} loop must be expanded before code generation",
                help="it needs the tensor-level pipeline; write pl.range here",
            )
        start: ir.Expr = ir.Int(0)
        step: ir.Expr = ir.Int(1)
        if len(stmt.bounds) == 1:
            stop = stmt.bounds[0]
        else:
            start, stop = stmt.bounds[:2]
            step = stmt.bounds[2] if len(stmt.bounds) == 3 else step
        known = self.shaper.resolved(step)
        if isinstance(known, ir.Int) and known.value <= 0:
            raise Refused("loop-step", f"scf.for needs a positive step; this loop's is {known.value}")
        lo, hi, by = map(self._bound, (start, stop, step))
        carries = self._carries(stmt.carried, stmt.initial, stmt.body)
        dtype = next(
            (b.dtype for b in stmt.bounds if isinstance(b, ir.Int) and b.dtype is not ir.DType.INDEX),
            ir.DType.INDEX,
        )
        first = self.shaper.bounds(start)
        last = self.shaper.bounds(stop)
        body, yields = self._carrying_body(
            stmt.body,
            carries,
            {stmt.variable: Value(ir.ScalarType(dtype), bounds=(first[0], max(first[0], last[1] - 1)))},
        )
        return Loop(stmt.variable, (lo, hi, by), carries, body, yields, stmt.span, _yield_span(stmt.body, stmt.span))

    def _while(self, stmt: ir.While) -> WhileLoop:
        carries = self._carries(stmt.carried, stmt.initial, stmt.body)
        self.values.enter()
        for carry in carries:
            self.values[carry.name] = self._carried_value(carry)
        condition = self._condition(stmt.condition)
        self.values.leave()
        body, yields = self._carrying_body(stmt.body, carries, {})
        return WhileLoop(condition, carries, body, yields, stmt.span, _yield_span(stmt.body, stmt.span))

    def _condition(self, expr: ir.Expr) -> Operand:
        self._use(expr)
        dtype = self.shaper.dtype(expr)
        if dtype is not ir.DType.BOOL:
            from pypto_rw.wording import compared

            raise Refused("condition-dtype", f"a condition must be BOOL; got {dtype.value}", help=compared(expr))
        return self.shaper.scalar(expr)

    def _carries(self, names: tuple[str, ...], initial: tuple[ir.Expr, ...], body: tuple[ir.Stmt, ...]) -> list[Carry]:
        last = body[-1] if body else None
        results: tuple[str, ...] = last.targets if isinstance(last, ir.Yield) else ()
        carries = []
        for k, (name, init) in enumerate(zip(names, initial, strict=True)):
            self._use(init)
            found = self.values.get(init.id) if isinstance(init, ir.Name) else None
            kind = kind_of(found.type) if found is not None else "scalar"
            result = results[k] if k < len(results) else None
            if kind == "scalar":
                type_: ir.Type = ir.ScalarType(self.shaper.dtype(init))
                operand = self.shaper.scalar(init)
            else:
                assert found is not None and isinstance(init, ir.Name)
                type_, operand = found.type, Var(init.id)
            carries.append(Carry(name, kind, operand, result, type_))
        return carries

    def _carried_value(self, carry: Carry) -> Value:
        """What a loop's body sees under a carried name: a scalar of its own, or the handle of the initial value."""
        if carry.kind == "scalar":
            return Value(carry.type)
        assert isinstance(carry.initial, Var)
        return self.values[carry.initial.name]

    def _carrying_body(
        self, body: tuple[ir.Stmt, ...], carries: list[Carry], inside: dict[str, Value]
    ) -> tuple[list[Node], list[Operand]]:
        """A loop's body and what it yields; `inside` are names that only the body sees."""
        last = body[-1] if body else None
        if not isinstance(last, ir.Yield) and carries:
            names = ", ".join(c.name for c in carries)
            raise Refused(
                "missing-yield",
                f"a loop with carried values ({len(carries)}) must end in pl.yield_",
                help=f"end the body with results = pl.yield_(…), the next value of each of {names}",
            )
        initial = {c.name: self._carried_value(c) for c in carries}
        self.values.enter()
        try:
            for name, value in {**inside, **initial}.items():
                self.values[name] = value
            if not isinstance(last, ir.Yield):
                return self.block(body), []
            nodes = self.block(body[:-1])
            if len(last.values) != len(carries):
                raise Refused(
                    "yield-count",
                    f"the loop carries {len(carries)} values, but {len(last.values)} are yielded",
                    last.span,
                )
            yields = [
                y
                for carry, value in zip(carries, last.values, strict=True)
                for y in self._carried_on(carry, value, last)
            ]
        finally:
            self.values.leave()
        for carry in carries:
            if carry.result is not None:
                self.values[carry.result] = initial[carry.name]
        return nodes, yields

    def _carried_on(self, carry: Carry, value: ir.Expr, end: ir.Yield) -> Iterator[Operand]:
        """The yielded value of a scalar carry; a tile must already be where the carry is."""
        self._use(value)
        if carry.kind == "scalar":
            dtype = self.shaper.dtype(value)
            assert isinstance(carry.type, ir.ScalarType)
            if dtype is not carry.type.dtype:
                raise Refused(
                    "carry-dtype",
                    f"{carry.name} is carried as {carry.type.dtype.value}, but {dtype.value} is yielded",
                    end.span,
                    "a carried value keeps the dtype of its initial value; convert with pl.cast",
                )
            yield self.shaper.scalar(value)
            return
        found, carried = self._operand_value(value), self.values[carry.name]
        if found is None or kind_of(found.type) != carry.kind:
            raise Refused(
                "carry-kind",
                f"the loop carries {carry.name}, {kind_name(carry.type)}, but yields "
                f"{kind_name(found.type) if found is not None else 'a scalar'}",
                end.span,
                "yield what is carried on, of one kind with its initial value",
            )
        if carry.kind == "tile" and signature_of(found.type) != signature_of(carried.type):
            from pypto_rw.wording import unlike

            was, yielded = unlike(carried.type, found.type if found else None)
            raise Refused(
                "carry-type",
                f"the loop carries {carry.name} as a tile of {was}, but yields one of {yielded}",
                end.span,
                "yield a tile of the shape, dtype and layout of the initial value",
            )
        if carry.kind == "tensor":
            self._one_window(carry.name, carried, found, "the loop carries one and yields the other", end.span)
        both = found.place if found else None, carried.place
        if carry.kind == "tile" and both[0] and both[1] and _start(both[0][1]) != _start(both[1][1]):
            raise Refused(
                "carry-buffer",
                f"the loop carries {carry.name} in one buffer, but yields a tile in another, which the next iteration "
                "would not see",
                end.span,
                f"end the body with a pl.tile.move into the buffer of {carry.name}, and yield that",
            )

    def _if(self, stmt: ir.If) -> Branch:
        condition = self._condition(stmt.condition)
        then, other = (_split(stmt.body), _split(stmt.orelse)) if stmt.orelse else (_split(stmt.body), ((), None))
        ends = then[1], other[1]
        names = ends[0].targets if ends[0] is not None else ()
        if names and stmt.orelse is None:
            raise Refused("missing-else", "an if with results must have an else")
        values = tuple(e.values if e is not None else () for e in ends)
        if names and len(values[0]) != len(values[1]):
            raise Refused("yield-count", f"the branches yield {len(values[0])} and {len(values[1])} values")
        if not self.addresses:
            self._redirect(stmt, names, values)
        merges = []
        yields: tuple[list[Operand], list[Operand]] = ([], [])
        self.values.enter()
        nodes = self.block(then[0])
        self._yielded(ends[0], yields[0])
        inner = self.values.leave()
        self.values.enter()
        orelse = self.block(other[0]) if stmt.orelse is not None else None
        self._yielded(ends[1], yields[1])
        inner = {**inner, **self.values.leave()}
        self.values.enter()
        for name, value in inner.items():
            self.values[name] = value
        sources = []
        copies: tuple[list[Instance], list[Instance]] = ([], [])
        for k, name in enumerate(names):
            self._one_kind(name, ends, k)
            merges.append(self._merge(name, ends, k))
            self.merged[name] = self.values[name]
            source = values[0][k]
            sources.append(source.id if isinstance(source, ir.Name) else "")
            for branch in (0, 1):
                self._copied(name, values[branch][k], copies[branch])
        self.values.leave()
        for merge in merges:
            self.values[merge.name] = self.merged[merge.name]
        spans = _yield_span(stmt.body, stmt.span), _yield_span(stmt.orelse or (), stmt.span)
        return Branch(condition, merges, nodes, orelse, yields, sources, copies, stmt.span, spans)

    def _redirect(self, stmt: ir.If, names: tuple[str, ...], values: tuple[tuple[ir.Expr, ...], ...]) -> None:
        """Without addresses a branch's own result writes the merged handle directly."""
        bodies = stmt.body, stmt.orelse or ()
        last = stmt.body[-1]
        for k in range(len(names)):
            first = values[0][k]
            written = last.type if isinstance(last, ir.Yield) and last.type is not None else None
            if written is None and isinstance(first, ir.Name):
                written = self._written(first.id, bodies[0])
            if not isinstance(written, ir.TileType) or written.memref is None:
                continue
            handle: object = self._identity(written.memref)
            if len(self._signatures().get(handle, ())) > 1:
                handle = names[k]  # tiles of several types share the bytes: the merged one needs a handle of its own
                self.redirected[names[k]] = handle
            for branch in (0, 1):
                value = values[branch][k]
                if isinstance(value, ir.Name) and self._computed_in(value.id, bodies[branch]):
                    self.redirected[value.id] = handle

    def _signatures(self) -> dict[object, set[object]]:
        """Types that tiles in the same bytes have."""
        if self._types_in is None:
            self._types_in = {}
            for s in ir.statements(self.function.body):
                t = s.type if isinstance(s, ir.Assign | ir.Yield) else None
                if isinstance(t, ir.TileType) and t.memref is not None:
                    self._types_in.setdefault(self._identity(t.memref), set()).add(signature_of(t))
        return self._types_in

    def _written(self, name: str, body: tuple[ir.Stmt, ...]) -> ir.Type | None:
        for s in ir.statements(body):
            if isinstance(s, ir.Assign | ir.Yield) and name in s.targets:
                return s.type
        found = self.values.get(name)
        return found.type if found else None

    def _computed_in(self, name: str, body: tuple[ir.Stmt, ...]) -> bool:
        """Whether `name` is the result of an op of this block that makes a tile: no copy, no view, nothing in place."""
        for s in body:
            if isinstance(s, ir.Assign) and name in s.targets and isinstance(s.value, ir.Call):
                signature = self.engine.rulebook.signature(s.value.callee)
                views = ("makes", "makes-window", "in-place")
                return signature is not None and not any(signature.trait(t) for t in views)
        return False

    def _one_kind(self, name: str, ends: tuple[ir.Yield | None, ir.Yield | None], k: int) -> None:
        """Refused: the branches yield values that cannot be one after the `if`."""
        if ends[0] is None or ends[1] is None:
            return
        values = ends[0].values[k], ends[1].values[k]
        found = [self._operand_value(v) for v in values]
        kinds = ["scalar" if f is None else kind_of(f.type) for f in found]
        if kinds[0] != kinds[1]:
            raise Refused(
                "merge-kind",
                f"{name} is {_a(kinds[0])} in one branch and {_a(kinds[1])} in the other",
                ends[1].span,
                "yield values of one kind",
            )
        if kinds[0] == "scalar":
            dtypes = [self.shaper.dtype(v) for v in values]
            if dtypes[0] is not dtypes[1]:
                raise Refused(
                    "merge-dtype",
                    f"{name} is {dtypes[0].value} in one branch and {dtypes[1].value} in the other",
                    ends[1].span,
                    "convert one with pl.cast",
                )
        if kinds[0] == "tensor":
            roots = [f.root for f in found if f is not None and not getattr(f.type, "distributed", False)]
            if len(roots) == 2 and None not in roots and roots[0] != roots[1]:  # windows: see _merge
                raise Refused(
                    "merge-tensor",
                    f"{name} is {roots[0]} in one branch and {roots[1]} in the other: a tensor is chosen before a "
                    "kernel runs",
                    ends[1].span,
                    "write both branches with their own tensor",
                )

    def _copied(self, name: str, value: ir.Expr, out: list[Instance]) -> None:
        """A branch's tile that is somewhere else than the merged handle is copied into it."""
        merged, found = self.values[name], self._operand_value(value)
        if not isinstance(merged.type, ir.TileType) or found is None or not isinstance(value, ir.Name):
            return
        if not isinstance(found.type, ir.TileType) or signature_of(found.type) != signature_of(merged.type):
            raise Refused(
                "merge-type",
                f"{name} is one type of tile, but a branch yields another: {value.id}",
                help="yield tiles of one shape, dtype and layout from both branches",
            )
        what = 1 if self.addresses else 2  # the bytes, or the handle
        if merged.place and found.place and merged.place[what] != found.place[what]:
            out.append(self.shaper.copy(value.id, name))

    def _yielded(self, end: ir.Yield | None, out: list[Operand]) -> None:
        for value in end.values if end is not None else ():
            self._use(value)
            found = self._operand_value(value)
            if found is None or kind_of(found.type) == "scalar":
                out.append(self.shaper.scalar(value))

    def _merge(self, name: str, ends: tuple[ir.Yield | None, ir.Yield | None], k: int) -> Merge:
        then = ends[0]
        assert then is not None
        value = then.values[k]
        found = self._operand_value(value)
        kind = kind_of(found.type) if found is not None else "scalar"
        if kind == "scalar":
            t: ir.Type = ir.ScalarType(self.shaper.dtype(value))
            self.values[name] = Value(t)
            return Merge(name, kind, t)
        assert found is not None
        t = then.type if then.type is not None else found.type
        if not isinstance(t, ir.TileType):
            other = self._operand_value(ends[1].values[k]) if ends[1] is not None else None
            self._one_window(name, found, other, "one branch yields the one, the other the other", then.span)
            self.values[name] = replace(found, type=t)
            return Merge(name, kind, t)
        if t.memref is None:
            raise Refused("tile-without-memory", f"the tile {name} has no allocation")
        merged = self._tile(name, t)
        self.values[name] = merged
        view = effective_view(t)
        narrow = None
        if not all(isinstance(self.shaper.resolved(e), ir.Int) for e in view.valid):
            narrow = self.shaper.narrow(name, merged)
            full = replace(t, view=replace(t.view or ir.TileView(), valid=None))
            merged = replace(merged, type=full)
        return Merge(name, kind, t, self._alloc(name, merged), narrow)


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


_INSTEAD = {
    "break": "carry a flag: for (stop, …) in pl.while_(init_values=(False, …)): pl.cond(… and not stop); "
    "yield True for it where the loop is to end",
    "continue": "put what follows it into the else of its if, and yield from both arms",
}


def _split(body: tuple[ir.Stmt, ...]) -> tuple[tuple[ir.Stmt, ...], ir.Yield | None]:
    last = body[-1] if body else None
    return (body[:-1], last) if isinstance(last, ir.Yield) else (body, None)


def _start(where: object) -> object:
    """Where bytes begin: a tile may take a part of the buffer that is carried."""
    return where[:2] if isinstance(where, tuple) else where


def _yield_span(body: tuple[ir.Stmt, ...], span: Span) -> Span:
    """Where a block's yield stands; `span` for a block without one."""
    last = body[-1] if body else None
    return (last.call_span or last.span) if isinstance(last, ir.Yield) else span


def signature_of(t: ir.Type) -> object:
    """Everything a tile's printed type says: shape, dtype, space, layout, pad, compact; no valid extents."""
    if not isinstance(t, ir.TileType):
        return t
    v = effective_view(t)
    return (t.shape, t.dtype, t.space, v.blayout, v.slayout, v.fractal, v.pad, v.compact)
