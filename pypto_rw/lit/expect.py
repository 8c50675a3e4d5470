"""Diagnostics against `expected-…` comments."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pypto_rw.lit.script import Expected
from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """A diagnostic of the test's file."""

    line: int
    severity: str
    text: str


def told(lines: str, filename: str) -> list[Told]:
    """The diagnostics in JSON lines, those of another file at line 0."""
    records = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    return [
        Told((r["line"] or 0) if r["file"] == filename else 0, r["severity"], f"[{r['code']}] {r['message']}")
        for r in records
    ]


def mismatches(expected: Sequence[Expected], found: Sequence[Told]) -> list[tuple[int, str]]:
    """Line and message for every comment without a diagnostic, and every error or warning without a comment.

    A note need not be expected. A comment's text is part of `[code] message`, blanks made one."""
    left = list(found)
    out = []
    for e in expected:
        wanted = " ".join(e.text.split())
        match = next((t for t in left if (t.line, t.severity) == (e.about, e.severity) and wanted in _plain(t)), None)
        if match is not None:
            left.remove(match)
            continue
        here = [t for t in left if t.line == e.about] or [t for t in left if wanted in _plain(t)]
        nearest = f"; line {here[0].line} has the {here[0].severity} {_plain(here[0])}" if here else ""
        out.append((e.line, f"no {e.severity} {{{{{e.text}}}}} at line {e.about}{nearest}"))
    out += [(t.line, f"unexpected {t.severity} {_plain(t)}") for t in left if t.severity != "note"]
    return sorted(out)


def _plain(found: Told) -> str:
    return " ".join(found.text.split())
