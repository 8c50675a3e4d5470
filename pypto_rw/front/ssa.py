"""Single assignment: every name is defined once, and what crosses a loop or a branch is carried or merged.

    for i in pl.range(4):          for i, (acc_1,) in pl.range(4, init_values=(acc,)):
        acc = pl.add(acc, e)  =>       acc_2 = pl.add(acc_1, e)
                                       acc_3 = pl.yield_(acc_2)

Only what is needed after a region, or by its next round, is carried. `continue` becomes an else branch,
`break` in a while loop a flag.
"""

from __future__ import annotations

import re
from typing import TypeVar

from pypto_rw import ir
from pypto_rw.front.names import assigned, live_after, reads, renamed
from pypto_rw.records import replace
from pypto_rw.shaping.values import Refused

T = TypeVar("T")
_RESERVED = re.compile(r"arg\d+$")  # what the arguments of the printed function are called
_REGIONS = (ir.If, ir.For, ir.While, ir.Scope)


def single_assignment(function: ir.Function, reserved: frozenset[str]) -> ir.Function:
    """`function` in single-assignment form; a name that is defined once keeps its spelling.

    `reserved` are names of the module. Raises Refused for `break` and for a misplaced `continue`."""
    return _Versions(function, reserved).function()


class _Versions:
    def __init__(self, function: ir.Function, reserved: frozenset[str]) -> None:
        self.source = function
        self.taken = {p.name for p in function.params} | reserved
        self.written = set(assigned(function.body)) | {
            n for s in ir.statements(function.body) if isinstance(s, ir.For | ir.While) for n in _heads(s)
        }
        self.now = {p.name: p.name for p in function.params}
        self.renames = False  # whether a name has been given another spelling
        params = []
        for p in function.params:
            name = p.name
            if _RESERVED.match(name):
                self.taken.discard(name)
                name = self.now[p.name] = self.fresh(name)
                self.renames = True
            params.append(replace(p, name=name, type=renamed(p.type, self.now_of)))
        self.params = tuple(params)

    def function(self) -> ir.Function:
        body = _without_continue(_without_break(self.source.body, set()))
        return replace(self.source, params=self.params, body=tuple(self.block(body, frozenset())))

    def now_of(self, name: str) -> str:
        return self.now.get(name, name)

    def fresh(self, name: str) -> str:
        if name.startswith("arg") and _RESERVED.match(name):
            name = f"{name}__ssa_v0"
        new, number = name, 0
        while new in self.taken or (number and new in self.written):
            number += 1
            new = f"{name}_{number}"
        self.taken.add(new)
        return new

    def define(self, name: str) -> str:
        new = self.now[name] = self.fresh(name)
        if new != name:
            self.renames = True
        return new

    def read(self, tree: T) -> T:
        return renamed(tree, self.now_of) if self.renames else tree

    def block(self, body: tuple[ir.Stmt, ...], after: frozenset[str]) -> list[ir.Stmt]:
        lives = live_after(body, after)[0] if any(isinstance(s, _REGIONS) for s in body) else {}
        return [self.statement(stmt, lives.get(k, after)) for k, stmt in enumerate(body)]

    def statement(self, stmt: ir.Stmt, after: frozenset[str]) -> ir.Stmt:
        match stmt:
            case ir.Assign():
                value, type_ = self.read(stmt.value), self.read(stmt.type)
                targets = tuple([self.define(name) for name in stmt.targets])
                if value is stmt.value and type_ is stmt.type and targets == stmt.targets:
                    return stmt
                return replace(stmt, targets=targets, value=value, type=type_)
            case ir.Evaluate():
                return replace(stmt, value=self.read(stmt.value)) if self.renames else stmt
            case ir.Yield() | ir.Return():
                return replace(stmt, values=self.read(stmt.values)) if self.renames else stmt
            case ir.If():
                return self.branch(stmt, after)
            case ir.For():
                return self.loop(stmt, after)
            case ir.While():
                return self.while_loop(stmt, after)
            case ir.Scope():
                raise Refused(
                    "scope",
                    "a scope statement needs the tensor-level pipeline, which this compiler does not have",
                    stmt.call.span,
                    "a kernel function is one scope already: take the statements out of it",
                )
        if isinstance(stmt, ir.Jump) and stmt.kind == "break":
            raise Refused(
                "jump",
                "break leaves a loop early, which no instruction does",
                stmt.span,
                "write a while loop with the condition",
            )
        return stmt

    # -------------------------------------------------------------------------------- regions

    def branch(self, stmt: ir.If, after: frozenset[str]) -> ir.If:
        condition = self.read(stmt.condition)
        before = dict(self.now)
        blocks = stmt.body, stmt.orelse or ()
        ends = [_end(b) for b in blocks]
        names = ends[0].targets if ends[0] is not None else ()
        each = [list(dict.fromkeys(assigned(b[:-1] if e else b))) for b, e in zip(blocks, ends, strict=True)]
        merged = [
            n
            for n in sorted({*each[0], *each[1]})
            if n in after and n not in names and (n in before or (n in each[0] and n in each[1]))
        ]
        inner = (after - set(names)) | set(merged)
        bodies: list[list[ir.Stmt]] = []
        values: list[tuple[ir.Expr, ...]] = []
        for block, end in zip(blocks, ends, strict=True):
            self.now = dict(before)
            needed = inner | set(reads(end.values if end else ()))
            bodies.append(self.block(block[:-1] if end else block, needed))
            given = self.read(end.values) if end else ()
            values.append((*given, *(ir.Name(self.now[n]) for n in merged)))
        self.now = before
        if not names and not merged:
            return replace(
                stmt, condition=condition, body=_plain(bodies[0], ends[0]), orelse=_else(stmt, bodies[1], ends[1])
            )
        targets = tuple(map(self.define, (*names, *merged)))
        for k, end in enumerate(ends):
            kept = end or ir.Yield((), None, (), stmt.span)
            type_ = self.read(kept.type) if len(targets) == 1 else None
            if end is not None or merged or stmt.orelse is not None:
                bodies[k].append(replace(kept, targets=targets, type=type_, values=values[k]))
        orelse = tuple(bodies[1]) if stmt.orelse is not None or merged else None
        return replace(stmt, condition=condition, body=tuple(bodies[0]), orelse=orelse, elif_=False)

    def loop(self, stmt: ir.For, after: frozenset[str]) -> ir.For:
        bounds, initial = self.read(stmt.bounds), self.read(stmt.initial)
        variable = self.fresh(stmt.variable)
        self.renames |= variable != stmt.variable
        body, carried, start = self.carrying(stmt, after, {stmt.variable: variable})
        return replace(stmt, variable=variable, bounds=bounds, body=body, carried=carried, initial=(*initial, *start))

    def while_loop(self, stmt: ir.While, after: frozenset[str]) -> ir.While:
        initial = self.read(stmt.initial)
        condition: list[ir.Expr] = [stmt.condition]
        body, carried, start = self.carrying(stmt, after, {}, condition)
        return replace(stmt, condition=condition[0], body=body, carried=carried, initial=(*initial, *start))

    def carrying(
        self,
        stmt: ir.For | ir.While,
        after: frozenset[str],
        inside: dict[str, str],
        condition: list[ir.Expr] | None = None,
    ) -> tuple[tuple[ir.Stmt, ...], tuple[str, ...], tuple[ir.Expr, ...]]:
        """Body, carried names and the initial values that are new; `condition` is read inside."""
        end = _end(stmt.body)
        results = end.targets if end else ()
        body = stmt.body[:-1] if end else stmt.body
        own = {*stmt.carried, *inside}
        again = frozenset(reads(condition[0]) if condition else ()) - own
        outside = (after - set(results)) | again
        ends = frozenset(reads(end.values if end else ()))
        upward = live_after(body, ends)[1] - own  # what a round reads of the round before
        new = [
            n
            for n in sorted(set(assigned(body)))
            if n in self.now and n not in own and n not in results and (n in after or n in upward or n in again)
        ]
        start = tuple(ir.Name(self.now[n]) for n in new)
        before = dict(self.now)
        for name in stmt.carried:
            self.define(name)
        self.now.update(inside)
        for name in new:
            self.define(name)
        carried = tuple(self.now[n] for n in (*stmt.carried, *new))
        if condition:
            condition[0] = self.read(condition[0])
        inner = self.block(body, outside | ends | upward | set(new))
        given = self.read(end.values) if end else ()
        values = (*given, *(ir.Name(self.now[n]) for n in new))
        self.now = before
        targets = tuple(map(self.define, (*results, *new)))
        if end is not None or new:
            kept = end or ir.Yield((), None, (), stmt.span)
            type_ = self.read(kept.type) if len(targets) == 1 else None
            inner.append(replace(kept, targets=targets, type=type_, values=values))
        return tuple(inner), carried, start


