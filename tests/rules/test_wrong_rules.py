# ruff: noqa: E501 - kernels and messages are compared whole
"""A wrong rule file gives one clear message with its path and line and the way out, exit 1, and no panic text."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

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
    '(rule ((= c (lower (call "tile.twice" args r))) (= a (item args 0)))\n'
    '      ((union c (dps "pto.tadd" (vec-of a a) (vec-of r)))) :ruleset lowering :name "tile.twice/add")\n'
)
CHECK = (
    '(rule ((= op (call "tile.twice" args r))) ((refuse op "tile.twice/nope" (whole) "found" "way out"))'
    ' :ruleset check :name "tile.twice/none")\n'
)
PAIR = (
    "(relation twins (Op Operands))\n"
    '(rule ((= op (call "tile.twice" args r)) (= a (item args 0)))\n'
    '      ((twins op (vec-of a a))) :ruleset facts :name "tile.twice/pair")\n'
    '(rule ((twins op xs) (= a (item xs 1))) ((twins op (vec-of a))) :ruleset facts :name "tile.twice/second")\n'
)
TYPE = (
    '(rule ((= op (call "tile.twice" args r)) (= a (item args 0))) ((set (deduced op) (type a)))'
    ' :ruleset deduce :name "tile.twice/type")\n'
)
# what the compiler says of it, compared whole
WRONG = {
    "no closing parenthesis": HEAD
    + LOWER.replace("(vec-of r)))", "(vec-of r))")
    + '(access "tile.twice" "functional")\n',
    "no closing parenthesis at the end": HEAD + LOWER.replace("(vec-of r)))", "(vec-of r))"),
    "a parenthesis too many": HEAD + LOWER.replace("(vec-of r)))", "(vec-of r))))"),
    "a string not closed": HEAD + LOWER.replace('"pto.tadd"', '"pto.tadd'),
    "unknown instruction": HEAD + LOWER.replace('(dps "pto.tadd" (vec-of a a) (vec-of r))', "(pto.taddptr a r)"),
    "misspelled constructor": HEAD + LOWER.replace("dps ", "dpss "),
    "misspelled accessor": HEAD + LOWER.replace("args 0))", "args 0)) (= d (dtyp a))"),
    "misspelled fact": HEAD + '(emit "tile.twice" "pto.tadd")\n',
    "wrong arity": HEAD + LOWER.replace(" (vec-of r)", ""),
    "wrong arity of a fact": HEAD + '(emits "tile.twice" "pto.tadd" "pto.tmul")\n',
    "wrong sort": HEAD + LOWER.replace(" (vec-of r)", " r"),
    "unbound variable": HEAD + LOWER.replace("(vec-of a a)", "(vec-of a b)"),
    "a variable named like a constructor": HEAD + LOWER.replace("(= a ", "(= at ").replace("a a", "at at"),
    "two rules of one name": HEAD + LOWER + LOWER,
    "a function read in an action": HEAD + LOWER + TYPE,
    "wrong ruleset": HEAD + LOWER.replace("lowering", "lower"),
    "a declaration of a core file": HEAD + "(relation narrow (Op i64))\n" + LOWER,
    "no end": (
        HEAD
        + LOWER
        + "(constructor grown (Operand) Operand)\n"
        + '(rule ((= c (lower (call "tile.twice" args r)))) ((grown r)) :ruleset facts :name "tile.twice/seed")\n'
        + '(rule ((= x (grown y))) ((grown x)) :ruleset facts :name "tile.twice/grow")\n'
    ),
    "no such required file": "; requires: core/nowhere\n" + HEAD + LOWER,
    "a missing requires": HEAD + '(emits-scalar "tile.twice" "pto.tadds")\n',
    "a refusal with another name": HEAD + LOWER + CHECK,
    "wrong kind of a parameter": HEAD.replace("tile:tile", "tile:brick") + LOWER,
    "no lowering": HEAD,
    "a lowering that never fits": HEAD + LOWER.replace("args 0))", "args 0)) (= (FP16) (dtype a))"),
    "no signature": '(result-rule "tile.twice" "first")\n' + LOWER,
}
FORM = '(form "pto.twice" "dest:operand x:operand" "{dest} = pto.twice {y} : {x:type}")\n'


def _told(text: str, folder: Path, run: Run, name: str = "tile/twice") -> str:
    """What the compiler says of the kernel with this rule file."""
    rule = folder / f"{name}.egg"
    rule.parent.mkdir(parents=True, exist_ok=True)
    rule.write_text(text)
    result = run("-", "--rules", str(folder), stdin=KERNEL)
    assert (result.returncode, result.stdout) == (1, "")
    assert "panick" not in result.stderr and "Traceback" not in result.stderr
    return result.stderr.replace(f"{folder}/", "")


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_rule_file_is_explained(
    kind: str, tmp_path: Path, pypto_rw_command: Run, snapshot: SnapshotAssertion
) -> None:
    assert _told(WRONG[kind], tmp_path, pypto_rw_command) == snapshot


def test_a_form_with_an_unknown_hole(tmp_path: Path, pypto_rw_command: Run, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "form").mkdir()
    (tmp_path / "form" / "twice.egg").write_text(FORM)
    assert _told(HEAD + LOWER, tmp_path, pypto_rw_command) == snapshot


GOOD = (
    "; tile.twice -- twice a tile\n"
    + HEAD
    + LOWER
    + """
