"""Where a name stands in the text of a statement: names have no spans of their own."""

from __future__ import annotations

import re

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
