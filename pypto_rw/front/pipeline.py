"""Pipelined loops: `pl.pipeline(n, stage=F)` becomes a loop over F copies of its body, loads first, and the rest.

    for i in pl.pipeline(8, stage=3)   =>   for i in pl.range(0, 6, 3): copies with i, i + 1, i + 2
                                            copies with 6 and 7

The copies' tiles are marked with their group and stage, so that the planner keeps them apart. memory-planning.md §2,
control-and-scalars.md §2.1.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.front.copies import copied, defined
from pypto_rw.front.names import assigned, fresh, reads, substituted
from pypto_rw.records import replace
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.values import Refused

_MARK = "pipeline_membership"


def replicated(function: ir.Function, rulebook: Rulebook) -> ir.Function:
    """`function` without pipelined loops. Raises Refused for bounds that cannot be divided into stages."""
    return _Pipelines(function, rulebook).function()


class _Pipelines:
    def __init__(self, function: ir.Function, rulebook: Rulebook) -> None:
        self.source, self.rulebook = function, rulebook
        self.taken = {p.name for p in function.params} | set(defined(function.body)) | set(assigned(function.body))
        self.groups = 0
        self.roots: dict[str, str] = {}

    def function(self) -> ir.Function:
        return replace(self.source, body=tuple(self.block(self.source.body)))

    def block(self, body: tuple[ir.Stmt, ...]) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for stmt in body:
            match stmt:
                case ir.For(kind="pipeline"):
                    self.loop(stmt, out)
                case ir.For() | ir.While():
                    out.append(replace(stmt, body=tuple(self.block(stmt.body))))
                case ir.If():
                    orelse = None if stmt.orelse is None else tuple(self.block(stmt.orelse))
                    out.append(replace(stmt, body=tuple(self.block(stmt.body)), orelse=orelse))
                case _:
                    out.append(stmt)
        return out

    def loop(self, stmt: ir.For, out: list[ir.Stmt]) -> None:
        """The loop over whole rounds of copies, then what is left of the last round."""
        start: ir.Expr = stmt.bounds[0] if len(stmt.bounds) > 1 else ir.Int(0)
        stop = stmt.bounds[0] if len(stmt.bounds) == 1 else stmt.bounds[1]
        step = stmt.bounds[2] if len(stmt.bounds) == 3 else ir.Int(1)
        stages = stmt.stage or 1
        if not isinstance(step, ir.Int) or step.value <= 0 or not isinstance(start, ir.Int):
            raise Refused(
                "loop-kind", "a pl.pipeline loop needs a constant start and step", stmt.span, "write pl.range"
            )
        body = tuple(self.block(stmt.body))
        stmt = replace(stmt, body=body)
        each = step.value * stages
        if isinstance(stop, ir.Int):
            trips = len(range(start.value, stop.value, step.value))
            end: ir.Expr = replace(stop, value=start.value + trips // stages * each)
            rest = [replace(stop, value=start.value + k * step.value) for k in range(trips // stages * stages, trips)]
            values = self._main(stmt, start, end, step.value, out) if trips >= stages else stmt.initial
            values = self._rest(stmt, rest, values, out)
            self._bind(stmt, values, out)
            return
        if start.value != 0 or step.value != 1:
            raise Refused(
                "loop-kind", "a pl.pipeline loop with a run-time end must start at 0 and step by 1", stmt.span
            )
        name = fresh(self.taken, "unroll_main_end")
        index = ir.ScalarType(ir.DType.INDEX)
        whole = ir.Binary("*", ir.Binary("//", stop, ir.Int(stages)), ir.Int(stages))
        out.append(ir.Assign((name,), index, whole, stmt.span))
        values = self._main(stmt, start, ir.Name(name), 1, out)
        left = fresh(self.taken, "unroll_rem")
        out.append(ir.Assign((left,), index, ir.Binary("-", stop, ir.Name(name)), stmt.span))
        if stages > 1:
            self._choices(stmt, ir.Name(left), ir.Name(name), values, 1, out)
        else:
            self._bind(stmt, values, out)

    def _main(self, stmt: ir.For, start: ir.Expr, end: ir.Expr, step: int, out: list[ir.Stmt]) -> tuple[ir.Expr, ...]:
        """The loop over whole rounds; the values it ends with."""
        stages = stmt.stage or 1
        first: list[ir.Expr] = [ir.Name(stmt.variable)]
        places = first + [ir.Binary("+", ir.Name(stmt.variable), ir.Int(k * step)) for k in range(1, stages)]
        inner: list[ir.Stmt] = []
        values = self._rest(stmt, places, tuple(map(ir.Name, stmt.carried)), inner, keep=True)
        inner = self._loads_first(inner)
        last = _end(stmt.body)
        targets: tuple[str, ...] = ()
        if last is not None:
            targets = tuple(fresh(self.taken, f"{t}_main") for t in last.targets)
            inner.append(replace(last, targets=targets, values=values))
        out.append(
            replace(
                stmt,
                kind="range",
                stage=None,
                bounds=(start, end, ir.Int(step * stages)),
                body=tuple(inner),
            )
        )
        return tuple(map(ir.Name, targets))

    def _rest(
        self,
        stmt: ir.For,
        places: list[ir.Expr] | list[ir.Int],
        values: tuple[ir.Expr, ...],
        out: list[ir.Stmt],
        *,
        keep: bool = False,
    ) -> tuple[ir.Expr, ...]:
        """Copies of the body, one for every value of the variable, marked as the stages of one group."""
        end = _end(stmt.body)
        body = stmt.body[:-1] if end else stmt.body
        group = self.groups
        self.groups += 1 if places else 0
        for stage, place in enumerate(places):
            names = dict.fromkeys(defined(body))
            own = {n: n if keep and stage == 0 else fresh(self.taken, n) for n in names}
            now: dict[str, ir.Expr] = {stmt.variable: place, **dict(zip(stmt.carried, values, strict=False))}
            copy = copied(body, own)
            for inner in copy:
                put = substituted(inner, now)
                out.append(_marked(put, f"{group}:{stage}"))
            if end is not None:
                ends = substituted(end.values, {k: ir.Name(n) for k, n in own.items()})
                values = substituted(ends, now)
        return values

    def _choices(
        self,
        stmt: ir.For,
        left: ir.Expr,
        base: ir.Expr,
        values: tuple[ir.Expr, ...],
        number: int,
        out: list[ir.Stmt],
    ) -> tuple[ir.Expr, ...]:
        """`if left == number: so many copies, else if left == number + 1: …` after a loop with a run-time end; what
        that ends with."""
        end = _end(stmt.body)
        places = [base, *(ir.Binary("+", base, ir.Int(k)) for k in range(1, number))]
        then: list[ir.Stmt] = []
        ends = self._rest(stmt, places, values, then)
        targets = end.targets if end else ()
        if number > 1:
            targets = tuple(fresh(self.taken, t) for t in targets)
        other: list[ir.Stmt] = []
        if number + 1 < (stmt.stage or 1):
            values = self._choices(stmt, left, base, values, number + 1, other)
        if end is not None:
            other.append(replace(end, targets=targets, values=values))
            then.append(replace(end, targets=targets, values=ends))
        condition = ir.Binary("==", left, ir.Int(number))
        out.append(ir.If(condition, tuple(then), tuple(other), span=stmt.span))
        return tuple(map(ir.Name, targets))

    def _bind(self, stmt: ir.For, values: tuple[ir.Expr, ...], out: list[ir.Stmt]) -> None:
        """The loop's results are the values it ends with."""
        end = _end(stmt.body)
        for k, name in enumerate(end.targets if end else ()):
            t = end.type if end and len(end.targets) == 1 else self._type(values[k])
            out.append(ir.Assign((name,), t, values[k], stmt.span))

    def _type(self, value: ir.Expr) -> ir.Type | None:
        if not isinstance(value, ir.Name):
            return ir.ScalarType(value.dtype) if isinstance(value, ir.Int | ir.Float) else None
        for p in self.source.params:
            if p.name == value.id:
                return p.type
        for stmt in ir.statements(self.source.body):
            if isinstance(stmt, ir.Assign | ir.Yield) and value.id in stmt.targets:
                return stmt.type
        return None

    def _loads_first(self, body: list[ir.Stmt]) -> list[ir.Stmt]:
        """Loads first, then the stores of tiles from outside; accesses of one tensor keep their order."""
        loads: list[ir.Stmt] = []
        stores: list[ir.Stmt] = []
        rest: list[ir.Stmt] = []
        behind: set[str] = set()  # names that the rest defines
        written: set[str] = set()  # tensors that a store writes
        loaded: set[str] = set()  # what the early loads define
        read: set[str] = set()  # tensors that a load in the rest reads
        for stmt in body:
            source, target = self._accesses(stmt)
            free = not behind & set(reads(stmt))
            if source and free and source not in written:
                loads.append(stmt)
                loaded |= set(defined((stmt,)))
                continue
            if source:
                read.add(source)
            if target:
                free = free and target not in read and not loaded & set(reads(stmt))
                written.add(target)
                if free:
                    stores.append(stmt)
                    continue
            behind |= set(defined((stmt,)))
            rest.append(stmt)
        return [*loads, *stores, *rest]

    def _accesses(self, stmt: ir.Stmt) -> tuple[str, str]:
        """The tensor that a statement loads from and the one that it stores into, "" for none."""
        call = ir.called(stmt)
        signature = self.rulebook.signature(call.callee) if call is not None else None
        if call is None or signature is None:
            return "", ""
        if call.callee == "tile.load":
            return self._root(call.args[0]), ""
        into = signature.trait("in-place")
        position = [p.name for p in signature.parameters].index(into[0]) if into else len(call.args)
        if position >= len(call.args) or signature.parameters[position].kind != "tensor":
            return "", ""
        root = self._root(call.args[position])
        if isinstance(stmt, ir.Assign):
            self.roots[stmt.targets[0]] = root
        return "", root

    def _root(self, expr: ir.Expr) -> str:
        name = expr.id if isinstance(expr, ir.Name) else ""
        return self.roots.get(name, name)


def _end(body: tuple[ir.Stmt, ...]) -> ir.Yield | None:
    last = body[-1] if body else None
    return last if isinstance(last, ir.Yield) else None


def _marked(stmt: ir.Stmt, mark: str) -> ir.Stmt:
    """The statement with its tiles marked as members of a group's stage; marks of an outer loop follow inner ones."""
    match stmt:
        case ir.Assign(value=ir.Call() as call, type=ir.TileType()):
            attrs = dict(call.attrs)
            old = attrs.get(_MARK)
            attrs[_MARK] = ir.Str(f"{old.value};{mark}" if isinstance(old, ir.Str) else mark)
            return replace(stmt, value=replace(call, attrs=tuple(attrs.items())))
        case ir.For() | ir.While():
            return replace(stmt, body=tuple(_marked(s, mark) for s in stmt.body))
        case ir.If():
            orelse = None if stmt.orelse is None else tuple(_marked(s, mark) for s in stmt.orelse)
            return replace(stmt, body=tuple(_marked(s, mark) for s in stmt.body), orelse=orelse)
    return stmt
