"""The statements of a source text by their place, and the statement that a span belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE, Span
from pypto_rw.records import dataclass, replace
from pypto_rw.syntax import parse, write
from pypto_rw.syntax.writer import head_text


@dataclass(frozen=True, slots=True)
class Source:
    """A statement, a parameter or a function's head of the source text."""

    function: str
    span: Span
    text: str
    op: str


class Sources:
    """Everything in a source text that lines can come from, in the order of the text."""

    def __init__(self, module: ir.Module, source: str) -> None:
        self._texts = source.splitlines()
        found = [s for f in module.functions for s in self._of(f)]
        self.all = sorted(dict.fromkeys(found), key=lambda s: (s.span.line, s.span.column))
        self._at: dict[int, list[Source]] = {}  # by every line that they cover
        for s in self.all:
            for line in range(s.span.line, s.span.end_line + 1):
                self._at.setdefault(line, []).append(s)
        self._known: dict[Span, Source | None] = {}

    def _of(self, function: ir.Function) -> Iterator[Source]:
        if function.span:
            yield Source(function.name, function.span, self._line(function.span), "")
        for p in function.params:
            if p.span:
                yield Source(function.name, p.span, f"parameter {p.name}", "")
        for stmt in ir.statements(function.body):
            if stmt.span:
                yield Source(function.name, stmt.span, self._line(stmt.span), called(stmt))

    def _line(self, span: Span) -> str:
        return self._texts[span.line - 1].strip() if span.line <= len(self._texts) else ""

    def at(self, line: int, column: int) -> Source | None:
        """What begins there."""
        return next((s for s in self.all if (s.span.line, s.span.column) == (line, column)), None)

    def of(self, span: Span) -> Source | None:
        """The innermost statement whose text contains the span."""
        if span not in self._known:
            inside = [s for s in self._at.get(span.line, ()) if _contains(s.span, span)]
            self._known[span] = min(inside, key=lambda s: _size(s.span), default=None)
        return self._known[span]


def called(stmt: ir.Stmt) -> str:
    """The op that a statement calls, "" for none."""
    call = ir.called(stmt)
    return call.callee if call is not None else ""


def _contains(outer: Span, inner: Span) -> bool:
    starts = (outer.line, outer.column) <= (inner.line, inner.column)
    return starts and (inner.line, inner.column) < (outer.end_line, max(outer.end_column, 1)) and bool(inner)


def _size(span: Span) -> tuple[int, int]:
    return (span.end_line - span.line, span.end_column - span.column)


def origins(module: ir.Module) -> tuple[str, list[tuple[int, str, Span, str]]]:
    """The module's text, and for each of its statements the line in it, the text of its head, its span, its op."""
    text = write(module)
    again = parse(text)
    found = []
    for function, printed in zip(module.functions, again.functions, strict=True):
        pairs = zip(ir.statements(function.body), ir.statements(printed.body), strict=True)
        for stmt, shown in pairs:
            found.append((shown.span.line, head_text(_bare(stmt)), stmt.span or _call_span(stmt), called(stmt)))
    return text, found


def _call_span(stmt: ir.Stmt) -> Span:
    call = ir.called(stmt)
    return call.span if call is not None else NOWHERE


def _bare(stmt: ir.Stmt) -> ir.Stmt:
    match stmt:
        case ir.For() | ir.While() | ir.Scope():
            return replace(stmt, body=(), comments=())
        case ir.If():
            return replace(stmt, body=(), orelse=None, comments=())
    return replace(stmt, comments=())
