"""Where a name stands: in the text of a statement, as names have no spans of their own, and in which block."""

from __future__ import annotations

import re

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic, Span
from pypto_rw.records import replace


def at_its_name(d: Diagnostic, lines: list[str]) -> Diagnostic:
    """`d` at the first use of the name it is about, within its span; unchanged where it is about none."""
    if not d.name or not d.span:
        return d
    word = re.compile(rf"(?<![\w.\"'])({re.escape(d.name)})(?![\w\"'])(?!\s*=[^=])")
    for number in range(d.span.line, min(d.span.end_line, len(lines)) + 1):
        text = lines[number - 1]
        first = d.span.column - 1 if number == d.span.line else 0
        last = d.span.end_column - 1 if number == d.span.end_line else len(text)
        for m in word.finditer(text, first, last):
            if m.start() > first or number > d.span.line:  # what a statement begins with is its target
                return replace(d, span=Span(number, m.start() + 1, number, m.end() + 1))
    return d


def defined_inside(body: tuple[ir.Stmt, ...], name: str) -> tuple[str, int] | None:
    """The outermost block that alone defines `name`: what it is, `if` or `loop`, and its line."""
    for stmt in body:
        if isinstance(stmt, ir.If | ir.For | ir.While):
            own = (stmt.variable, *stmt.carried) if isinstance(stmt, ir.For) else ()
            inner = (t for s in ir.statements((stmt,)) if isinstance(s, ir.Assign | ir.Yield) for t in s.targets)
            if name in own or name in inner:
                return "if" if isinstance(stmt, ir.If) else "loop", stmt.span.line
    return None