def _heads(stmt: ir.For | ir.While) -> tuple[str, ...]:
    return (*stmt.carried, stmt.variable) if isinstance(stmt, ir.For) else stmt.carried


def _end(body: tuple[ir.Stmt, ...]) -> ir.Yield | None:
    last = body[-1] if body else None
    return last if isinstance(last, ir.Yield) else None


def _plain(body: list[ir.Stmt], end: ir.Yield | None) -> tuple[ir.Stmt, ...]:
    return tuple(body) if end is None or not end.values else (*body, end)


def _else(stmt: ir.If, body: list[ir.Stmt], end: ir.Yield | None) -> tuple[ir.Stmt, ...] | None:
    return _plain(body, end) if stmt.orelse is not None else None


def _without_break(body: tuple[ir.Stmt, ...], flags: set[str]) -> tuple[ir.Stmt, ...]:
    """`break` in a while loop sets a flag that the loop's condition reads; what follows it is skipped by `continue`."""
    out: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.While() if not stmt.carried and _breaks(stmt.body):
                flag = f"break__{len(flags)}"
                flags.add(flag)
                boolean = ir.ScalarType(ir.DType.BOOL)
                out.append(ir.Assign((flag,), boolean, ir.Bool(False), stmt.span))
                inner = _without_break(_flagged(stmt.body, flag, boolean), flags)
                again = ir.Binary("and", stmt.condition, ir.Unary("not", ir.Name(flag)))
                out.append(replace(stmt, condition=again, body=inner))
            case ir.For() | ir.While():
                out.append(replace(stmt, body=_without_break(stmt.body, flags)))
            case ir.If():
                orelse = None if stmt.orelse is None else _without_break(stmt.orelse, flags)
                out.append(replace(stmt, body=_without_break(stmt.body, flags), orelse=orelse))
            case _:
                out.append(stmt)
    return tuple(out)


