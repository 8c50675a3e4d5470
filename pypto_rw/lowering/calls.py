"""A call that stands as a statement: what its result is, which handle it takes, what the call needs of its operands.

What a call means is in its rules. Facts it reads off the rule files: `(in-place op operand when)` - the result takes
that operand's handle; `(makes op kind)` and `(makes-window op source offsets)` - how the result came to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.layout import effective_view
from pypto_rw.lowering.nodes import Declare, Do, Node
from pypto_rw.records import replace
from pypto_rw.rewriting.declared import Signature
from pypto_rw.scalars import names_in
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.typing import type_of
from pypto_rw.shaping.unit import contexts_of
from pypto_rw.shaping.values import Refused, Value, Window, apart, kind_of

if TYPE_CHECKING:
    from pypto_rw.lowering.walk import Walker


class Calls:
    """The calls of the function that `walker` walks."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.engine, self.addresses = walker.engine, walker.addresses
        self.values, self.shaper, self.tiles = walker.values, walker.shaper, walker.tiles

    def call(self, call: ir.Call, name: str | None, written: ir.Type | None, span: Span, out: list[Node]) -> None:
        if call.callee in ("tile.alloc", "tensor.alloc"):
            if name is not None:
                self.walker.allocate(name, call)
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

            require_windows(call, signature, arguments, self.values.get, contexts_of(self.walker.function))
        for parameter, argument in arguments.items():
            if unseen is None or parameter not in unseen:
                self.walker.use(argument)
            elif isinstance(argument, ir.Name):
                self.walker.unviewed.add(argument.id)
        if trait := signature.trait("declares"):
            self.walker.declared[trait[0]] = trait[1]
        if name is not None and isinstance(written, ir.TupleType):
            self._pair(call, signature, name, written, span, out)
            return
        value, shares = self._result(call, signature, arguments, name, written)
        self._spaces(call, signature, arguments)
        if signature.trait("makes") is not None and call.args:
            what = f"{call.callee}: {call.args[0].id if isinstance(call.args[0], ir.Name) else 'it'}"
            source = self.walker.operand_value(call.args[0])
            if self.addresses:
                self.walker.require_fixed(source, what, call.span)
            else:  # a handle of its own says where it begins, but not how far its rows are apart
                self.walker.require_whole_rows(source, what, call.span)
        if shares is None and value is not None:
            self._in_its_buffer(call, signature, arguments, value)
        instance = self.shaper.call(call, signature, value, name, arguments)
        alloc = None
        if name is not None and value is not None:
            if name in self.tiles.handles and name not in self.tiles.redirected and shares is None:
                alloc = self.tiles.alloc(name, value)
            if isinstance(value.type, ir.TileType):
                self._require_memory(name, value.type, signature, call)
                self.walker.used.update(names_in(effective_view(value.type).valid))
            if not self.addresses and value.place is not None and _is_view(signature):
                value = replace(value, place=(*value.place[:2], name))  # a view has a handle of its own
            self.values[name] = value
            if not self.addresses and signature.trait("makes-window") is not None:
                self.tiles.note_window(name, value)
        for trait in signature.all("materialises"):
            self._materialised(arguments.get(trait[0]))
        self._note_store(signature, arguments, name)
        self._use_types(value)
        if self.updates(signature, value) and name is not None and shares is not None:
            self.walker.updates[name] = shares
        out.append(Do(instance, alloc, span, call.span or span, shares))

    def updates(self, signature: Signature, value: Value | None) -> bool:
        """Whether a result that has an operand's handle leaves it otherwise than it was."""
        return value is not None and isinstance(value.type, ir.TileType) and signature.trait("marks") is None

    def _materialised(self, expr: ir.Expr | None) -> None:
        """A window that the op copied into its own allocation is an ordinary tile from here on."""
        found = self.walker.operand_value(expr)
        if isinstance(expr, ir.Name) and found is not None and found.window is not None:
            assert found.window is not None
            self.values[expr.id] = replace(found, window=found.window._replace(memory=2))

    def _pair(
        self, call: ir.Call, signature: Signature, name: str, written: ir.TupleType, span: Span, out: list[Node]
    ) -> None:
        """A call with two tiles as results: both are declared first, then written by the call."""
        elements = self.walker.elements.get(name, {})
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
        found = self.walker.operand_value(target)
        if not isinstance(target, ir.Name) or found is None or not isinstance(found.type, ir.TensorType):
            return
        root = found.root or target.id
        by = "scalar" if signature.op == "tensor.write" else "tile"
        if self.walker.written.setdefault(root, by) != by:
            raise Refused(
                "mixed-stores",
                f"{root} is written by tile stores (MTE3) and by scalar writes; their order is not kept",
                help="write it one way: through a tile, or element by element",
            )

    def _spaces(self, call: ir.Call, signature: Signature, arguments: dict[str, ir.Expr]) -> None:
        """Tile operands are where the op reads them: `(reads op "Vec Vec -")`, one word an operand."""
        for parameter, spaces in signature.usage.spaces:
            found = self.walker.operand_value(arguments.get(parameter))
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
        source = self.walker.operand_value(arguments.get(trait[0]))
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
        source = self.walker.operand_value(arguments.get(trait[0]))
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
        source = self.walker.operand_value(call.args[0]) if call.args else None
        return source is not None and isinstance(source.type, ir.TileType) and source.type.memref is None

    def _use_types(self, value: Value | None) -> None:
        if value is not None and isinstance(value.type, ir.TensorType):
            self.walker.used.update(names_in(value.type.shape))

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
            written = self.walker.place(name, written)
        value = Value(written)
        if isinstance(written, ir.TileType) and written.memref is not None:
            value = self.tiles.of(name, written)
        if (trait := signature.trait("in-place")) and (source := self.walker.operand_value(arguments.get(trait[0]))):
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
                self.walker.require_fixed(source, f"{call.callee}: {trait[0]}", call.span)
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
            source = self.walker.operand_value(arguments.get(trait[0]))
            of = source.type if source is not None else None
            distributed = value.type.distributed or (isinstance(of, ir.TensorType) and of.distributed)
            t = replace(value.type, distributed=distributed)
            value = replace(value, type=t, root=source.root if source else None)
        if trait := signature.trait("makes") or signature.trait("yields"):
            value = replace(value, origin=trait[0])
        if trait := signature.trait("makes-window"):
            value = replace(value, origin="window")
            source = self.walker.operand_value(arguments.get(trait[0]))
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


def _is_view(signature: Signature) -> bool:
    """Whether the op's result shows an operand's bytes, under a handle of its own."""
    return signature.trait("makes") is not None or signature.trait("makes-window") is not None
