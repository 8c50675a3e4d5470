"""What `--disable-rule`, `--only-rules` and `--stats` do: which rules a run uses, and a table of what they did."""

from __future__ import annotations

import argparse

from pypto_rw.inspection import Inspection
from pypto_rw.rewriting.selection import Selection
from pypto_rw.rewriting.watching import Watch

_LONG = 0.001  # seconds


def inspection_of(options: argparse.Namespace) -> Inspection:
    """The inspection that a command's options ask for."""
    selection = Selection(tuple(options.disable_rule), tuple(options.only_rules))
    return Inspection(selection, Watch(timed=options.stats))


def statistics(inspection: Inspection) -> str:
    """Shapes, questions and rounds of the engine; then a line for each rule that matched or took long, the slowest
    first."""
    engine, watch = inspection.engine, inspection.watch
    if engine is None:
        return "no rule was asked"
    shapes = f"{len(engine.shapes())} shapes, {engine.asked} questions, {watch.runs} rounds"
    total = sum(watch.seconds.values()) * 1000
    slow = (rule for rule, seconds in watch.seconds.items() if seconds >= _LONG)
    shown = dict.fromkeys((*watch.matches, *slow))
    rows = [
        (f"{watch.matches.get(rule, 0)}", f"{watch.seconds.get(rule, 0.0) * 1000:.2f}", engine.rule_place(rule))
        for rule in sorted(shown, key=lambda rule: (-watch.seconds.get(rule, 0.0), rule))
    ]
    head = ("matches", "ms", "rule")
    widths = [max(len(r[k]) for r in (head, *rows)) for k in range(2)]
    lines = [f"{r[0]:>{widths[0]}}  {r[1]:>{widths[1]}}  {r[2]}" for r in (head, *rows)]
    return "\n".join([f"{shapes}, {total:.2f} ms in rules", *lines])
