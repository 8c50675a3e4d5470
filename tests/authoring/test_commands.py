"""`pypto-rw rules list | show | lint | test | coverage | new | docs`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw.examples import Runner, examples
from pypto_rw.records import replace
from pypto_rw.rewriting.rulebook import Rulebook
from tests.conftest import ROOT, Run
from tests.rulelines import without_rule_lines


@pytest.mark.parametrize("op", ["tile.lrelu", "tile.cast", "tile.load", "system.fence"])
def test_show(op: str, pypto_rw_command: Run, snapshot: SnapshotAssertion) -> None:
    result = pypto_rw_command("rules", "show", op)
    assert (result.returncode, result.stderr) == (0, "")
    assert without_rule_lines(result.stdout.replace(f"{ROOT}/", "")) == snapshot


def test_show_names_the_nearest_op(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("rules", "show", "tile.addd")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "pypto-rw: no op tile.addd; the nearest are tile.add, tile.adds, tile.addc\n"


def test_the_built_in_rules_lint_clean(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("rules", "lint")
    names = Rulebook().names()
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{len(names)} files, 0 findings\n", "")


def test_a_file_of_its_own_is_tested(pypto_rw_command: Run) -> None:
    for word in ("tile.cast", "tile/cast", "rules/tile/cast.egg"):
        assert pypto_rw_command("rules", "test", word).stdout == "27 examples, 0 failed\n"
    assert pypto_rw_command("rules", "test", "tile.cost").stderr == "pypto-rw: no rule file tile/cost\n"


NEW = {
    "one tile": ("tile.half", "tile:tile", ()),
    "two tiles": ("tile.mean", "lhs:tile rhs:tile", ()),
    "tile and scalar": ("tile.shift_by", "tile:tile by:scalar", ("pto.tmuls",)),
    "two instructions": ("tile.fma", "a:tile b:tile x:tile", ("pto.tmul", "pto.tadd")),
    "two instructions and a scalar": ("tile.axpy", "a:tile x:scalar b:tile", ("pto.tmuls", "pto.tadd")),
    "one after itself": ("tile.exp_exp", "tile:tile", ("pto.texp", "pto.texp")),
}


@pytest.mark.parametrize("kind", NEW)
def test_a_new_file_lints_and_its_examples_hold(
    kind: str, tmp_path: Path, pypto_rw_command: Run, snapshot: SnapshotAssertion
) -> None:
    op, operands, emits = NEW[kind]
    words = [word for name in emits for word in ("--emits", name)]
    made = pypto_rw_command("rules", "new", op, "--operands", operands, *words, "--rules", str(tmp_path))
    path = tmp_path / f"{op.replace('.', '/')}.egg"
    assert (made.returncode, made.stdout, made.stderr) == (0, f"{path}\n", "")
    assert path.read_text() == snapshot
    lint = pypto_rw_command("rules", "lint", "--rules", str(tmp_path))
    assert (lint.returncode, lint.stdout) == (0, "1 file, 0 findings\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mul",), "cannot begin 'mul': write the op as tile.name, in small letters"),
        (("tile.mul",), "cannot begin tile.mul: it is there already"),
        (
            ("tile.x", "--operands", "a:brick"),
            "cannot read the operands 'a:brick': write them as \"lhs:tile rhs:scalar\", the first a tile",
        ),
        (
            ("tile.x", "--emits", "pto.tfoo"),
            "cannot find the instruction pto.tfoo: `pypto-rw rules show` an op that has it",
        ),
        (("tile.x", "--emits", "pto.tadd"), "cannot feed pto.tadd: they take 2 operands, the op has 1"),
    ],
)
def test_what_cannot_be_begun(words: tuple[str, ...], message: str, tmp_path: Path, pypto_rw_command: Run) -> None:
    result = pypto_rw_command("rules", "new", *words, "--rules", str(tmp_path))
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"pypto-rw: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_coverage_of_kernels_and_its_threshold(tmp_path: Path, pypto_rw_command: Run) -> None:
    kernel = ROOT / "tests" / "kernels" / "readme.pyir"
    result = pypto_rw_command("rules", "coverage", str(kernel), "--of", "tile.muls", "--of", "core/signless")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert (result.returncode, result.stderr) == (0, "")
    assert [(n, rule) for n, _, rule in rows[:-1] if n != "0"] == [("1", "signless/operand")]
    assert rows[-1] == ["11.1", "%", "of", "9", "rules", "fire"]
    less = pypto_rw_command("rules", "coverage", str(kernel.parent), "--of", "core/signless", "--fail-under", "101")
    assert less.returncode == 1
    assert less.stderr.splitlines()[-1].endswith(" % is less than 101 %")


def test_coverage_of_examples_as_json(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("rules", "coverage", "--of", "tile.cast", "--json", "--fail-under", "100")
    told = json.loads(result.stdout)
    assert (result.returncode, told["percent"]) == (0, 100.0)
    assert {r["rule"] for r in told["rules"]} == set(_names("tile/cast"))


def _names(name: str) -> list[str]:
    file = Rulebook().file(name)
    assert file is not None
    return list(file.rule_lines)


def test_every_example_on_a_page_holds(tmp_path: Path, pypto_rw_command: Run) -> None:
    """The pages of a few files are read back as rule files, and their examples run; the others have theirs too."""
    made = pypto_rw_command("rules", "docs", "-o", str(tmp_path))
    assert (made.returncode, made.stderr) == (0, "")
    book = Rulebook()
    runner = Runner(book)
    shown = 0
    for name in book.names():
        file = book.file(name)
        assert file is not None
        count = len(list(examples(file)))
        op = name.replace("/", ".")
        pages = [p for p in (tmp_path / "ops" / f"{op}.md", tmp_path / "rules" / f"{op}.md") if p.exists()]
        if count:
            (page,) = pages
            again = replace(file, text=_marked(page.read_text()))
            found = list(examples(again))
            assert len(found) == count, page
            shown += count
            if name in ("tile/cast", "tile/matmul_acc", "core/alloc", "scalar/add"):
                assert [o.message for e in found for o in runner.run(e) if o.message] == []
            else:  # the same as in the rule file, where tests/rules runs them
                assert [(e.words, e.body, e.prints, e.refuses, e.becomes) for e in found] == [
                    (e.words, e.body, e.prints, e.refuses, e.becomes) for e in examples(file)
                ]
    assert shown > 1000


def _marked(page: str) -> str:
    """The examples of a page as the lines of a rule file."""
    out: list[str] = []
    inside = False
    for line in page.splitlines():
        if line.startswith("```"):
            inside = line == "```rules"
        elif inside:
            out.append(f";! {line}")
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("page", ["ops/tile.lrelu.md", "rules/core.apart.md"])
def test_a_page(page: str, tmp_path: Path, pypto_rw_command: Run, snapshot: SnapshotAssertion) -> None:
    made = pypto_rw_command("rules", "docs", "tile.lrelu", "core/apart", "-o", str(tmp_path))
    assert made.stdout == "3 pages\n"
    assert without_rule_lines((tmp_path / page).read_text()) == snapshot
