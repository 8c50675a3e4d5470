"""Calls of one kind, walked once: the node of the next one is the same but for its names and offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pypto_rw import ir
from pypto_rw.lowering.nodes import Do, Node
from pypto_rw.rewriting.declared import CONTEXT_KINDS, Signature
from pypto_rw.scalars import WIDE
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.kinds import Key, Keys, Kinds, left_out, limits
from pypto_rw.shaping.operands import Const, Instance, Operand, Var
from pypto_rw.shaping.values import Value

if TYPE_CHECKING:
    from pypto_rw.lowering.walk import Walker

_NOT_HERE = ("no-view", "declares", "materialises")  # what these do is more than a node
_OWN = -1
_ANY = (-WIDE, WIDE)


class Nested(NamedTuple):
    """An expression among the operands: its first instance, and where the operands of the others come from."""

    first: Instance
    operands: tuple[Source, ...]


# The number of a variable of the call, the complement of that of an offset, an expression, or what never varies.
Source = int | Nested | Operand


class Walked(NamedTuple):
    """What calls of a kind become. `call` and `alloc` are the instances of the first one, `operands` and `extents`
    where those of the others come from.

    `place` is the result's without its handle, `handle` and `own` what stands for its handle in values and
    allocations: a variable's number, -1 for its own name, or something fixed. `root`, `shares`: numbers of variables,
    or -1. `stores`: the variable that is written, and by what. `most`: up to where the left out offsets may go;
    `known`: what the keys of calls have of the result. `updates`: it leaves the tile it shares otherwise."""

    call: Instance
    operands: tuple[Source, ...]
    extents: tuple[Source, ...]
    alloc: Instance | None
    type: ir.Type | None
    place: tuple[object, object] | None
    origin: str
    handle: object
    own: object
    root: int
    shares: int
    address: ir.Int | None
    stores: tuple[int, str] | None
    most: tuple[int, ...]
    known: tuple[int | None, tuple[str, ...]] = (None, ())
    updates: bool = False


class Replay:
    """The calls of one function; of one that is not `plain` every call is walked."""

    def __init__(self, walker: Walker, *, plain: bool) -> None:
        self.walker = walker
        self.kinds = Kinds.of(walker.engine, "walk")
        self.keys = Keys(self.kinds, walker.values)
        self.plain = plain

    def statement(self, stmt: ir.Assign | ir.Evaluate, out: list[Node]) -> None:
        """Appends the node of a call, or what a walk gives for one whose kind is not known."""
        call = stmt.value
        if type(call) is ir.Call and call.callee == "tile.alloc" and type(stmt) is ir.Assign and len(stmt.targets) == 1:
            self.walker.allocate(stmt.targets[0], call)
            return
        key = self._key(stmt)
        if key is None:
            self.walker.statement(stmt, out)
            return
        known: Walked | None = self.kinds.made.get(key)
        names, offsets = self.keys.names, self.keys.offsets
        if known is not None and self._repeat(stmt, known, names, offsets, out):
            return
        before = len(out)
        self.walker.statement(stmt, out)
        if known is None and len(out) == before + 1 and isinstance(node := out[-1], Do):
            self._learn(stmt, node, key, names, offsets)

    def _key(self, stmt: ir.Assign | ir.Evaluate) -> Key | None:
        call = stmt.value
        if not self.plain or not isinstance(call, ir.Call):
            return None
        return self.keys.of(call, self.kinds.type(stmt.type) if isinstance(stmt, ir.Assign) else -1)

    def _repeat(
        self, stmt: ir.Assign | ir.Evaluate, known: Walked, names: list[str], offsets: list[int], out: list[Node]
    ) -> bool:
        """Whether the statement is as the first one of its kind; its node is appended then."""
        walker = self.walker
        values = walker.values
        for offset, most in zip(offsets, known.most, strict=True):
            if offset > most:
                return False
        if known.stores is not None:
            at, by = known.stores
            target = values[names[at]]
            if walker.written.setdefault(target.root or names[at], by) != by:
                return False
        call = stmt.value
        assert isinstance(call, ir.Call)
        name = None
        alloc = known.alloc
        if isinstance(stmt, ir.Assign):
            name = stmt.targets[0]
            if name in values or name in walker.tiles.redirected:
                return False
            t = known.type
            assert t is not None
            place = None
            if known.place is not None:
                if isinstance(t, ir.TileType):
                    walker.tiles.require_within(name, t)
                place = (*known.place, self._handle(known.handle, name, names))
                if known.own is not None:
                    walker.tiles.handles.setdefault(name, self._handle(known.own, name, names))
                if known.address is not None:
                    walker.tiles.offsets.append(known.address)
            root = values[names[known.root]].root if known.root >= 0 else None
            values[name] = value = Value(t, place, known.origin, None, None, _ANY, None, root)
            self.keys.numbers[name] = (value, *known.known)
            if alloc is not None:
                alloc = Instance(alloc.shape, alloc.operands, (), name, alloc.template)
        walker.used.update(names)
        first = known.call
        instance = Instance(
            first.shape,
            tuple([s if type(s) is Const else _filled(s, names, offsets) for s in known.operands]),
            tuple([s if type(s) is Const else _filled(s, names, offsets) for s in known.extents]),
            name,
            first.template,
        )
        shares = names[known.shares] if known.shares >= 0 else None
        if shares is not None and name is not None and known.updates:
            walker.updates[name] = shares
        out.append(Do(instance, alloc, stmt.span, call.span or stmt.span, shares))
        return True

    def _handle(self, handle: object, name: str, names: list[str]) -> object:
        if type(handle) is not int:
            return handle
        if handle == _OWN:
            return name
        place = self.walker.values[names[handle]].place
        return place[2] if place is not None else names[handle]

    # ------------------------------------------------------------------------------ learning

    def _learn(self, stmt: ir.Assign | ir.Evaluate, node: Do, key: Key, names: list[str], offsets: list[int]) -> None:
        exact = len(self.kinds.exact)
        found = self._learned(stmt, node, names, offsets)
        if found is not None:
            self.kinds.put(key, found)
        elif len(self.kinds.exact) > exact and (new := self._key(stmt)) is not None:  # an offset decides: now it counts
            self._learn(stmt, node, new, self.keys.names, self.keys.offsets)

    def _learned(self, stmt: ir.Assign | ir.Evaluate, node: Do, names: list[str], offsets: list[int]) -> Walked | None:
        """What calls of the kind of `stmt` become, which became `node`; None where that is not the same for all."""
        walker, call = self.walker, stmt.value
        assert isinstance(call, ir.Call)
        name = stmt.targets[0] if isinstance(stmt, ir.Assign) else None
        if name in names:  # the operand of that name is no longer known
            return None
        signature = walker.shaper.signature(call)
        if any(signature.trait(t) for t in _NOT_HERE) or any(p.kind in CONTEXT_KINDS for p in signature.parameters):
            return None
        if call.callee.startswith("pld.") or node.span != stmt.span or node.call_span != (call.span or stmt.span):
            return None
        most = limits(self.kinds, call, call, signature, walker.shaper)
        if most is None or len(most) != len(offsets) or any(v > m for v, m in zip(offsets, most, strict=True)):
            return None
        value = walker.values.get(name) if name is not None else None
        if node.instance.result != name or (value is None) != (name is None):
            return None  # the name of a call for its effect
        if name in walker.tiles.redirected:
            return None
        sources = self._sources(call, signature, node.instance, value, names, offsets)
        if sources is None:
            return None
        stores = self._stores(call, signature, names)
        shares = names.index(node.shares) if node.shares in names else -1
        alloc = node.alloc
        if alloc is not None and (alloc.extents or not all(isinstance(o, Const) for o in alloc.operands)):
            return None
        if value is None or name is None or not isinstance(stmt, ir.Assign):
            return Walked(node.instance, *sources, None, None, None, "", None, None, -1, shares, None, stores, most)
        t = value.type
        if value.window is not None or value.constant is not None or self.kinds.variables.get(self.kinds.type(t)):
            return None
        if isinstance(t, ir.TupleType | ir.OpaqueType):
            return None
        if value != Value(t, value.place, value.origin, root=value.root):
            return None
        root = self._root(call, signature, value, names)
        if value.root is not None and root < 0:
            return None
        place, handle, own = None, None, None
        address = None
        if value.place is not None:
            place = value.place[:2]
            own = walker.tiles.handles.get(name)
            of_type: object = None
            if isinstance(t, ir.TileType) and t.memref is not None:
                if t.memref.slot is not None or place != walker.tiles.bytes_of(t):
                    return None
                of_type = walker.tiles.identity(t.memref)
                address = t.memref.offset if isinstance(t.memref.offset, ir.Int) else None
            else:
                return None
            handle = self._kind_of_handle(value.place[2], name, names, of_type)
            if own is not None:
                own = self._kind_of_handle(own, name, names, of_type)
                if own is None:
                    return None
            if handle is None:
                return None
        return Walked(
            node.instance,
            *sources,
            alloc,
            t,
            place,
            value.origin,
            handle,
            own,
            root,
            shares,
            address,
            stores,
            most,
            self.kinds.known(value),
            walker.calls.updates(signature, value),
        )

    def _kind_of_handle(self, handle: object, name: str, names: list[str], of_type: object) -> object:
        if handle == name:
            return _OWN
        if handle == of_type:
            return handle
        for k, n in enumerate(names):
            place = self.walker.values[n].place
            if place is not None and place[2] == handle:
                return k
        return None

    def _root(self, call: ir.Call, signature: Signature, value: Value, names: list[str]) -> int:
        """The variable whose memory a tensor is: the one that the call writes or looks at; -1 for none."""
        trait = signature.trait("in-place") or signature.trait("inherits")
        source = bind(call, signature).get(trait[0]) if trait and value.root is not None else None
        if not isinstance(source, ir.Name) or self.walker.values[source.id].root != value.root:
            return -1
        return names.index(source.id)

    def _stores(self, call: ir.Call, signature: Signature, names: list[str]) -> tuple[int, str] | None:
        """The tensor that a call writes, and by what: `Walker._note_store`."""
        trait = signature.trait("in-place")
        target = bind(call, signature).get(trait[0]) if trait else None
        if not isinstance(target, ir.Name) or not isinstance(self.walker.values[target.id].type, ir.TensorType):
            return None
        return names.index(target.id), "scalar" if signature.op == "tensor.write" else "tile"

    def _sources(
        self,
        call: ir.Call,
        signature: Signature,
        instance: Instance,
        value: Value | None,
        names: list[str],
        offsets: list[int],
    ) -> tuple[tuple[Source, ...], tuple[Source, ...]] | None:
        """Where the operands and the extents of an instance come from."""
        new: dict[int, int] = {}  # by id: an integer that stands for an offset
        kept: list[ir.Int] = []
        args: list[ir.Expr] = []
        for k, a in enumerate(call.args):
            if isinstance(a, ir.Tuple) and (call.callee, k) not in self.kinds.exact:
                items: list[ir.Expr] = []
                for item in a.items:
                    if left_out(item) and isinstance(item, ir.Int):
                        item = ir.Int(item.value)
                        new[id(item)] = len(kept)
                        kept.append(item)
                    items.append(item)
                a = ir.Tuple(tuple(items), a.brackets)
            args.append(a)
        if len(kept) != len(offsets):
            return None
        shaper = self.walker.shaper
        traced = ir.Call(call.callee, tuple(args), call.kwargs, call.attrs, call.span)
        again, exprs, extents = shaper.traced(traced, signature, value, instance.result)
        if again != instance:
            return None

        def source(operand: Operand, expr: ir.Expr | None) -> Source | None:
            if id(expr) in new:
                return ~new[id(expr)] if operand == Const(offsets[new[id(expr)]], "INDEX") else None
            return _source(operand, names)

        found = [source(o, e) for o, e in zip(instance.operands, exprs, strict=True)]
        beyond = [source(o, e) for o, e in zip(instance.extents, extents, strict=True)]
        if None in found or None in beyond:
            return None
        return tuple(s for s in found if s is not None), tuple(s for s in beyond if s is not None)


def _source(operand: Operand, names: list[str]) -> Source | None:
    """Where an operand without an offset comes from."""
    if isinstance(operand, Var):
        return names.index(operand.name) if operand.name in names else None
    if isinstance(operand, Const):
        return operand
    found = [_source(o, names) for o in operand.operands]
    if operand.extents or operand.result is not None or None in found:
        return None
    return Nested(operand, tuple(s for s in found if s is not None))


def _filled(source: Source, names: list[str], offsets: list[int]) -> Operand:
    if isinstance(source, int):
        return Var(names[source]) if source >= 0 else Const(offsets[~source], "INDEX")
    if isinstance(source, Nested):
        operands = tuple([_filled(s, names, offsets) for s in source.operands])
        return Instance(source.first.shape, operands, (), None, source.first.template)
    return source
