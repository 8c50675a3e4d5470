"""Types every statement of a function: full op names, one call a statement, a type at every variable.

    u = pl.exp(pl.add(t, 1))   =>   t__tmp_v0: pl.Tile[[16, 64], pl.FP32] = pl.tile.adds(t, 1.0)
                                    u: pl.Tile[[16, 64], pl.FP32] = pl.tile.exp(t__tmp_v0)

The function must be in single-assignment form. What a call means is asked of its rules.
"""

from __future__ import annotations

from operator import is_

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic, Span
from pypto_rw.front.annotations import completed
from pypto_rw.front.arithmetic import SIMPLE
from pypto_rw.front.asking import Asker, Later
from pypto_rw.front.decode import Decoder
from pypto_rw.front.names import assigned, fresh, reads
from pypto_rw.front.replay import Replay
from pypto_rw.front.resolve import kind, resolved
from pypto_rw.front.scalar_types import Scalars
from pypto_rw.front.typed_blocks import Blocks
from pypto_rw.front.whole import whole_load, window
from pypto_rw.records import replace
from pypto_rw.rewriting.engine import Engine, Term
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.kinds import Key
from pypto_rw.shaping.unit import Surroundings
from pypto_rw.shaping.values import Refused, Value, undefined

_CALLS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "max": "maximum",
    "min": "minimum",
}  # what the operators are on tiles
_UNTYPED = frozenset({"tile.alloc", "tensor.alloc"})


