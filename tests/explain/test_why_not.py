"""Why a rule of one's own did not fire: a missing value, a rewrite, a comparison, a fact that is not there."""
# ruff: noqa: E501 - rules are one a line

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Run

RULES = """\
; tile.twice -- every element doubled, where it is narrow
(operands "tile.twice" "tile:tile")
(result-rule "tile.twice" "first")
(relation is-narrow (Op i64))
(function limit (Dtype) i64 :no-merge)
(set (limit (FP16)) 32)
(constructor doubled (Op) Code)
(rule ((= op (call "tile.twice" args r)) (= a (item args 0)) (= w (cols a)) (< w 32)) ((is-narrow op w)) :ruleset facts :name "tile.twice/narrow")
(rule ((= c (lower op)) (= op (call "tile.twice" args r)) (is-narrow op w)) ((union c (doubled op))) :ruleset lowering :name "tile.twice/small")
(rule ((= c (lower op)) (= op (call "tile.twice" args r)) (= a (item args 0)) (= w (cols a)) (>= w (limit (dtype a))))
      ((union c (doubled op))) :ruleset lowering :name "tile.twice/limited")
(rewrite (doubled (call "tile.twice" args r)) (dps "pto.tadd" (vec-of (vec-get args 0) (vec-get args 0)) (vec-of r))
      :when ((= r (res t p))) :ruleset lowering :name "tile.twice/add")
"""
KERNEL = """import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 64])
        pl.store(pl.tile.twice(t), [0, 0], y)
"""


@pytest.mark.parametrize("rule", ["narrow", "small", "limited", "add"])
def test_why_not(rule: str, tmp_path: Path, pypto_rw_command: Run, snapshot: SnapshotAssertion) -> None:
    file = tmp_path / "tile" / "twice.egg"
    file.parent.mkdir()
    file.write_text(RULES)
    asked = ("explain", "-", "--rules", str(tmp_path), "--why-not", f"tile.twice/{rule}")
    result = pypto_rw_command(*asked, stdin=KERNEL)
    assert result.returncode == 1  # nothing lowers it
    assert result.stdout == snapshot
    assert result.stderr.splitlines()[0].startswith("<stdin>:8:18: error[no-lowering]: no rule lowers tile.twice of ")
