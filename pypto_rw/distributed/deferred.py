"""Kernels that register deferred completions: such a kernel does nothing else.

The task of the kernel completes when all counters it registered are reached; it returns at once, so it must not work,
and what it reads it reads before its first registration. The runtime has room for 64. Source: distributed.md §6.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.records import replace
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.values import Refused

MOST = 64


def faults(function: ir.Function, book: Rulebook) -> Iterator[Refused]:
    """What a registering kernel does that it may not; nothing for a kernel without registrations."""
    calls = [c for s in ir.statements(function.body) if (c := ir.called(s)) is not None]
    first = next((c for c in calls if _trait(book, c, "registers") is not None), None)
    if first is None:
        return
    if dict(function.attrs).get("deferred_completion_waiter") != ir.Bool(True):
        yield Refused(
            "defer-outside-waiter",
            f"{first.callee} in {function.name!r}: only a kernel outlined from a task-level "
            "pl.at(level=pl.Level.CORE_GROUP) scope may defer its completion (it has the function attribute "
            "deferred_completion_waiter)",
            first.span,
            "put the registrations into a scope of their own and let later tasks depend on it (wait_tid), or block "
            "with pld.system.wait",
        )
        return
    if function.kind == "AIC":
        yield Refused(
            "defer-core", f"{first.callee} in {function.name!r}: a cube kernel cannot defer its completion", first.span
        )
    checker = _Checker(book, first.callee)
    count = checker.count(function.body)
    yield from checker.found
    if count > MOST:
        yield Refused(
            "defer-count",
            f"{function.name} registers {count} conditions with {first.callee}; a task has room for {MOST}",
            checker.loop or first.span,
            "register fewer counters, or let one counter count more",
        )


def as_waiter(function: ir.Function, book: Rulebook) -> ir.Function:
    """A kernel made of a scope; one that registers completions is marked as the kernel that may."""
    calls = [c for s in ir.statements(function.body) if (c := ir.called(s)) is not None]
    if not any(_trait(book, c, "registers") is not None for c in calls):
        return function
    return replace(function, attrs=(*function.attrs, ("deferred_completion_waiter", ir.Bool(True))))


class _Checker:
    def __init__(self, book: Rulebook, op: str) -> None:
        self.book, self.op = book, op
        self.found: list[Refused] = []
        self.registered = False
        self.loop: Span | None = None

    def count(self, body: tuple[ir.Stmt, ...]) -> int:
        """Registrations of a block: of an `if` those of the branch that has more, of a loop once per trip."""
        total = 0
        for stmt in body:
            match stmt:
                case ir.If():
                    total += max(self.count(stmt.body), self.count(stmt.orelse or ()))
                case ir.For() | ir.While():
                    total += self._loop(stmt)
                case ir.Return() if stmt.values:
                    self._refuse("defer-result", "returns a value, but it completes later", stmt.span)
                case _:
                    total += self._statement(stmt)
        return total

    def _loop(self, stmt: ir.For | ir.While) -> int:
        inside = self.count(stmt.body)
        if not inside:
            return 0
        trips = _trips(stmt)
        if trips is None or trips < 1:
            self._refuse(
                "defer-loop",
                f"registers in a loop whose trip count is {'not a constant' if trips is None else trips}",
                stmt.span,
            )
            return inside
        self.loop = self.loop or stmt.span
        return inside * trips

    def _statement(self, stmt: ir.Stmt) -> int:
        call = ir.called(stmt)
        if call is None:
            return 0
        if _trait(self.book, call, "registers") is not None:
            self.registered = True
            return 1
        kind = _trait(self.book, call, "bookkeeping")
        if kind is None and self.book.signature(call.callee) is not None:
            self._refuse("defer-work", f"also calls {call.callee}", call.span)
        elif kind == ("memory",) and self.registered:
            self._refuse("defer-read", f"reads memory with {call.callee} after its first registration", call.span)
        return 0

    def _refuse(self, code: str, what: str, span: Span) -> None:
        self.found.append(
            Refused(
                code,
                f"a kernel with {self.op} only registers, but this one {what}",
                span,
                "it may read scalars before the first registration, compute with them, and register in ifs and in "
                "loops of a constant positive trip count",
            )
        )


def _trips(stmt: ir.For | ir.While) -> int | None:
    if isinstance(stmt, ir.While):
        return None
    bounds = [b.value for b in stmt.bounds if isinstance(b, ir.Int)]
    if len(bounds) != len(stmt.bounds):
        return None
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return max(0, -(-(stop - start) // step)) if step > 0 else None


def _trait(book: Rulebook, call: ir.Call, name: str) -> tuple[str, ...] | None:
    signature = book.signature(call.callee)
    return signature.trait(name) if signature is not None else None