class Typer:
    """Types one function; `diagnostics` collects every refusal."""

    def __init__(self, engine: Engine, function: ir.Function, surroundings: Surroundings, filename: str) -> None:
        self.source, self.filename = function, filename
        self.asker = Asker(engine, surroundings)
        self.values = self.asker.values
        self.replay = Replay(self.asker, "type")
        self.scalars = Scalars(self.asker.shaper)
        self.diagnostics: list[Diagnostic] = []
        self.taken = {p.name for p in function.params} | set(assigned(function.body))
        self.temporaries = 0
        self.authored = any(
            isinstance(s, ir.Assign | ir.Evaluate) and isinstance(s.value, ir.Call) and "." not in s.value.callee
            for s in ir.statements(function.body)
        )
        self.poisoned: set[str] = set()
        self.makers: dict[str, ir.Call] = {}
        self.whole: set[str] = set()  # tiles that stand for whole tensors
        self.windows: dict[str, ir.Tuple] = {}

    def function(self) -> ir.Function:
        """The typed function; what was refused is left out."""
        self.asker.parameters(self.source)
        body = tuple(self.block(self.source.body))
        self._require_frees(body)
        return replace(self.source, body=body)

    def _require_frees(self, body: tuple[ir.Stmt, ...]) -> None:
        """A popped tile holds its slot until it is freed."""
        if not any(v.origin.startswith("popped") for v in self.values.values()):
            return
        freed = {
            s.value.args[0].id
            for s in ir.statements(body)
            if isinstance(s, ir.Evaluate) and isinstance(s.value, ir.Call) and s.value.args
            if self.asker.signature(s.value).trait("as-popped") and isinstance(s.value.args[0], ir.Name)
        }
        for stmt in ir.statements(body):
            if not isinstance(stmt, ir.Assign) or stmt.targets[0] in freed:
                continue
            found = self.values.get(stmt.targets[0])
            if isinstance(stmt.value, ir.Call) and found is not None and found.origin.startswith("popped"):
                to = found.origin.replace("popped_from", "tfree_to").replace("popped-from-", "tfree_to_")
                refused = Refused(
                    "missing-free",
                    f"{stmt.targets[0]} is popped by {stmt.value.callee}, but its slot is never given back",
                    stmt.span,
                    f"free it after its last use: pl.{to}({stmt.targets[0]})",
                )
                self.diagnostics.append(refused.diagnostic(stmt.span, self.filename, self.source.name))

    # ----------------------------------------------------------------------------- statements

    def block(self, body: tuple[ir.Stmt, ...]) -> list[ir.Stmt]:
        """Typed statements of a block."""
        out: list[ir.Stmt] = []
        for stmt in body:
            try:
                if self.asker.engine.waits and not self.poisoned.isdisjoint(reads(stmt)):
                    raise Later
                self.statement(stmt, out)
            except Refused as refused:
                if self.poisoned.isdisjoint(reads(stmt)):  # else it follows from an earlier refusal
                    self.diagnostics.append(refused.diagnostic(stmt.span, self.filename, self.source.name))
                self._poison(stmt)
        return out

    def _poison(self, stmt: ir.Stmt) -> None:
        """After a refusal: the targets keep their written type, so that one fault is reported once."""
        for inner in ir.statements((stmt,)):
            if isinstance(inner, ir.Assign | ir.Yield):
                for name in inner.targets:
                    if inner.type is None:
                        self.poisoned.add(name)
                    self.values.setdefault(name, Value(inner.type or ir.OpaqueType("pl.UnknownType")))

    def spread(self, names: tuple[str, ...], values: tuple[ir.Expr, ...]) -> None:
        """Names that stand for refused ones are no better: what is done with them follows from the earlier refusal."""
        if self.poisoned:
            for name, value in zip(names, values, strict=False):
                if isinstance(value, ir.Name) and value.id in self.poisoned:
                    self.poisoned.add(name)

    def statement(self, stmt: ir.Stmt, out: list[ir.Stmt]) -> None:
        """Appends a typed statement, after what its nested calls become."""
        match stmt:
            case ir.Assign():
                self.assign(stmt, out)
            case ir.Evaluate():
                if not isinstance(stmt.value, ir.Call):
                    raise Refused("no-effect", "this expression has no effect; assign it or remove it")
                if not self.replayed(stmt, out):
                    key, offsets, before = self.replay.key, self.replay.offsets, len(out)
                    call = self.call(stmt.value, out)
                    self.typed_call("", call, None, stmt.span)
                    out.append(replace(stmt, value=call))
                    self._learn(key, offsets, stmt, out[before:])
            case ir.For():
                Blocks(self).loop(stmt, out)
            case ir.While():
                Blocks(self).while_loop(stmt, out)
            case ir.If():
                Blocks(self).branch(stmt, out)
            case ir.Return() | ir.Yield():
                out.append(replace(stmt, values=tuple(self.expression(v, out, stmt.span) for v in stmt.values)))
            case _:
                out.append(stmt)

    def assign(self, stmt: ir.Assign, out: list[ir.Stmt]) -> None:
        value = stmt.value
        if isinstance(value, ir.Call) and value.callee in _UNTYPED:
            self.values[stmt.targets[0]] = Value(ir.OpaqueType("pl.Ptr"))
            out.append(stmt)
            return
        if len(stmt.targets) > 1:
            self._unpack(stmt, out)
            return
        name = stmt.targets[0]
        if isinstance(value, ir.Item):
            if kind(value.value, self.asker) == "array":
                read = ir.Call("array.get_element", (value.value, ir.Int(value.index)), (), (), stmt.span)
                self.assign(replace(stmt, value=read), out)
            else:
                self._element(name, value, stmt, out)
            return
        if isinstance(value, ir.Cast) and kind(value.operand, self.asker) in ("tile", "tensor"):
            value = _tile_cast(value)
        if isinstance(value, ir.Call):
            if self.replayed(stmt, out):
                return
            key, offsets, before = self.replay.key, self.replay.offsets, len(out)
            whole = self._on_whole_tensors(value)
            call = self.call(value, out)
            t = self.typed_call(name, call, stmt.type, stmt.span, whole=whole)
            out.append(replace(stmt, type=t, value=call))
            self._learn(key, offsets, stmt, out[before:])
            return
        if not (isinstance(value, ir.Cast) and isinstance(value.operand, ir.Int) and stmt.type is not None):
            value = self.expression(value, out, stmt.span)  # a typed cast of a constant stays: printed IR means it
        if isinstance(value, ir.Name) and (found := self.values.get(value.id)) and kind(value, self.asker) != "scalar":
            t = completed(name, stmt.type, found.type)
            self.values[name] = replace(found, type=t)
            self.spread(stmt.targets, (value,))
            out.append(replace(stmt, type=t, value=value))
            return
        value, dtype = self.scalars.assigned(value, stmt.type)
        shaper = self.asker.shaper
        constant = shaper.resolved(value)
        self.values[name] = Value(
            ir.ScalarType(dtype),
            bounds=shaper.bounds(value),
            divisor=self.asker.divisor(value),
            constant=constant if isinstance(constant, ir.Int | ir.Float) else None,
        )
        out.append(replace(stmt, type=ir.ScalarType(dtype), value=value))

    def replayed(self, stmt: ir.Assign | ir.Evaluate, out: list[ir.Stmt]) -> bool:
        """Whether the statement is of a kind that is known; it is appended then."""
        call, made = stmt.value, self.replay.find(stmt)
        if made is None or not isinstance(call, ir.Call):
            return False
        if self.whole or self.windows:  # these tell calls apart by the names in them
            return False
        new = self.replay.call(call, made)
        if isinstance(stmt, ir.Evaluate):
            out.append(ir.Evaluate(new, stmt.span, stmt.comments))
            return True
        name = stmt.targets[0]
        self.makers[name] = new
        self.replay.result(name, new, made)
        out.append(ir.Assign(stmt.targets, made.type, new, stmt.span, stmt.comments))
        return True

    def _learn(self, key: Key | None, offsets: list[int], stmt: ir.Assign | ir.Evaluate, made: list[ir.Stmt]) -> None:
        if key is not None and len(made) == 1 and not self.whole and not self.windows:
            self.replay.learn(key, offsets, stmt, made[0])

    def _unpack(self, stmt: ir.Assign, out: list[ir.Stmt]) -> None:
        """`a, b = op(...)`: the tuple gets a name of its own, its elements are bound one by one."""
        whole = self.fresh()
        self.assign(replace(stmt, targets=(whole,), type=None), out)
        for k, name in enumerate(stmt.targets):
            self._element(name, ir.Item(ir.Name(whole), k), replace(stmt, targets=(name,), type=None), out)

    def _element(self, name: str, value: ir.Item, stmt: ir.Assign, out: list[ir.Stmt]) -> None:
        found = self.values.get(value.value.id) if isinstance(value.value, ir.Name) else None
        items = found.type.items if found is not None and isinstance(found.type, ir.TupleType) else ()
        if value.index >= len(items):
            raise Refused("tuple-element", f"this is no tuple with an element {value.index}")
        t = completed(name, stmt.type, items[value.index])
        self.values[name] = Value(t, place=(name, name, name))
        out.append(replace(stmt, type=t, value=value))

    # ---------------------------------------------------------------------------- expressions

    def fresh(self) -> str:
        """A name for a value that the text does not name."""
        while True:
            name = f"t__tmp_v{self.temporaries}"
            self.temporaries += 1
            if name not in self.taken:
                self.taken.add(name)
                return name

    def expression(self, expr: ir.Expr, out: list[ir.Stmt], span: Span) -> ir.Expr:
        """`expr` without calls inside; scalar operands of two dtypes are brought to one."""
        if type(expr) in SIMPLE:
            return expr
        match expr:
            case ir.Call():
                return self._hoisted(expr, out, span)
            case ir.Cast() if kind(expr.operand, self.asker) in ("tile", "tensor"):
                return self._hoisted(_tile_cast(expr), out, span)
            case ir.Unary() | ir.Cast():
                inner = self.expression(expr.operand, out, span)
                if isinstance(expr, ir.Cast) and kind(inner, self.asker) in ("tile", "tensor"):
                    return self._hoisted(_tile_cast(replace(expr, operand=inner)), out, span)
                return self.scalars.unary(replace(expr, operand=inner))
            case ir.Binary(op="&" | "|" | "^" | "**") if self.authored:
                raise Refused(
                    "scalar-operator",
                    f"the operator {expr.op} is no part of what kernels are written in",
                    expr.span or span,
                    "it exists in printed IR only; use + - * // % << >>, comparisons, and, or, not",
                )
            case ir.Binary():
                left, right = self.expression(expr.left, out, span), self.expression(expr.right, out, span)
                self._require_scalars(expr, left, right)
                if left is not expr.left or right is not expr.right:
                    expr = replace(expr, left=left, right=right)
                self.asker.shaper.require_divisor(expr)
                return self.scalars.binary(expr)
            case ir.Tuple():
                items = tuple([self.expression(e, out, span) for e in expr.items])
                return expr if all(map(is_, items, expr.items)) else replace(expr, items=items)
            case ir.Item() if kind(expr.value, self.asker) == "array":
                return self._hoisted(
                    ir.Call("array.get_element", (expr.value, ir.Int(expr.index)), (), (), span), out, span
                )
        return expr

    def _require_scalars(self, expr: ir.Binary, left: ir.Expr, right: ir.Expr) -> None:
        """Refused where an operator of scalars combines a tile or a tensor."""
        kinds = [kind(e, self.asker) for e in (left, right)]
        found = next((k for k in kinds if k in ("tile", "tensor")), None)
        if found is None:
            return
        side = "left" if kinds[0] == found else "right"
        name = _CALLS.get(expr.op)
        raise Refused(
            "tile-operator",
            f"the operator {expr.op} combines scalars, but its {side} side is a {found}",
            expr.span,
            f"write pl.{name}(…, …)" if name else "tiles are combined by calls, such as pl.add",
        )

    def _require_defined(self, call: ir.Call) -> None:
        """Refused where an argument is a name that nothing defines; what it should be, its op's name leaves open."""
        for expr in (*call.args, *(a for _, a in call.kwargs)):
            if isinstance(expr, ir.Name) and expr.id not in self.values and expr.id != "None":
                raise undefined(
                    expr.id, "with pl.load if it is a tile, or as a parameter if it is a tensor or a scalar"
                )

    def _hoisted(self, call: ir.Call, out: list[ir.Stmt], span: Span) -> ir.Name:
        name = self.fresh()
        self.assign(ir.Assign((name,), None, call, span), out)
        return ir.Name(name)

    def call(self, call: ir.Call, out: list[ir.Stmt]) -> ir.Call:
        """`call` under its full name, its arguments without calls inside."""
        args = tuple(self.expression(a, out, call.span) for a in call.args)
        kwargs = tuple((k, self.expression(a, out, call.span)) for k, a in call.kwargs)
        call = replace(call, args=args, kwargs=kwargs)
        if "." not in call.callee:
            self._require_defined(call)
        call = self._on_tiles(call, out)
        call = resolved(call, self.asker, self.makers)
        return self._windowed(self._stood_for(call, out))

    def _on_tiles(self, call: ir.Call, out: list[ir.Stmt]) -> ir.Call:
        """A call on whole tensors as one on tiles; `x[…]` and `x[…] = v` as a load and a store."""
        first = call.args[0] if call.args else None
        if call.callee in ("getitem", "setitem") and isinstance(first, ir.Name) and kind(first, self.asker) == "tensor":
            last = len(call.args) - (call.callee == "setitem")
            offsets, extents = window(first.id, call.args[1:last], self.asker, call)
            if call.callee == "getitem":
                return replace(call, callee="tile.load", args=(first, offsets, extents))
            return replace(call, callee="tile.store", args=(call.args[-1], offsets, first))
        book = self.asker.engine.rulebook
        name = call.callee.removeprefix("tensor.")
        if "." in name or book.op_file(f"tensor.{name}") is not None:
            return call
        call = replace(call, callee=name)
        kinds = [kind(a, self.asker) for a in call.args]
        if "tensor" not in kinds or "tile" in kinds or not self._takes_tiles(call):
            return call
        loaded: dict[str, ir.Name] = {}
        for arg, what in zip(call.args, kinds, strict=True):
            if what == "tensor" and isinstance(arg, ir.Name) and arg.id not in loaded:
                loaded[arg.id] = self._hoisted(whole_load(arg.id, self.asker, call), out, call.span)
        return replace(call, args=tuple(loaded.get(a.id, a) if isinstance(a, ir.Name) else a for a in call.args))

    def _takes_tiles(self, call: ir.Call) -> bool:
        """Whether an op takes a tile wherever the call gives a tensor, and nothing from global memory."""
        signature = self.asker.engine.rulebook.signature(f"tile.{call.callee}")
        return signature is not None and not any(p.kind in ("tensor", "any") for p in signature.parameters)

    def _stood_for(self, call: ir.Call, out: list[ir.Stmt]) -> ir.Call:
        """The call that an op without a type of its own stands for, after what it needs."""
        answer = self.asker.ask(call)
        instead = next((t for t in answer.legal if t[0] == "instead"), None)
        if answer.type is not None or answer.findings or instead is None:
            return call
        names: dict[Term, str] = {}

        def made(term: Term) -> str:
            if term not in names:
                like = decoder.operand(term[1]) if term[0] == "made-of" else None
                names[term] = fresh(self.taken, f"{like.id}{term[2]}") if isinstance(like, ir.Name) else self.fresh()
            return names[term]

        decoder = Decoder(
            lambda op: self.asker.signature(ir.Call(op)), answer.sources, answer.extents, made, lambda name: name
        )
        for new, target in decoder.calls(instead[1]):
            new = replace(new, span=call.span)
            if target is None:
                return new
            self.assign(ir.Assign((target,), None, new, call.span), out)
        return call

    def _windowed(self, call: ir.Call) -> ir.Call:
        """A store of a tile that was loaded through a window of more than two axes stores through such a window."""
        fills = self.asker.signature(call).trait("fills-window")
        arguments = bind(call, self.asker.signature(call)) if fills else {}
        if not fills or fills[0] in arguments:
            return call
        target, tile = arguments.get(fills[1]), arguments.get(fills[2])
        found = self.values.get(target.id) if isinstance(target, ir.Name) else None
        if found is None or not isinstance(found.type, ir.TensorType) or len(found.type.shape) <= 2:
            return call
        window = self.windows.get(tile.id) if isinstance(tile, ir.Name) else None
        return replace(call, kwargs=(*call.kwargs, (fills[0], window))) if window is not None else call

    def _note_window(self, name: str, call: ir.Call, t: ir.Type) -> None:
        """A tile remembers the window of more than two axes that it, or the tile it is computed from, was loaded by."""
        signature = self.asker.signature(call)
        arguments = bind(call, signature)
        if loads := signature.trait("loads-window"):
            window = arguments.get(loads[1], arguments.get(loads[0]))
            if isinstance(window, ir.Tuple) and len(window.items) > 2:
                self.windows[name] = window
            return
        for expr in arguments.values():
            if isinstance(expr, ir.Name) and expr.id in self.windows and isinstance(t, ir.TileType):
                source = self.values[expr.id].type
                if isinstance(source, ir.TileType) and source.shape == t.shape:
                    self.windows.setdefault(name, self.windows[expr.id])

    def _on_whole_tensors(self, call: ir.Call) -> bool:
        """Whether a call is written on whole tensors, as a tensor or as the tile that stands for one."""
        if "." in call.callee:
            return call.callee.startswith("tensor.")
        names = [a for a in call.args if isinstance(a, ir.Name)]
        return any(a.id in self.whole for a in names) or (
            any(kind(a, self.asker) == "tensor" for a in names) and self._takes_tiles(call)
        )

    def typed_call(
        self, name: str, call: ir.Call, written: ir.Type | None, span: Span, *, whole: bool = False
    ) -> ir.Type:
        """Type of a call's result; the variable `name` ("" for none) has it from here on.

        `whole`: its author may call the tile a tensor."""
        answer = self.asker.ask(call)
        if answer.type is None and written is not None:
            answer = self.asker.ask(call, written)
        if name:
            self.makers[name] = call
        if answer.findings and not answer.legal:
            raise self.asker.refused(answer.findings[0], call)
        if not name:
            return answer.type or ir.OpaqueType("pl.UnknownType")
        if answer.type is None:
            if written is None:
                raise Refused(
                    "no-type", f"the type of {name} is not known", call.span, f"annotate it: {name}: pl.Tile[…] = …"
                )
            t = written
        else:
            if whole and isinstance(answer.type, ir.TileType):
                self.whole.add(name)
                if isinstance(written, ir.TensorType):
                    written = ir.TileType(written.shape, written.dtype)
            t = completed(name, written, answer.type)
        self.values[name] = self.asker.value(name, t, call)
        self._note_window(name, call, t)
        return t


def _tile_cast(cast: ir.Cast) -> ir.Call:
    return ir.Call("cast", (cast.operand,), (("target_type", ir.Symbol(cast.dtype.value)),), (), cast.span)
