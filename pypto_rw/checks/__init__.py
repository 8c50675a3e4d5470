"""Checks of what several statements say together: pipes and their slots, buffers of two functions, launches.

What one statement says is checked by its rules. Which op takes which part is in the rule files too: `(pipe-step op
"pop" 1)`, `(buffer-step op "reserve")`, `(follows op other target)`, `(whole-launch op core_type target cores)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import replace
from pypto_rw.rewriting.declared import Signature
from pypto_rw.rewriting.rulebook import Rulebook

Ops = Mapping[str, Signature]
_TRAITS = ("pipe-step", "buffer-step", "follows", "whole-launch")


def unit_findings(
    functions: tuple[ir.Function, ...],
    unit: tuple[ir.Function, ...],
    rulebook: Rulebook,
    *,
    target: str,
    reference: bool,
    filename: str,
) -> Iterator[Diagnostic]:
    """Every fault and warning of `functions`, which are some or all of a unit. Source: cross-core.md §2, §3.4, §5."""
    ops = {f.name: taking_part(f.body, rulebook) for f in unit}
    for function in functions:
        own = ops[function.name]
        if not own:
            continue
        from pypto_rw.checks import launches, peers, pipes  # most kernels have no such op

        for found in (
            *pipes.pipe_findings(function, own),
            *pipes.buffer_findings(function, unit, ops),
            *peers.slot_findings(function, own),
            *peers.peer_findings(function, unit, ops),
            *([] if reference else pipes.order_findings(function, own, target)),
            *launches.launch_findings(function, unit, own, target),
        ):
            yield replace(found, filename=filename, function=function.name)


def calls(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Call]:
    """Every call that is a statement or the right side of one, in the order of the text."""
    for stmt in ir.statements(body):
        if (call := ir.called(stmt)) is not None:
            yield call


def taking_part(body: tuple[ir.Stmt, ...], rulebook: Rulebook) -> Ops:
    """Signatures of the ops of a body that state one of the facts; empty for most kernels."""
    known = {name: rulebook.signature(name) for name in dict.fromkeys(c.callee for c in calls(body))}
    return {n: s for n, s in known.items() if s is not None and any(s.trait(t) is not None for t in _TRAITS)}
