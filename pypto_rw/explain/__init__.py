"""Where every printed line came from: the author's statement, what stood for it after each stage, and the rules.

found = explain(source, filename="kernel.pyir")
for statement in found.statements:
    for line in statement.lines:
        line.number, [rule.place for rule in line.rules]
"""

from __future__ import annotations

from pypto_rw.explain.assemble import Examiner, explain
from pypto_rw.explain.records import Emitted, Explanation, Fired, Question, Stage, Statement, Step
from pypto_rw.explain.whynot import Miss

__all__ = [
    "Emitted",
    "Examiner",
    "Explanation",
    "Fired",
    "Miss",
    "Question",
    "Stage",
    "Statement",
    "Step",
    "explain",
]
