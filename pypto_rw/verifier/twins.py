"""One fault, one finding: what the verifier and the assembler's rules both say of a line is told once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pypto_rw.diagnostics import Diagnostic, Severity
from pypto_rw.records import replace

# A code of the verifier, and the code under which the assembler's rules find the same.
_TWINS = {
    "address-alignment": "ptoas-address",
    "address-capacity": "ptoas-address",
    "bad-type": "ptoas-tile-type",
    "invalid-constant": "ptoas-scalar-operation",
    "missing-address": "ptoas-address",
    "operand-kind": "ptoas-scalar-operation",
    "partition-out-of-bounds": "ptoas-partition",
    "partition-sizes": "ptoas-partition",
    "reshape-size": "ptoas-window",
    "slot-out-of-bounds": "ptoas-window",
    "unexpected-address": "ptoas-address",
    "valid-exceeds-box": "ptoas-valid-extent",
    "valid-extent-form": "ptoas-valid-extent",
    "view-element": "ptoas-partition",
    "view-rank": "ptoas-view",
    "window-out-of-bounds": "ptoas-window",
    "window-sizes": "ptoas-window",
}
# What the assembler's rules say of a line that has no form, or whose operands have other types than they are used as.
_UNREAD = frozenset({"syntax", "bad-type", "type-mismatch", "unknown-op", "result-arity"})


def told_once(own: Sequence[Diagnostic], assembler: Iterable[Diagnostic]) -> list[Diagnostic]:
    """All findings of a text in its order. Of two that are one fault the verifier's stays, which names the numbers,
    with the ids of the assembler's rules and the graver severity."""
    found = list(own)
    for second in assembler:
        twin = next((k for k, first in enumerate(found) if _one(first, second)), None)
        if twin is None:
            found.append(second)
            continue
        first = found[twin]
        rule = " ".join(dict.fromkeys([*first.rule.split(), *second.rule.split()]))
        graver = second.severity if second.severity is Severity.error else first.severity
        found[twin] = replace(first, rule=rule, severity=graver)
    return sorted(found, key=lambda d: (d.span.line, d.span.column))


def _one(first: Diagnostic, second: Diagnostic) -> bool:
    if first.span.line != second.span.line or first.code.startswith("ptoas-") or not second.code.startswith("ptoas-"):
        return False
    return first.code in _UNREAD or _TWINS.get(first.code) == second.code