def _breaks(body: tuple[ir.Stmt, ...]) -> bool:
    return any(
        (isinstance(s, ir.Jump) and s.kind == "break")
        or (isinstance(s, ir.If) and (_breaks(s.body) or _breaks(s.orelse or ())))
        for s in body
    )


def _flagged(body: tuple[ir.Stmt, ...], flag: str, boolean: ir.ScalarType) -> tuple[ir.Stmt, ...]:
    out: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.Jump(kind="break"):
                out.append(ir.Assign((flag,), boolean, ir.Bool(True), stmt.span))
                out.append(replace(stmt, kind="continue"))
            case ir.If():
                orelse = None if stmt.orelse is None else _flagged(stmt.orelse, flag, boolean)
                out.append(replace(stmt, body=_flagged(stmt.body, flag, boolean), orelse=orelse))
            case _:
                out.append(stmt)
    return tuple(out)


def _without_continue(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """What follows a branch that ends in `continue` moves into its other branch."""
    out: list[ir.Stmt] = []
    for k, stmt in enumerate(body):
        match stmt:
            case ir.Jump(kind="continue"):
                return tuple(out)  # nothing after it runs
            case ir.For() | ir.While():
                out.append(replace(stmt, body=_without_continue(stmt.body)))
            case ir.If() if _has_continue(stmt):
                rest = body[k + 1 :]
                then = stmt.body if _continues(stmt.body) else (*stmt.body, *rest)
                other = stmt.orelse or ()
                other = other if _continues(other) else (*other, *rest)
                out.append(replace(stmt, body=_without_continue(then), orelse=_without_continue(other), elif_=False))
                return tuple(out)
            case ir.If():
                orelse = None if stmt.orelse is None else _without_continue(stmt.orelse)
                out.append(replace(stmt, body=_without_continue(stmt.body), orelse=orelse))
            case _:
                out.append(stmt)
    return tuple(out)


def _has_continue(stmt: ir.If) -> bool:
    inside = (*stmt.body, *(stmt.orelse or ()))
    return any(
        (isinstance(s, ir.Jump) and s.kind == "continue") or (isinstance(s, ir.If) and _has_continue(s)) for s in inside
    )


def _continues(body: tuple[ir.Stmt, ...]) -> bool:
    last = body[-1] if body else None
    if isinstance(last, ir.If):
        return _continues(last.body) and _continues(last.orelse or ())
    return isinstance(last, ir.Jump) and last.kind == "continue"
