"""A vector kernel whose tiles are divided between the two lanes of a core: each lane computes half of every tile.

    t = pl.tile.load(x, [0, 0], [32, 64])     =>   t = pl.tile.load(x, [lane * 16, 0], [16, 64])
    pl.tile.tpush_to_aic(t, split=1)               pl.tile.tpush_to_aic(t, split=1)

split=1 divides the rows, split=2 the columns. Only equal halves, and only ops that keep the divided axis. cross-core.md
§8.1, §8.4.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.front.asking import Asker
from pypto_rw.front.names import assigned
from pypto_rw.layout import effective_view
from pypto_rw.records import replace
from pypto_rw.rewriting.declared import Signature
from pypto_rw.rewriting.engine import Engine
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.unit import Surroundings
from pypto_rw.shaping.values import Refused, Value

_MODES = {1: "UP_DOWN", 2: "LEFT_RIGHT"}


def lane_split(function: ir.Function, engine: Engine) -> int:
    """The split code that a function's pushes and pops have, 0 where there is none.

    Raises Refused where they differ, or are odd."""
    found = 0
    for stmt in ir.statements(function.body):
        call = ir.called(stmt)
        split = dict(call.kwargs).get("split") if call is not None else None
        if call is None or not isinstance(split, ir.Int) or split.value == 0:
            continue
        if split.value not in _MODES or found not in (0, split.value):
            raise _refused(call, f"split={split.value} beside split={found}" if found else f"split={split.value}")
        found = split.value
    return found


def halved(function: ir.Function, engine: Engine, surroundings: Surroundings, split: int) -> ir.Function:
    """What one lane computes of a legal vector kernel. Raises Refused for an op that needs the whole divided axis."""
    return _Half(function, engine, surroundings, split).function()


class _Half:
    def __init__(self, function: ir.Function, engine: Engine, surroundings: Surroundings, split: int) -> None:
        self.source, self.axis, self.split = function, split - 1, split
        self.asker = Asker(engine, surroundings)
        self.lane = "subblock_idx"
        taken = {p.name for p in function.params} | set(assigned(function.body))
        while self.lane in taken:
            self.lane += "_"

    def function(self) -> ir.Function:
        values = self.asker.values
        self.asker.parameters(self.source)
        values[self.lane] = Value(ir.ScalarType(ir.DType.INDEX), bounds=(0, 1))
        asks = ir.Assign(
            (self.lane,), ir.ScalarType(ir.DType.INDEX), ir.Call("tile.get_subblock_idx"), self.source.span
        )
        attrs = (
            *self.source.attrs,
            ("split", ir.Symbol(f"SplitMode.{_MODES[self.split]}")),
            ("dual_aiv_dispatch", ir.Bool(True)),
        )
        return replace(self.source, body=(asks, *self.block(self.source.body)), attrs=attrs)

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(map(self.statement, body))

    def statement(self, stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Assign(value=ir.Call() as call) | ir.Evaluate(value=ir.Call() as call):
                return self.call(stmt, call)
            case ir.Assign():
                t = self._half(stmt.type, stmt.targets[0]) if isinstance(stmt.type, ir.TileType) else stmt.type
                self.asker.values[stmt.targets[0]] = Value(t or ir.OpaqueType("pl.UnknownType"))
                return replace(stmt, type=t)
            case ir.For() | ir.While():
                if isinstance(stmt, ir.For):
                    self.asker.values[stmt.variable] = Value(ir.ScalarType(ir.DType.INDEX))
                self._carry(stmt.carried, stmt.initial)
                body = self.block(stmt.body)
                if body and isinstance(body[-1], ir.Yield):
                    self._carry(body[-1].targets, tuple(map(ir.Name, stmt.carried)))
                return replace(stmt, body=body)
            case ir.If():
                then = self.block(stmt.body)
                orelse = self.block(stmt.orelse) if stmt.orelse is not None else None
                if then and isinstance(then[-1], ir.Yield):
                    self._carry(then[-1].targets, then[-1].values)
                return replace(stmt, body=then, orelse=orelse)
            case ir.Yield() if isinstance(stmt.type, ir.TileType):
                return replace(stmt, type=self._half(stmt.type, stmt.targets[0]))
        return stmt

    def _carry(self, names: tuple[str, ...], values: tuple[ir.Expr, ...]) -> None:
        for name, value in zip(names, values, strict=False):
            found = self.asker.values.get(value.id) if isinstance(value, ir.Name) else None
            self.asker.values[name] = found or Value(ir.ScalarType(self.asker.shaper.dtype(value)))

    def call(self, stmt: ir.Assign | ir.Evaluate, call: ir.Call) -> ir.Stmt:
        """A call on halves; its result must be half of what it was."""
        signature = self.asker.signature(call)
        new = self._per_lane(call, signature)
        answer = self.asker.ask(new)
        if answer.findings:
            raise _refused(call, answer.findings[0].message)
        if not isinstance(stmt, ir.Assign):
            return replace(stmt, value=new)
        t = stmt.type or answer.type or ir.OpaqueType("pl.UnknownType")
        if isinstance(t, ir.TileType):
            self._require_kept(call, t)
            t = self._half(t, stmt.targets[0])
            if isinstance(answer.type, ir.TileType) and answer.type.shape != t.shape:
                raise _refused(call, f"{stmt.targets[0]} is not half of what it was on each lane")
        self.asker.values[stmt.targets[0]] = self.asker.value(stmt.targets[0], t, new)
        return replace(stmt, value=new, type=t)

    def _require_kept(self, call: ir.Call, t: ir.TileType) -> None:
        """An op may not combine values along the divided axis."""
        for arg in call.args:
            found = self.asker.values.get(arg.id) if isinstance(arg, ir.Name) else None
            if found is None or not isinstance(found.type, ir.TileType) or len(t.shape) <= self.axis:
                continue
            if t.shape[self.axis] == ir.Int(1) and found.type.shape[self.axis] != ir.Int(1):
                raise _refused(call, f"{call.callee} combines values along the divided axis")

    def _per_lane(self, call: ir.Call, signature: Signature) -> ir.Call:
        """The arguments of one lane: offsets moved on by the lane's half, extents halved."""
        words = signature.trait("per-lane")
        if words is None:
            return call
        arguments = bind(call, signature)
        new = {name: self._halved(arguments[name], call) for name in words[1:] if name in arguments}
        offsets = arguments.get(words[0])
        if isinstance(offsets, ir.Tuple):
            size = self._size(call, signature, arguments)
            new[words[0]] = self._moved_on(offsets, size)
        names = [p.name for p in signature.parameters]
        args = tuple(new.get(names[k], a) for k, a in enumerate(call.args))
        return replace(call, args=args, kwargs=tuple((k, new.get(k, a)) for k, a in call.kwargs))

    def _size(self, call: ir.Call, signature: Signature, arguments: dict[str, ir.Expr]) -> int:
        """How much of the divided axis a lane has: of the window's shape, or of the tile that is written."""
        for p in signature.parameters:
            expr = arguments.get(p.name)
            found = self.asker.values.get(expr.id) if isinstance(expr, ir.Name) else None
            if p.kind == "shape" and isinstance(expr, ir.Tuple):
                whole = expr.items[len(expr.items) - 2 + self.axis]
                return whole.value // 2 if isinstance(whole, ir.Int) else 0
            if found is not None and isinstance(found.type, ir.TileType):
                half = found.type.shape[self.axis]
                return half.value if isinstance(half, ir.Int) else 0
        raise _refused(call, f"{call.callee} has no extent on the divided axis")

    def _moved_on(self, offsets: ir.Tuple, size: int) -> ir.Tuple:
        axis = len(offsets.items) - 2 + self.axis
        own = ir.Binary("*", ir.Name(self.lane), ir.Int(size))
        old = offsets.items[axis]
        moved = own if old == ir.Int(0) else ir.Binary("+", old, own)
        return replace(offsets, items=(*offsets.items[:axis], moved, *offsets.items[axis + 1 :]))

    def _halved(self, extents: ir.Expr, call: ir.Call) -> ir.Expr:
        if not isinstance(extents, ir.Tuple):
            return extents
        axis = len(extents.items) - 2 + self.axis
        whole = extents.items[axis]
        if not isinstance(whole, ir.Int) or whole.value % 2:
            raise _refused(call, "the divided axis must be an even constant")
        return replace(extents, items=(*extents.items[:axis], ir.Int(whole.value // 2), *extents.items[axis + 1 :]))

    def _half(self, t: ir.TileType, name: str) -> ir.TileType:
        """A lane's half of a tile type; an axis of 1 is the same on both lanes."""
        whole, valid = t.shape[self.axis], effective_view(t).valid
        if whole == ir.Int(1):
            return t
        if not isinstance(whole, ir.Int) or whole.value % 2 or valid[self.axis] != whole:
            raise Refused(
                "split-kernel",
                f"{name} cannot be divided into equal lanes: its divided axis must be even and fully valid; unequal "
                "lanes need the tensor-level pipeline, which this compiler does not have",
                help="narrow the tile along the other axis only, or split the other axis",
            )
        half = ir.Int(whole.value // 2)
        view = t.view
        if view is not None and view.valid is not None:
            view = replace(view, valid=(*view.valid[: self.axis], half, *view.valid[self.axis + 1 :]))
        return replace(t, shape=(*t.shape[: self.axis], half, *t.shape[self.axis + 1 :]), view=view)


def _refused(call: ir.Call, what: str) -> Refused:
    return Refused(
        "split-kernel",
        f"this kernel cannot be divided between the two lanes: {what}; that needs the tensor-level pipeline, which "
        "this compiler does not have",
        call.span,
        "divide the kernel by hand: write what one lane computes, with pl.tile.get_subblock_idx()",
    )