;! example
;!   a: Tile[[16, 64], FP32]
;!   c = pl.tile.twice(a)
;! prints
;!   pto.tadd ins(%a, %a : <a>, <a>) outs(%c : <c>)
"""
)
AGAIN = LOWER.replace("tile.twice/add", "tile.twice/again")
NARROW = AGAIN.replace("args 0))", "args 0)) (= (FP32) (dtype a))")
# what `rules lint` says of it, compared whole
UNTIDY = {
    "good": GOOD,
    "an example that prints otherwise": GOOD.replace("outs(%c", "outs(%a"),
    "an example that is refused": GOOD.replace("[16, 64], FP32", "[16, 64], FP31"),
    "no example": GOOD.partition(";!")[0],
    "no header": GOOD.partition("\n")[2],
    "no name": GOOD.replace(' :name "tile.twice/add"', ""),
    "no ruleset": GOOD.replace(" :ruleset lowering", ""),
    "a name of another op": GOOD.replace("tile.twice/add", "tile.once/add"),
    "an instruction that is not there": GOOD.replace(LOWER, '(emits "tile.twice" "pto.tad")\n'),
    "a fact of an op that is not there": GOOD.replace(LOWER, '(emits "tile.twise" "pto.tadd")\n'),
    "a word that no rule reads": GOOD.replace('"first"', '"frist"'),
    "a parameter that is not there": GOOD.replace(LOWER, LOWER + '(in-place "tile.twice" "dst" "always")\n'),
    "two rules for every tile": GOOD.replace(LOWER, LOWER + AGAIN),
    "two rules for some tiles": GOOD.replace(LOWER, LOWER + NARROW),
    "a rule that never fires": GOOD.replace(LOWER, LOWER + NARROW.replace("FP32", "FP16")),
    "a check without a refusal": GOOD.replace(
        LOWER, LOWER + CHECK.replace("/nope", "/none").replace("r)))", "r)) (= 1 0))")
    ),
    "a refusal with another name": GOOD.replace(LOWER, LOWER + CHECK),
    "a rule that compares every tile with every other": GOOD.replace(
        LOWER, LOWER.replace("(item args 0))", "(vec-get args 0)) (= (FP32) (dtype a))")
    ),
    "a list that nobody lists": GOOD.replace(LOWER, PAIR + LOWER),
    "a file of another op": GOOD.replace("twice", "thrice"),
    "too long": GOOD.replace(LOWER, LOWER + "; so\n" * 100),
}


@pytest.mark.parametrize("kind", UNTIDY)
def test_an_untidy_rule_file_is_found(
    kind: str, tmp_path: Path, pypto_rw_command: Run, snapshot: SnapshotAssertion
) -> None:
    rule = tmp_path / "tile" / "twice.egg"
    rule.parent.mkdir()
    rule.write_text(UNTIDY[kind])
    result = pypto_rw_command("rules", "lint", "--rules", str(tmp_path))
    assert (result.returncode, result.stderr) == (int(kind != "good"), "")
    assert result.stdout.replace(f"{tmp_path}/", "") == snapshot


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
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == "pypto-rw: argument --rules: there is no folder no/such/folder"
