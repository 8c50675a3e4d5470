"""One report for all that failed: a table of names and summaries, and a file with the full texts.

Source: kernel-wrapper.md §10.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from pypto_rw.diagnostics import Diagnostic, render
from pypto_rw.wrapper.units import Failure

_WIDTH = 60
_ASSEMBLER = "ptoas compilation failed:"
_MARKED = re.compile(r"\berror:|^Error:", re.IGNORECASE)
_LOCATED = re.compile(r"\berror\[", re.IGNORECASE)
_TRACE = re.compile(r"\n(?:Traceback|Stack dump|C\+\+ Traceback|#0 )")
REPORT = "report/codegen_errors.txt"


def table(failures: Sequence[Failure], source: str, details: Path | None) -> str:
    """What failed, a row a function; `details` is the file with the full texts, None where it could not be written."""
    names = ["Function", *(f.name for f in failures)]
    texts = [summary(f, source) for f in failures]
    first = max(10, max(map(len, names[1:])) + 2)
    second = min(max(map(len, texts)), _WIDTH) + 2
    rule = f"  {'-' * first}+{'-' * second}"
    lines = [f"{len(failures)} function(s) failed to compile:", "", f"  {'Function'.ljust(first)}| Error", rule]
    for failure, text in zip(failures, texts, strict=True):
        rows = textwrap.wrap(text, _WIDTH, break_on_hyphens=False) or [""]
        lines += [
            f"  {name.ljust(first)}| {row}" for name, row in zip([failure.name, *[""] * len(rows)], rows, strict=False)
        ]
        lines.append(rule)
    if details is not None:
        lines += ["", f"  Full details: {details}"]
    return "\n".join(lines)


def full_report(failures: Sequence[Failure], source: str) -> str:
    """The table and every full text."""
    parts = [f"  [{f.name}]\n{full_text(f, source)}\n" for f in failures]
    return f"{table(failures, source, None)}\n\n" + f"\n{'=' * 72}\n\n".join(parts)


def full_text(failure: Failure, source: str) -> str:
    """Everything known about one failure."""
    return "\n".join(_told(d, source) for d in failure.diagnostics)


def _told(diagnostic: Diagnostic, source: str) -> str:
    """A finding as it is shown; what the assembler said stands as it is."""
    return diagnostic.message if diagnostic.code == "ptoas-failed" else render([diagnostic], source)


def summary(failure: Failure, source: str) -> str:
    """One failure in a line: the one that says `error:`, else the first."""
    told = _TRACE.split(full_text(failure, source))[0].strip()
    prefix = ""
    if told.startswith(_ASSEMBLER):
        prefix, told = f"{_ASSEMBLER} ", told[len(_ASSEMBLER) :].strip()
    lines = [line.strip() for line in told.split("\n")]
    marked = next((line for line in lines if _MARKED.search(line) or _LOCATED.search(line)), lines[0])
    for start in (f"Failed to compile function '{failure.name}':", f"{failure.name}:"):
        marked = marked.removeprefix(start).strip()
    return prefix + marked
