"""Which of a function's ops take part in what the checks of a whole function look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pypto_rw import ir
from pypto_rw.rewriting.rulebook import Rulebook, Signature

Ops = Mapping[str, Signature]
_TRAITS = ("pipe-step", "buffer-step", "follows", "whole-launch")


def calls(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Call]:
    """Every call that is a statement or the right side of one, in the order of the text."""
    for stmt in ir.statements(body):
        if isinstance(stmt, ir.Assign | ir.Evaluate) and isinstance(stmt.value, ir.Call):
            yield stmt.value


def taking_part(body: tuple[ir.Stmt, ...], rulebook: Rulebook) -> Ops:
    """Signatures of the ops of a body that state one of the facts; empty for most kernels."""
    known = {name: rulebook.signature(name) for name in dict.fromkeys(c.callee for c in calls(body))}
    return {n: s for n, s in known.items() if s is not None and any(s.trait(t) is not None for t in _TRAITS)}
