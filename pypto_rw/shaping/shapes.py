"""Statements as shapes: operands become positions, types become terms, nothing keeps an SSA name.

`Shaper` turns one call or expression into an `Instance` (shape text + operands). It knows signatures, never
what an op means. `expressions` has scalars and types, `declarations` what declares handles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pypto_rw import ir
from pypto_rw.layout import effective_view
from pypto_rw.records import replace
from pypto_rw.rewriting.declared import CONTEXT_KINDS, OPERAND_KINDS, Parameter, Signature
from pypto_rw.rewriting.engine import Engine
from pypto_rw.shaping import terms
from pypto_rw.shaping.arguments import attribute_term, bind, default_term, scratch_help
from pypto_rw.shaping.declarations import Declarations, vec
from pypto_rw.shaping.expressions import Key
from pypto_rw.shaping.operands import Instance, Var
from pypto_rw.shaping.unit import HIDDEN, Surroundings, pipe_key
from pypto_rw.shaping.values import ARTICLES, Refused, Value, begins_inside, kind_name, kind_of, overlap, undefined
from pypto_rw.syntax.parts import float_

_PACKED = frozenset({ir.DType.INT4, ir.DType.UINT4, ir.DType.FP4, ir.DType.HF4})  # two elements a byte
FLOATS = frozenset({ir.DType.FP16, ir.DType.BF16, ir.DType.FP32})
_WAY_IN = {  # how what an operand must be comes to be
    "tile": "for example with pl.load, if it is a tile",
    "tensor": "or pass it as a parameter, if it is a tensor",
}
_WIDER = {"integer": "scalar", "window": "tensor", "window-parameter": "tensor"}  # what such an operand is as well


class Asked(NamedTuple):
    """A call as a shape, with the expression and the parameter behind each operand, and its run-time extents."""

    shape: str
    sources: tuple[ir.Expr | None, ...]
    owners: tuple[str, ...]
    extents: tuple[ir.Expr, ...]


class Shaper(Declarations):
    """Makes instances for one function; `lookup` gives a variable's Value or None."""

    def __init__(
        self,
        engine: Engine,
        lookup: Callable[[str], Value | None],
        *,
        addresses: bool,
        surroundings: Surroundings,
    ) -> None:
        super().__init__(engine, lookup, addresses=addresses)
        self.surroundings = surroundings
        self.hidden: set[str] = set()

    def signature(self, call: ir.Call) -> Signature:
        """How the op of a call is called; Refused where no rule file declares it."""
        book = self.engine.rulebook
        if not self.engine.load_op(call.callee):
            from pypto_rw.shaping.unknown import no_op

            raise no_op(call, book, self.lookup)
        found = book.signature(call.callee)
        assert found is not None
        return found

    def call(
        self,
        call: ir.Call,
        signature: Signature,
        result: Value | None,
        name: str | None,
        arguments: dict[str, ir.Expr] | None = None,
    ) -> Instance:
        """Instance of a call; `result` is what is known of the variable `name` it is assigned to, `arguments` what
        `bind` gives."""

        def term(key: Key) -> str:
            if result is None:
                return "(none)"
            return f"(res {self.type_term(key, result.type)} {self._place(key, result)})"

        return self._call(call, signature, term, name, arguments=arguments)[0]

    def traced(
        self, call: ir.Call, signature: Signature, result: Value | None, name: str | None
    ) -> tuple[Instance, list[ir.Expr | None], tuple[ir.Expr, ...]]:
        """As `call`, with the expressions behind the operands and the extents."""

        def term(key: Key) -> str:
            return (
                "(none)" if result is None else f"(res {self.type_term(key, result.type)} {self._place(key, result)})"
            )

        key = Key()
        instance, extents = self._call(call, signature, term, name, key)
        return instance, key.sources, extents

    def call_for_pair(
        self, call: ir.Call, signature: Signature, results: list[tuple[str, Value]], name: str
    ) -> Instance:
        """Instance of a call whose two results are the (declared) tiles `results`."""

        def pair(key: Key) -> str:
            parts = []
            for result, value in results:
                k = key.position(Var(result))
                parts.append(f"(arg {k} {self.type_term(key, value.type)} {self._place(key, value)} (plain))")
            return f"(both {' '.join(parts)})"

        return self._call(call, signature, pair, name)[0]

    def untyped(self, call: ir.Call, signature: Signature) -> tuple[Instance, tuple[ir.Expr, ...]]:
        """Instance of a call whose result type is asked for, and the run-time extents its type may name."""
        return self._call(call, signature, lambda key: f"(res {self.interned('(untyped)')} (nowhere))", None)

    def asked(self, call: ir.Call, signature: Signature, result: ir.Type | None) -> Asked:
        """A call as a question before memory is planned."""
        key = Key()
        instance, extents = self._call(
            call,
            signature,
            lambda key: f"(res {self.type_term(key, result) if result else self.interned('(untyped)')} (nowhere))",
            None,
            key,
        )
        return Asked(instance.shape, tuple(key.sources), tuple(key.owners), extents)

    def _call(
        self,
        call: ir.Call,
        signature: Signature,
        result: Callable[[Key], str],
        name: str | None,
        key: Key | None = None,
        arguments: dict[str, ir.Expr] | None = None,
    ) -> tuple[Instance, tuple[ir.Expr, ...]]:
        key = key or Key()
        if arguments is None:
            arguments = bind(call, signature)
        stands_in = signature.usage.stands_in
        parts = []
        for p in signature.parameters:
            expr = arguments.get(p.name)
            if expr is None and p.name in stands_in:
                expr = arguments.get(stands_in[p.name])
            if isinstance(expr, ir.Int) and p.like is not None and expr.dtype is ir.DType.INDEX:
                expr = self.adopted(expr, p, signature, arguments)
            parts.append(self._argument(key, p, expr, call, signature, arguments))
            key.owners += [p.name] * (len(key.operands) - len(key.owners))
        res = result(key)
        if signature.generic:
            body = " ".join(x for x in parts if x != "(none)")
            shape = (
                f'(call "{signature.op}" (vec-of {body}) {res})'
                if body
                else f'(call "{signature.op}" (vec-empty) {res})'
            )
        else:
            shape = f"({signature.op} {' '.join(parts)} {res})"
        extents = tuple(self.index(e) for e in key.extents)
        return Instance(shape, tuple(key.operands), extents, name), tuple(key.extents)

    def adopted(self, literal: ir.Int, p: Parameter, signature: Signature, arguments: dict[str, ir.Expr]) -> ir.Expr:
        """A bare integer in the dtype that `p` is like: that of a parameter or an operand, or a dtype itself."""
        dtype = self.like(p, signature, arguments)
        if dtype is None:
            return literal
        return float_(float(literal.value), dtype) if dtype in FLOATS else replace(literal, dtype=dtype)

    def like(self, p: Parameter, signature: Signature, arguments: dict[str, ir.Expr]) -> ir.DType | None:
        """The dtype that a constant for `p` takes; None when the signature names none."""
        if p.like is None or p.like in ir.DType.__members__:
            return ir.DType[p.like] if p.like else None
        expr = arguments.get(p.like)
        if isinstance(expr, ir.Symbol):
            return ir.DType.__members__.get(expr.path.rsplit(".", 1)[-1])
        if expr is None:
            default = next((q.default for q in signature.parameters if q.name == p.like), None)
            return ir.DType.__members__.get(default or "")
        found = self.lookup(expr.id) if isinstance(expr, ir.Name) else None
        return getattr(found.type, "dtype", None) if found else None

    def _argument(
        self,
        key: Key,
        p: Parameter,
        expr: ir.Expr | None,
        call: ir.Call,
        signature: Signature,
        arguments: dict[str, ir.Expr],
    ) -> str:
        if p.kind in CONTEXT_KINDS:
            return self._context(key, p, call)
        if expr is None or (isinstance(expr, ir.Name) and expr.id == "None"):
            if p.default is None:
                raise Refused("operand-count", f"{call.callee} needs {p.name}", call.span, scratch_help(p))
            return default_term(p)
        if p.kind in OPERAND_KINDS:
            return self._operand_term(key, p, expr, call)
        if p.kind == "extent":
            return self._extent_argument(key, expr)
        if p.kind in ("tuple", "sizes", "shape", "extents"):
            if not isinstance(expr, ir.Tuple):
                raise Refused("operand-kind", f"{call.callee}: {p.name} must be a list such as [16, 64]", call.span)
            if p.kind == "extents":
                inside = self.room(p, expr, signature, arguments)
                return vec([self._extent_argument(key, e, k in inside) for k, e in enumerate(expr.items)])
            items = [self.scalar_term(key, e, literal=p.kind != "tuple") for e in expr.items]
            if p.kind == "shape":
                for e in expr.items:
                    e = self.resolved(e)
                    if not isinstance(e, ir.Int) or e.value <= 0:
                        what = e.value if isinstance(e, ir.Int | ir.Float) else "a run-time value"
                        raise Refused(
                            "shape-constant",
                            f"{call.callee}: every element of {p.name} must be a positive constant; got {what}",
                            call.span,
                        )
            return vec(items)
        try:
            return attribute_term(p, self.resolved(expr), call)
        except Refused as refused:
            codes = next((told for name, told in signature.all("codes") if name == p.name), None)
            if codes is not None and not refused.help:
                refused.help = f"write its number: {codes}"
            raise

    def _context(self, key: Key, p: Parameter, call: ir.Call) -> str:
        """Term of a parameter that the surroundings fill in."""
        here = self.surroundings
        if p.kind == "attribute":
            return terms.string(here.attribute(p.name))
        if p.kind == "gm-offset":
            pipe = pipe_key(call)
            if pipe in here.clashes:
                raise Refused("pipe-mismatch", f"{call.callee}: {here.clashes[pipe]}", call.span)
            return str(here.regions.get(pipe, 0) if pipe is not None else 0)
        if p.name in HIDDEN:
            self.hidden.add(p.name)
            k = key.position(Var(p.name))
            return f"(arg {k} {self.interned(HIDDEN[p.name])} (nowhere) (plain))"
        param = here.parameter(p.name)
        if param is None:
            return "(none)"
        return f"(arg {key.position(Var(p.name))} {self.type_term(key, param.type)} (nowhere) (plain))"

    def _operand_term(self, key: Key, p: Parameter, expr: ir.Expr, call: ir.Call) -> str:
        found = self.lookup(expr.id) if isinstance(expr, ir.Name) else None
        if isinstance(expr, ir.Name) and found is None:
            raise undefined(expr.id, _WAY_IN.get(p.kind, ""))
        kind = kind_of(found.type) if found is not None else "scalar"
        if p.kind != "any" and kind != _WIDER.get(p.kind, p.kind):
            got = (
                f"{expr.id} is {kind_name(found.type)}"
                if found is not None and isinstance(expr, ir.Name)
                else f"got {'a list' if isinstance(expr, ir.Tuple) else 'a scalar'}"
            )
            help = ""
            if {kind, _WIDER.get(p.kind, p.kind)} == {"tile", "tensor"}:
                help = "load the tensor into a tile first (pl.load), or store the tile (pl.store)"
            elif kind == "scalar" and p.kind == "tile":
                from pypto_rw.shaping.ways import tile_first

                help = tile_first(call, self.signature(call), self.lookup)
            raise Refused(
                "operand-kind",
                f"{call.callee}: {p.name} must be {ARTICLES[p.kind]}, but {got}",
                call.span,
                help,
            )
        if kind == "scalar":
            if p.kind == "integer":
                self._require_integer(p, expr, call)
            return self.scalar_term(key, expr)
        assert isinstance(expr, ir.Name) and found is not None
        k = key.position(Var(expr.id), expr)
        return f"(arg {k} {self.type_term(key, found.type)} {self._place(key, found)} {self._origin(key, found)})"

    def _require_integer(self, p: Parameter, expr: ir.Expr, call: ir.Call) -> None:
        dtype = self.dtype(self.resolved(expr)).value
        if "INT" not in dtype and dtype != "INDEX":
            what = expr.id if isinstance(expr, ir.Name) else "this expression"
            raise Refused(
                "operand-dtype",
                f"{call.callee}: {p.name} must be an integer, but {what} is {dtype}",
                call.span,
                "convert it with pl.cast(x, pl.INT32)",
            )

    def _place(self, key: Key, value: Value) -> str:
        if value.place is None:
            return "(nowhere)"
        buffer, bytes_, handle = value.place
        buffers, ranges, handles = key.places
        over = 0
        for other, n in ranges.items():
            if other != bytes_ and overlap(other, bytes_):
                over |= 1 << 2 * n + begins_inside(other, bytes_)
        numbers = (buffers.setdefault(buffer, len(buffers)), ranges.setdefault(bytes_, len(ranges)))
        return f"(place {numbers[0]} {numbers[1]} {handles.setdefault(handle, len(handles))} {over})"

    def _origin(self, key: Key, value: Value) -> str:
        window = value.window
        if window is None:
            return "(plain)" if value.origin == "window" else f"({value.origin})"
        handle = key.places[2].setdefault(window.handle, len(key.places[2]))
        row, col = self.extent(key, window.row), self.extent(key, window.col)
        return f"(window {handle} {row} {col} {window.columns} {window.memory})"

    def _extent_argument(self, key: Key, expr: ir.Expr, inside: bool = False) -> str:
        expr = self.resolved(expr)
        self.dtype(expr)  # refuses what is no scalar
        if inside:
            key.extents.append(expr)
            return f"(inside {len(key.extents) - 1})"
        return self.extent(key, expr)

    def room(
        self, p: Parameter, offsets: ir.Tuple, signature: Signature, arguments: dict[str, ir.Expr]
    ) -> dict[int, int]:
        """Axes on which a constant offset keeps its window inside the tensor, and the largest one that does.

        Of these the number need not be told. Source: rules/core/windows.egg, `inside-of`."""
        trait = signature.trait("inside-of")
        if trait is None or trait[0] != p.name or any(isinstance(a, ir.Bool) and a.value for a in arguments.values()):
            return {}
        tensor = self._type_of(arguments.get(trait[1]))
        reach = self._reach(next((arguments[n] for n in trait[2].split() if n in arguments), None))
        if not isinstance(tensor, ir.TensorType) or tensor.dtype in _PACKED:
            return {}
        if (tensor.view is not None and tensor.view.valid) or not len(offsets.items) == len(reach) == len(tensor.shape):
            return {}
        windows = enumerate(zip(offsets.items, reach, tensor.shape, strict=True))
        return {k: most for k, window in windows if (most := _last_inside(*map(self.resolved, window))) is not None}

    def _reach(self, expr: ir.Expr | None) -> tuple[ir.Expr, ...]:
        """The extents of a list, or the valid ones of a tile."""
        if isinstance(expr, ir.Tuple):
            return expr.items
        t = self._type_of(expr)
        return effective_view(t).valid if isinstance(t, ir.TileType) else ()

    def _type_of(self, expr: ir.Expr | None) -> ir.Type | None:
        return self.type(expr.id) if isinstance(expr, ir.Name) else None


def _last_inside(offset: ir.Expr, size: ir.Expr, extent: ir.Expr) -> int | None:
    """The largest offset of a window that stays inside, None where this one does not."""
    if not (isinstance(offset, ir.Int) and isinstance(size, ir.Int) and isinstance(extent, ir.Int)):
        return None
    return extent.value - size.value if offset.value >= 0 and 0 <= size.value <= extent.value - offset.value else None
