"""What can still be made of a module where some functions are refused (`--keep-going`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pypto_rw.diagnostics import CompileError, Diagnostic, Severity
from pypto_rw.syntax import parse

T = TypeVar("T")
Attempt = Callable[[Sequence[str] | None], tuple[T | None, Sequence[Diagnostic]]]


def good_part(
    attempt: Attempt[T], source: str, functions: Sequence[str] | None = None, *, filename: str
) -> tuple[T | None, tuple[Diagnostic, ...]]:
    """What `attempt` makes of the functions that are not refused, and every diagnostic, in the order of the text.

    `attempt` gets the names of the functions to take (None: all) and gives what it made (None: refused) and its
    diagnostics; each attempt leaves out the functions whose errors an earlier one told. None where no function is
    good, and where an error belongs to no function: a fault of syntax refuses the whole file."""
    found: dict[Diagnostic, None] = {}
    chosen: list[str] | None = None if functions is None else list(functions)
    while True:
        made, diagnostics = attempt(chosen)
        found.update(dict.fromkeys(diagnostics))
        errors = [d for d in diagnostics if d.severity is Severity.error]
        if not errors:
            break
        made = None
        left = _left(errors, chosen, source, filename)
        if not left or left == chosen:
            break
        chosen = left
    return made, tuple(sorted(found, key=lambda d: (d.span.line, d.span.column)))


def _left(errors: Sequence[Diagnostic], chosen: Sequence[str] | None, source: str, filename: str) -> list[str] | None:
    """The chosen functions without those that errors are in; None where an error is in none of them."""
    try:
        module = parse(source, filename=filename)
    except CompileError:
        return None
    names = [f.name for f in module.functions]
    bad = set()
    for d in errors:
        above = [f.name for f in module.functions if f.span.line <= d.span.line]
        if d.function in names:
            bad.add(d.function)
        elif above:  # a kernel made of a scope is refused with the function around it
            bad.add(above[-1])
        else:
            return None
    return [n for n in (names if chosen is None else chosen) if n not in bad]
