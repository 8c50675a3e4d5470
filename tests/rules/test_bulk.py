"""Shapes that the rules are given as rows of numbers: the pattern they share, and that nothing is said otherwise."""

from __future__ import annotations

import pytest

from pypto_rw.rewriting import bulk
from pypto_rw.rewriting.bulk import patterns
from pypto_rw.rewriting.egraph import Derived, EGraph
from pypto_rw.rewriting.rulebook import Rulebook

TYPE = "(Tile {0} {1} (at {0}) (at {1}) ({2}) (Vec) (View (row_major) (none_box) 512 (pad-null) 0))"
TYPES = [TYPE.format(8 + k % 3, 8 * k, "FP16" if k % 5 == 4 else "FP32") for k in range(1, 25)]
TILE = "(arg {} (ty {}) (nowhere) (plain))"
MUL = f'(call "tile.mul" (vec-of {TILE.format(0, "{0}")} {TILE.format(1, "{1}")}) (res (ty {{0}}) (nowhere)))'
SHAPES = [
    *(MUL.format(k, k) for k in range(24)),
    *(MUL.format(k, (k + 1) % 24) for k in range(24)),  # rows, columns or dtypes that differ: refused
    *(f"(alloc (const 0 (INT64)) (res (ty {k}) (nowhere)))" for k in range(24)),
]


def test_a_pattern_is_a_rule_and_its_rows() -> None:
    alike, others = patterns(
        [*((k, f"(alloc (const 0 (INT64)) (res (ty {k + 5}) (at -{k})))") for k in range(16)), (9, "(x 1)")]
    )
    (pattern,) = alike
    assert others == [(9, "(x 1)")]
    assert pattern.program("given", "shape") == (
        "(relation given (i64 i64 i64)) (ruleset given-rows)"
        " (rule ((given n0 n1 n2) (= t1 (ty n1)))"
        " ((set (shape n0) (alloc (const 0 (INT64)) (res t1 (at n2)))))"
        ' :ruleset given-rows :name "given")'
    )
    assert pattern.text == "".join(f"{k}\t{k + 5}\t-{k}\n" for k in range(16))


def test_numbers_in_a_text_stay_there() -> None:
    terms = [(k, f'(x "ring {k} of 3" {k})') for k in range(40)]
    assert patterns(terms) == ([], terms)


def rewritten(together: int) -> list[Derived]:
    """What the rules derive for all shapes, so many at a time."""
    graph = EGraph(Rulebook(), target="a5", facts=("(addresses)", "(as-specified)"))
    graph.load("tile/mul")
    return [d for k in range(0, len(SHAPES), together) for d in graph.rewrite(TYPES, SHAPES[k : k + together])]


def test_rows_and_text_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    in_rows, alone = rewritten(len(SHAPES)), rewritten(1)
    monkeypatch.setattr(bulk, "_FEW", len(SHAPES))
    in_text = rewritten(len(SHAPES))
    assert in_rows == in_text == alone
    assert sum(bool(d.findings) for d in alone) == 24
    assert all(d.findings or d.code for d in alone)
