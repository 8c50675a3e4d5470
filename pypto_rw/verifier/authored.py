"""Findings about printed text, moved to the author's lines by the `loc(…)` of the lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pypto_rw.diagnostics import NOWHERE, Diagnostic, Severity, Span
from pypto_rw.records import replace

_PLACE = re.compile(r' loc\("(?:[^"\\]|\\.)*":(\d+):(\d+)\)$')


def at_author(findings: Iterable[Diagnostic], text: str, source: str) -> Iterator[Diagnostic]:
    """`findings` of `text`, which was printed with places, at their lines of `source`; notes are left out.

    A line without a place belongs to the statement of the nearest line before it that has one."""
    lines, authored = text.split("\n"), source.split("\n")
    for found in findings:
        if found.severity is Severity.note:
            continue
        at = found.span.line - 1
        while at >= 0 and not (place := _PLACE.search(lines[at])) and "func.func" not in lines[at]:
            at -= 1
        place = _PLACE.search(lines[at]) if at >= 0 else None
        span = NOWHERE
        if place is not None:
            line, column = int(place[1]), int(place[2])
            end = len(authored[line - 1]) + 1 if line <= len(authored) else column + 1
            span = Span(line, column, line, max(end, column + 1))
        yield replace(found, span=span, message=found.message.replace("%", ""))
