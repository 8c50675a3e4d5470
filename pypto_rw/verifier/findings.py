"""The findings of one run, each with its place."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_rw.diagnostics import Diagnostic, Severity, Span
from pypto_rw.verifier.tokens import Token

# Findings that an assembler takes all the same: how the compiler prints (notes), and what it cannot judge (warnings).
_MILDER = {
    "constant-not-at-head": Severity.note,
    "duplicate-constant": Severity.note,
    "read-before-write": Severity.warning,
    "address-capacity": Severity.warning,
}


class Findings:
    """Collects diagnostics of one text; `function` is where the walk is."""

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._found: list[Diagnostic] = []
        self.function = ""

    def report(self, code: str, at: Token, message: str, way_out: str) -> None:
        """One finding at the token `at`."""
        span = Span(at.line, at.column, at.line, at.column + max(1, len(at.text)))
        severity = _MILDER.get(code, Severity.error)
        self._found.append(
            Diagnostic(code, message, span, way_out, "", severity, filename=self._filename, function=self.function)
        )

    def sorted(self) -> list[Diagnostic]:
        """All findings in the order of the text."""
        return sorted(self._found, key=lambda d: (d.span.line, d.span.column))

    def __len__(self) -> int:
        return len(self._found)


def plural(number: int, noun: str) -> str:
    """`1 value`, `2 values`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str]) -> str:
    """`(a, b)`, as the text prints types."""
    return f"({', '.join(names)})"
