"""Many terms of one pattern: what they have in common as one rule, the numbers in which they differ as rows.

Measured: a term in the text of a program takes a tenth of a millisecond, a row of numbers a hundredth of that, but the
rule takes as long as four terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pypto_rw.records import dataclass

_FEW = 16  # terms of one pattern that stay in the text
_NUMBER = re.compile(r"(?<=\s)-?\d+(?=[\s)])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_HOLE = "\0"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Terms alike but for numbers. `rows`: of each, its number, then those that are not the same in all of them."""

    conditions: str
    term: str  # with the variables n1, n2, … and, for types, t1, t2, …
    rows: list[tuple[str, ...]]

    def program(self, name: str, table: str) -> str:
        """A relation `name` for the rows, and the rule, in the ruleset NAME-rows, that sets `table` from them."""
        columns = len(self.rows[0])
        return (
            f"(relation {name} ({' '.join(['i64'] * columns)})) (ruleset {name}-rows)"
            f" (rule (({name} {' '.join(f'n{k}' for k in range(columns))}){self.conditions})"
            f' ((set ({table} n0) {self.term})) :ruleset {name}-rows :name "{name}")'
        )

    @property
    def text(self) -> str:
        """The rows, one a line, their numbers separated by tabs."""
        return "".join("\t".join(row) + "\n" for row in self.rows)


def patterns(terms: Iterable[tuple[int, str]]) -> tuple[list[Pattern], list[tuple[int, str]]]:
    """Numbered terms by pattern, and those that are too few of theirs."""
    alike: dict[str, list[tuple[int, str]]] = {}
    for numbered in terms:
        alike.setdefault(_NUMBER.sub(_HOLE, numbered[1]), []).append(numbered)
    found: list[Pattern] = []
    single: list[tuple[int, str]] = []
    for common, group in alike.items():
        if len(group) < _FEW or any(_HOLE in text for text in _STRING.findall(common)):
            single += group
        else:
            found.append(_pattern(common, group))
    return found, single


def _pattern(common: str, group: list[tuple[int, str]]) -> Pattern:
    columns = [tuple(str(k) for k, _ in group)]
    conditions, term = "", ""
    pieces = common.split(_HOLE)
    numbers = zip(*(_NUMBER.findall(text) for _, text in group), strict=True)
    for k, (piece, values) in enumerate(zip(pieces, numbers, strict=False)):
        value = values[0]
        if any(v != value for v in values):
            value = f"n{len(columns)}"
            columns.append(values)
        if piece.endswith("(ty "):  # the head of a rule cannot read a function
            conditions += f" (= t{k} (ty {value}))"
            value = f"t{k}"
        term += piece + value
    term += pieces[-1]
    return Pattern(conditions, re.sub(r"\(ty (t\d+)\)", r"\1", term), list(zip(*columns, strict=True)))
