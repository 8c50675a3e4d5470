"""A function's statements as a tree of instances, in order: what the emitter prints.

The walk knows names, scopes, allocations and regions; what a call means is in its rules. Facts it reads off the
rule files: `(in-place op operand when)` - the result takes that operand's handle; `(makes op kind)` and
`(makes-window op source offsets)` - how the result came to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic, Span
from pypto_rw.layout import effective_view
from pypto_rw.lowering import allocations
from pypto_rw.lowering.nodes import (
    Declare,
    Do,
    Node,
    Same,
    Scoped,
    Walked,
)
from pypto_rw.lowering.replay import Replay
from pypto_rw.lowering.tiles import Tiles
from pypto_rw.records import replace
from pypto_rw.rewriting.declared import Signature
from pypto_rw.rewriting.engine import Engine
from pypto_rw.scalars import WIDE, names_in
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.operands import Instance, Operand, Var
from pypto_rw.shaping.shapes import Shaper
from pypto_rw.shaping.typing import type_of
from pypto_rw.shaping.unit import Surroundings, contexts_of, windows_and_contexts
from pypto_rw.shaping.values import Refused, Value, Window, apart, kind_of, moves, strided, undefined

if TYPE_CHECKING:
    from pypto_rw.lowering.branches import Branches
    from pypto_rw.lowering.loops import Loops

_CALLS = (ir.Assign, ir.Evaluate)
_ARGUMENTS = frozenset(
    d
    for d in ir.DType
    if d.value in ("BOOL", "INDEX", "FP16", "BF16", "FP32", "TASK_ID")
    or (d.value.startswith(("INT", "UINT")) and not d.value.endswith("T4"))
)
_POINTER = Value(ir.OpaqueType("pl.Ptr"))
_READ_NOTHING = (ir.Int, ir.Symbol)


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
        place: Callable[[str, ir.Type], ir.Type] | None = None,
        surroundings: Surroundings | None = None,
        marks: bool = False,
    ) -> None:
        self.place = place or (lambda name, t: t)
        self.marks = marks
        self.engine, self.function, self.addresses, self.filename = engine, function, addresses, filename
        self.values = Scoped()
        self.diagnostics: list[Diagnostic] = []
        self.shaper = Shaper(
            engine, self.values.get, addresses=addresses, surroundings=surroundings or Surroundings(function)
        )
        self.tiles = Tiles(function, self.shaper, self.values, addresses)
        self.replay = Replay(self, plain=place is None and engine.watch is None)
        self._loops: Loops | None = None
        self._branches: Branches | None = None
        self.used: set[str] = set()
        self.hidden: set[str] = set()
        self.refused: set[str] = set()  # names of refused statements
        self.declared: dict[str, str] = {}  # functions that the text calls, with their types
        self.elements: dict[str, dict[int, ir.Assign]] = {}
        self.written: dict[str, str] = {}  # parameter -> "tile" or "scalar", by what stores into it
        self.unviewed: set[str] = {"__gm_pipe_buffer"}

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
                self.values[p.name] = self.tiles.of(p.name, p.type)
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
            self.diagnostics += self.tiles.make_regions(self.filename)
        body = self.block(self.function.body)
        self.hidden |= self.shaper.hidden
        return Walked(
            self.function,
            body,
            self.tiles.handles,
            self.tiles.offsets,
            self.used,
            self.hidden,
            self.tiles.placed_regions(),
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

    def one_window(self, name: str, first: Value, second: Value | None, where: str, span: Span) -> None:
        """Refused: a name would stand for two windows."""
        if second is not None and first.root != second.root:
            from pypto_rw.distributed.windows import require_one_window

            require_one_window(name, first, second, where, span)

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
                if isinstance(stmt, _CALLS):
                    self.replay.statement(stmt, out)
                else:
                    self.statement(stmt, out)
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
        if isinstance(stmt, ir.Assign | ir.Yield):
            self.refused.update(stmt.targets)
        if isinstance(stmt, ir.Assign | ir.Yield) and stmt.type is not None:
            for name in stmt.targets:
                place = (name, name, name)
                if name not in self.values:
                    self.values[name] = Value(stmt.type, place=place if kind_of(stmt.type) == "tile" else None)

    def statement(self, stmt: ir.Stmt, out: list[Node]) -> None:
        """Adds the nodes of one statement to `out`."""
        match stmt:
            case ir.Assign():
                self._assign(stmt, out)
            case ir.Evaluate():
                if not isinstance(stmt.value, ir.Call):
                    raise Refused("no-effect", "this expression has no effect; assign it or remove it")
                self._call(stmt.value, None, None, stmt.span, out)
            case ir.For():
                out.append(self._of_loops().range(stmt))
            case ir.While():
                out.append(self._of_loops().while_(stmt))
            case ir.If():
                out.append(self._of_branches().branch(stmt))
            case ir.Return():
                for v in stmt.values:
                    self.use(v)
                for name in names_in(stmt.values):
                    if name not in self.values and name not in self.refused:
                        raise undefined(name, "or return what another statement defines")
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

    def _of_loops(self) -> Loops:
        if self._loops is None:
            from pypto_rw.lowering.loops import Loops  # half of all kernels have none

            self._loops = Loops(self)
        return self._loops

    def _of_branches(self) -> Branches:
        if self._branches is None:
            from pypto_rw.lowering.branches import Branches

            self._branches = Branches(self)
        return self._branches

    def require_fixed(self, value: Value | None, what: str, span: Span) -> None:
        """Refused: the place of a tile is printed, but only run time tells it."""
        if moves(value):
            raise Refused(
                "view-of-window",
                f"{what} is a window whose place only run time tells, and it would be read at the start of its tile",
                span,
                _EXTRACT,
            )
        if self.addresses and value is not None and strided(value):
            raise Refused(
                "view-of-window",
                f"{what} is a window of some columns of its tile, and it is read as if its rows followed one another",
                span,
                _EXTRACT,
            )

    def use(self, expr: ir.Expr) -> None:
        """The function reads these variables."""
        if isinstance(expr, ir.Name):
            self.used.add(expr.id)
        elif not isinstance(expr, _READ_NOTHING):
            self.used.update(names_in((expr,)))

    def _assign(self, stmt: ir.Assign, out: list[Node]) -> None:
        value = stmt.value
        if len(stmt.targets) != 1:
            raise Refused("tuple-target", "several names need a pl.yield_ on the right")
        name = stmt.targets[0]
        if isinstance(value, ir.Call):
            self._call(value, name, stmt.type, stmt.span, out)
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
                out.append(self._alias(name, value.id, found, stmt))
                return
        self.use(value)
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
            out.append(Do(operand, None, stmt.span, stmt.span))
        elif isinstance(operand, Var) or operand.dtype == "BOOL":
            out.append(Same(name, operand, None, stmt.span))

    def _alias(self, name: str, source: str, found: Value, stmt: ir.Assign) -> Same:
        self.used.add(source)
        alloc = None
        value = replace(found, type=stmt.type or found.type)
        if (
            isinstance(value.type, ir.TileType)
            and value.type.memref is not None
            and not _in_parts(found, self.addresses)
        ):
            own = self.tiles.of(name, value.type)
            alloc = self.tiles.alloc(name, own)
            if self.addresses:
                value = own
        self.values[name] = value
        return Same(name, Var(source), alloc, stmt.span)

    # ------------------------------------------------------------------------------ calls

    def _call(self, call: ir.Call, name: str | None, written: ir.Type | None, span: Span, out: list[Node]) -> None:
        if call.callee in ("tile.alloc", "tensor.alloc"):
            if name is not None:
                self.allocate(name, call)
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
                self.use(argument)
            elif isinstance(argument, ir.Name):
                self.unviewed.add(argument.id)
        if trait := signature.trait("declares"):
            self.declared[trait[0]] = trait[1]
        if name is not None and isinstance(written, ir.TupleType):
            self._pair(call, signature, name, written, span, out)
            return
        value, shares = self._result(call, signature, arguments, name, written)
        self._spaces(call, signature, arguments)
        if self.addresses and signature.trait("makes") is not None and call.args:
            what = call.args[0].id if isinstance(call.args[0], ir.Name) else "it"
            self.require_fixed(self.operand_value(call.args[0]), f"{call.callee}: {what}", call.span)
        if shares is None and value is not None:
            self._in_its_buffer(call, signature, arguments, value)
        instance = self.shaper.call(call, signature, value, name, arguments)
        alloc = None
        if name is not None and value is not None:
            if name in self.tiles.handles and name not in self.tiles.redirected and shares is None:
                alloc = self.tiles.alloc(name, value)
            if isinstance(value.type, ir.TileType):
                self._require_memory(name, value.type, signature, call)
                self.used.update(names_in(effective_view(value.type).valid))
            if not self.addresses and value.place is not None and _is_view(signature):
                value = replace(value, place=(*value.place[:2], name))  # a view has a handle of its own
            self.values[name] = value
            if not self.addresses and signature.trait("makes-window") is not None:
                self.tiles.note_window(name, value)
        for trait in signature.all("materialises"):
            self._materialised(arguments.get(trait[0]))
        self._note_store(signature, arguments, name)
        self._use_types(value)
        out.append(Do(instance, alloc, span, call.span or span, shares))

    def allocate(self, name: str, call: ir.Call) -> None:
        """An allocation is something that tiles are in; nothing is printed."""
        self.values[name] = _POINTER
        if call.callee == "tile.alloc":
            self.tiles.allocations[name] = allocations.allocation(call)

    def _materialised(self, expr: ir.Expr | None) -> None:
        """A window that the op copied into its own allocation is an ordinary tile from here on."""
        found = self.operand_value(expr)
        if isinstance(expr, ir.Name) and found is not None and found.window is not None:
            assert found.window is not None
            self.values[expr.id] = replace(found, window=found.window._replace(memory=2))

    def _pair(
        self, call: ir.Call, signature: Signature, name: str, written: ir.TupleType, span: Span, out: list[Node]
    ) -> None:
        """A call with two tiles as results: both are declared first, then written by the call."""
        elements = self.elements.get(name, {})
        results = []
        for k in range(len(written.items)):
            stmt = elements.get(k)
            if stmt is None or not isinstance(stmt.type, ir.TileType) or stmt.type.memref is None:
                raise Refused(
                    "tuple-element", f"element {k} of {name} must be bound to a tile with an allocation", call.span
                )
            value = self.tiles.of(stmt.targets[0], stmt.type)
            self.values[stmt.targets[0]] = value
            results.append((stmt.targets[0], value))
            out.append(Declare(self.tiles.alloc(*results[-1]), span))
        if len(results) != 2:
            raise Refused("tuple-element", f"{call.callee} gives 2 tiles; {name} has {len(results)}", call.span)
        out.append(Do(self.shaper.call_for_pair(call, signature, results, name), None, span, call.span or span))

    def _note_store(self, signature: Signature, arguments: dict[str, ir.Expr], name: str | None) -> None:
        """A tensor is written by tile stores or by scalar writes, never by both: their order is not kept."""
        trait = signature.trait("in-place")
        target = arguments.get(trait[0]) if trait else None
        found = self.operand_value(target)
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
            found = self.operand_value(arguments.get(parameter))
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
        source = self.operand_value(arguments.get(trait[0]))
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
        source = self.operand_value(arguments.get(trait[0]))
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
        source = self.operand_value(call.args[0]) if call.args else None
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
            value = self.tiles.of(name, written)
        if (trait := signature.trait("in-place")) and (source := self.operand_value(arguments.get(trait[0]))):
            taken = trait[1]
            operand = arguments[trait[0]]
            if taken == "always" or self.tiles.shares(taken, value, source):
                handle = source.place[2] if source.place else name
                place = (*value.place[:2], handle) if value.place else source.place
                value = replace(value, place=place, origin=source.origin, window=source.window)
                shares = operand.id if isinstance(operand, ir.Name) else None
                if isinstance(written, ir.TileType) and written.memref is not None and name in self.tiles.handles:
                    self.tiles.handles[name] = handle
            elif value.place and source.place and value.place[1] == source.place[1]:
                self.require_fixed(source, f"{call.callee}: {trait[0]}", call.span)
        if shares is None and not self.addresses and not _is_view(signature):
            shares = self.tiles.window_at(name, value)
            if shares is not None:
                found = self.values[shares]
                assert found.place is not None
                value = replace(value, place=found.place, origin=found.origin, window=found.window)
                self.tiles.handles[name] = found.place[2]
        if (trait := signature.trait("in-place") or signature.trait("inherits")) and isinstance(
            value.type, ir.TensorType
        ):
            source = self.operand_value(arguments.get(trait[0]))
            of = source.type if source is not None else None
            distributed = value.type.distributed or (isinstance(of, ir.TensorType) and of.distributed)
            t = replace(value.type, distributed=distributed)
            value = replace(value, type=t, root=source.root if source else None)
        if trait := signature.trait("makes") or signature.trait("yields"):
            value = replace(value, origin=trait[0])
        if trait := signature.trait("makes-window"):
            value = replace(value, origin="window")
            source = self.operand_value(arguments.get(trait[0]))
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

    def operand_value(self, expr: ir.Expr | None) -> Value | None:
        """What is known of a variable; None for another expression."""
        return self.values.get(expr.id) if isinstance(expr, ir.Name) else None

    def condition(self, expr: ir.Expr) -> Operand:
        """The operand of a condition. Refused: it is not BOOL."""
        self.use(expr)
        dtype = self.shaper.dtype(expr)
        if dtype is not ir.DType.BOOL:
            from pypto_rw.wording import compared

            raise Refused("condition-dtype", f"a condition must be BOOL; got {dtype.value}", help=compared(expr))
        return self.shaper.scalar(expr)


def _is_view(signature: Signature) -> bool:
    """Whether the op's result shows an operand's bytes, under a handle of its own."""
    return signature.trait("makes") is not None or signature.trait("makes-window") is not None


def _in_parts(value: Value, addresses: bool) -> bool:
    """Whether a value is a window that no tile with an address of its own stands for."""
    return moves(value) or (addresses and strided(value))


_EXTRACT = "take it with pl.tile.extract(tile, row, column, [rows, columns]), which copies what it shows"
_INSTEAD = {
    "break": "carry a flag: for (stop, …) in pl.while_(init_values=(False, …)): pl.cond(… and not stop); "
    "yield True for it where the loop is to end",
    "continue": "put what follows it into the else of its if, and yield from both arms",
}
