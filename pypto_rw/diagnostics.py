"""What the compiler tells the author: places, diagnostics, and their plain-text rendering."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source, 1-based lines and character columns; the end is exclusive. Line 0: no place."""

    line: int
    column: int
    end_line: int
    end_column: int

    def __bool__(self) -> bool:
        return self.line > 0


NOWHERE = Span(0, 0, 0, 0)


class Severity(Enum):
    """How much a diagnostic weighs."""

    error = "error"
    warning = "warning"
    note = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `code` is stable kebab-case. `message` says what was found and what is needed, `help` the way out. `rule`
    names the rule that found it, as `file:line name`. `name`: the variable it is about, where it is about one."""

    code: str
    message: str
    span: Span = NOWHERE
    help: str = ""
    rule: str = ""
    severity: Severity = Severity.error
    filename: str = "<string>"
    function: str = ""
    name: str = ""


class CompileError(Exception):
    """The input was refused. `diagnostics` has every finding, in source order; `str()` is the rendered text."""

    def __init__(self, diagnostics: Iterable[Diagnostic], source: str = "") -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        self.source = source
        super().__init__(render(self.diagnostics, source))


class InternalError(Exception):
    """A fault of the compiler itself, never the author's. The command line exits 3 with a reproducer."""


def render(diagnostics: Iterable[Diagnostic], source: str = "") -> str:
    """Text of `diagnostics` as design §7 shows it, one block each, in order."""
    lines = source.splitlines()
    return "\n".join(_render(d, lines) for d in diagnostics)


def _render(d: Diagnostic, lines: list[str]) -> str:
    where = f"{d.filename}:{d.span.line}:{d.span.column}: " if d.span else f"{d.filename}: "
    out = [f"{where}{d.severity.value}[{d.code}]: {d.message}"]
    if d.span and d.span.line <= len(lines):
        text = lines[d.span.line - 1].replace("\t", " ")
        number = f"{d.span.line:>5}"
        end = d.span.end_column if d.span.end_line == d.span.line else len(text) + 1
        width = max(1, min(end, len(text) + 1) - d.span.column)
        out.append(f"{number} | {text}")
        out.append(f"{' ' * len(number)} | {' ' * (d.span.column - 1)}{'^' * width}")
    if d.help:
        out.append(f"  help: {d.help}")
    if d.rule:
        out.append(f"  rule: {d.rule}")
    return "\n".join(out)
