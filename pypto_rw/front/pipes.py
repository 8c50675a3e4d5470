"""What the pipes between the cores ask of a kernel: the buffer of their slots, and a branch for each lane.

    pl.aiv_initialize_pipe(…)   =>   a parameter __gm_pipe_buffer, where the target keeps the slots in global memory
    <body>                      =>   if subblock_idx == 0: <body>  else: <body on empty tiles>

On a target that dispatches both vector lanes, a kernel that does not split its tiles computes on lane 0 alone; lane 1
takes part in the transport with empty tiles. cross-core.md §8.3, §8.4.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.front.copies import copied, defined
from pypto_rw.front.names import assigned, fresh, replaced
from pypto_rw.front.resolve import full_name
from pypto_rw.front.split import halved, lane_split
from pypto_rw.records import replace
from pypto_rw.rewriting.declared import Signature
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.unit import Surroundings

_FP32 = ir.TensorType((ir.Int(1),), ir.DType.FP32)


def with_needed_parameters(function: ir.Function, rulebook: Rulebook, target: str) -> ir.Function:
    """`function` with the parameters that its ops need on the target: `(needs-parameter op target name)`."""
    names = {p.name for p in function.params}
    params = list(function.params)
    calls = (call for s in ir.statements(function.body) if (call := ir.called(s)) is not None)
    for callee in dict.fromkeys([call.callee for call in calls]):
        signature = rulebook.signature(full_name(callee, rulebook))
        needs = signature.trait("needs-parameter") if signature else None
        if needs is not None and needs[0] == target and needs[1] not in names:
            names.add(needs[1])
            params.append(ir.Param(needs[1], _FP32, "Out", function.span))
    return replace(function, params=tuple(params)) if len(params) > len(function.params) else function


def dispatched(function: ir.Function, engine: Engine, surroundings: Surroundings) -> ir.Function:
    """A vector kernel for both lanes: its tiles are divided, or one lane does the work. Other kernels as they are.

    Raises Refused for a kernel that cannot be divided."""
    rulebook, target = engine.rulebook, engine.target
    if function.kind != "AIV" or any(k in ("split", "dual_aiv_dispatch") for k, _ in function.attrs):
        return function
    split = lane_split(function, engine)
    if split:
        return halved(function, engine, surroundings, split)
    calls = (s.value for s in ir.statements(function.body) if isinstance(s, ir.Assign | ir.Evaluate))
    callees = dict.fromkeys([c.callee for c in calls if isinstance(c, ir.Call)])
    signatures = map(rulebook.signature, callees)
    opens = any((s.trait("needs-parameter") or ("",))[0] == target for s in signatures if s is not None)
    return _Lanes(function, rulebook).function() if opens else function


class _Lanes:
    def __init__(self, function: ir.Function, rulebook: Rulebook) -> None:
        self.source, self.rulebook = function, rulebook
        self.taken = {p.name for p in function.params} | set(defined(function.body)) | set(assigned(function.body))

    def function(self) -> ir.Function:
        body = self.source.body
        start = next((k for k, s in enumerate(body) if not self._sets_up(s)), len(body))
        last = body[-1] if body and isinstance(body[-1], ir.Return) else None
        inner = body[start : len(body) - 1 if last else len(body)]
        lane = fresh(self.taken, "subblock_idx")
        asks = ir.Assign((lane,), ir.ScalarType(ir.DType.INDEX), ir.Call("tile.get_subblock_idx"), self.source.span)
        own = {n: fresh(self.taken, n) for n in dict.fromkeys(defined(inner))}
        stands: dict[str, ir.Expr] = {}
        replay = tuple(s for stmt in copied(inner, own) if (s := self._emptied(stmt, stands)) is not None)
        first = ir.Binary("==", ir.Name(lane), ir.Int(0))
        branch = ir.If(first, inner, replay, span=self.source.span)
        attrs = (*self.source.attrs, ("dual_aiv_dispatch", ir.Bool(True)))
        end = (ir.Return((), last.span),) if last else ()
        return replace(self.source, body=(asks, *body[:start], branch, *end), attrs=attrs)

    def _sets_up(self, stmt: ir.Stmt) -> bool:
        signature = self._signature(stmt)
        return signature is not None and signature.trait("prologue") is not None

    def _signature(self, stmt: ir.Stmt) -> Signature | None:
        call = ir.called(stmt)
        return self.rulebook.signature(call.callee) if call is not None else None

    def _emptied(self, stmt: ir.Stmt, stands: dict[str, ir.Expr]) -> ir.Stmt | None:
        """The statement on tiles without valid elements; None for what has no effect then."""
        stmt = replaced(stmt, lambda n: stands.get(n, ir.Name(n)))
        match stmt:
            case ir.For() | ir.While():
                body = (self._emptied(s, stands) for s in stmt.body)
                return replace(stmt, body=tuple(s for s in body if s is not None))
            case ir.If():
                then = tuple(s for s in (self._emptied(s, stands) for s in stmt.body) if s is not None)
                other = tuple(s for s in (self._emptied(s, stands) for s in stmt.orelse or ()) if s is not None)
                return replace(stmt, body=then, orelse=other if stmt.orelse is not None else None)
            case ir.Yield() if isinstance(stmt.type, ir.TileType):
                return replace(stmt, type=_empty(stmt.type))
        signature = self._signature(stmt)
        if signature is None or not isinstance(stmt, ir.Assign | ir.Evaluate) or not isinstance(stmt.value, ir.Call):
            return stmt
        into = signature.trait("in-place")
        arguments = bind(stmt.value, signature)
        target = arguments.get(into[0]) if into else None
        if target is not None and any(p.kind == "tensor" and into and p.name == into[0] for p in signature.parameters):
            if isinstance(stmt, ir.Assign):
                stands[stmt.targets[0]] = target
            return None
        if not isinstance(stmt, ir.Assign) or not isinstance(stmt.type, ir.TileType):
            return stmt
        empty = _empty(stmt.type)
        if signature.trait("from-global") is not None and stmt.type.space is not None:
            keywords = (
                ("dtype", ir.Symbol(stmt.type.dtype.value)),
                ("target_memory", ir.Symbol(f"Mem.{stmt.type.space.value}")),
            )
            stmt = replace(
                stmt, value=ir.Call("tile.create", (ir.Tuple(stmt.type.shape),), keywords, (), stmt.value.span)
            )
        assert isinstance(stmt.value, ir.Call)
        if narrows := signature.trait("narrows"):
            names = [p.name for p in signature.parameters]
            args = tuple(ir.Int(0) if names[k] in narrows else a for k, a in enumerate(stmt.value.args))
            kwargs = tuple((k, ir.Int(0) if k in narrows else a) for k, a in stmt.value.kwargs)
            stmt = replace(stmt, value=replace(stmt.value, args=args, kwargs=kwargs))
        return replace(stmt, type=empty)


def _empty(t: ir.TileType) -> ir.TileType:
    return replace(t, view=replace(t.view or ir.TileView(), valid=tuple(ir.Int(0) for _ in t.shape)))
