# ruff: noqa: E501 - kernels and messages are compared whole
"""A wrong rule file gives one clear message with its path and line, exit 1, and no panic text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Run

KERNEL = """import pypto.language as pl

@pl.function(type=pl.FunctionType.AIV)
def k(x: pl.Tensor[[16, 64], pl.FP32]):
    buf: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
    t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(buf, pl.const(0, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 64])
    s: pl.Tile[[16, 64], pl.FP32, pl.MemRef(buf, pl.const(0, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.twice(t)
"""
HEAD = '(operands "tile.twice" "tile:tile")\n(result-rule "tile.twice" "first")\n'
LOWER = (
    '(rule ((= c (lower (call "tile.twice" args r))) (= a (vec-get args 0)))\n'
    '      ((union c (dps "pto.tadd" (vec-of a a) (vec-of r)))) :ruleset lowering :name "tile.twice/add")\n'
)
WRONG = {
    "unknown instruction": (
        HEAD + LOWER.replace("dps ", "dpss "),
        "tile/twice.egg:4:17: error[rule-file]: nothing called dpss is declared",
    ),
    "wrong arity": (
        HEAD + LOWER.replace(" (vec-of r)", ""),
        "tile/twice.egg:4:17: error[rule-file]: arity mismatch, expected 3 args",
    ),
    "unbound variable": (
        HEAD + LOWER.replace("(vec-of a a)", "(vec-of a b)"),
        "tile/twice.egg:4:43: error[rule-file]: the variable b is not bound by the rule's pattern",
    ),
    "duplicate rule": (
        HEAD + LOWER + LOWER,
        "tile/twice.egg:6:1: error[rule-file]: the rule 'tile.twice/add' is written twice",
    ),
    "no end": (
        HEAD
        + LOWER
        + "(constructor grown (Operand) Operand)\n"
        + '(rule ((= c (lower (call "tile.twice" args r)))) ((grown r)) :ruleset facts :name "tile.twice/seed")\n'
        + '(rule ((= x (grown y))) ((grown x)) :ruleset facts :name "tile.twice/grow")\n',
        "tile/twice.egg:7:1: error[rule-file]: the rules do not come to an end: 'tile.twice/grow' keeps making new terms",
    ),
    "missing file": (
        "; requires: core/nowhere\n" + HEAD + LOWER,
        "tile/twice.egg:1:1: error[rule-file]: requires core/nowhere, but no rules folder has core/nowhere.egg",
    ),
    "bad parameter": (
        HEAD.replace("tile:tile", "tile:brick") + LOWER,
        "tile/twice.egg:1:1: error[rule-file]: cannot read the parameter 'tile:brick'",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_rule_file_is_explained(kind: str, tmp_path: Path, pypto_rw_command: Run) -> None:
    text, expected = WRONG[kind]
    rule = tmp_path / "tile" / "twice.egg"
    rule.parent.mkdir()
    rule.write_text(text)
    result = pypto_rw_command("-", "--rules", str(tmp_path), stdin=KERNEL)
    assert result.returncode == 1
    assert result.stdout == ""
    first = result.stderr.splitlines()[0].removeprefix(f"{tmp_path}/")
    assert first.startswith(expected), result.stderr
    assert "panick" not in result.stderr and "Traceback" not in result.stderr


def test_the_right_rule_file_lowers(tmp_path: Path, pypto_rw_command: Run) -> None:
    rule = tmp_path / "tile" / "twice.egg"
    rule.parent.mkdir()
    rule.write_text(HEAD + LOWER)
    result = pypto_rw_command("-", "--no-loc", "--rules", str(tmp_path), stdin=KERNEL)
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split(" : ")[0].strip() for line in result.stdout.splitlines() if "pto.tadd" in line] == [
        "pto.tadd ins(%t, %t"
    ]


def test_a_missing_rules_folder_is_refused(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("-", "--rules", "no/such/folder", stdin=KERNEL)
    assert result.returncode == 1
    assert (
        result.stderr.splitlines()[0] == "no/such/folder:1:1: error[rule-file]: there is no rules folder no/such/folder"
    )
