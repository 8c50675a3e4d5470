"""Every diagnostic code that the sources and the rules can give has a page, and every page's texts are what it says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import pypto_rw
from pypto_rw.codes import Page, Sample, codes, page
from pypto_rw.diagnostics import CompileError, Diagnostic
from pypto_rw.examples import examples
from pypto_rw.memory.verify import verify_plan
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rulepages import Pages, RulePage
from pypto_rw.syntax import parse
from tests.assembler.test_codes import CODES
from tests.conftest import ROOT, Run

PAGES = Pages(Rulebook())
OWN = [c for c in codes() if c not in CODES]
# What no text can show: faults of the machine, of the assembler, and of modules that a program has made wrongly.
NOT_RUN = {
    "assembler-output",
    "extent-not-invertible",  # tests/wrapper: after the assembler
    "internal-error",
    "kernel-parameter",  # tests/wrapper: after the assembler
    "memory-space-unknown",
    "no-space",
    "ptoas-failed",
    "rebound-tile",
    "redefined-name",
    "scalar-value",
    "worker-count",
}
# Calls whose first argument is a code.
RAISING = {"Diagnostic", "Refused", "Refusal", "Finding", "report", "_report", "refuse", "_refuse", "refused", "inside"}
# Codes that are put together: where, and what they can be.
COMPOSED = {
    "front/annotations.py": ["dtype", "rank", "shape", "space", "valid-shape", "blayout", "slayout", "fractal", "pad"],
    "verifier/regions.py": ["yield-arity", "yield-type", "condition-arity", "condition-type"],
}
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def _codes(sample: Sample, folder: Path) -> set[str]:
    """The codes that a sample gives."""
    options = dict(sample.options)
    target, planner = options.get("target", "a2a3"), options.get("planner", "pypto")
    functions = [options["function"]] if "function" in options else None
    found: Sequence[Diagnostic]
    try:
        match options.get("command", "verify" if sample.lowered else "check"):
            case "verify":
                found = pypto_rw.verify(sample.text, target=target, planner=planner)
            case "build":
                found = pypto_rw.build(sample.text, folder, skip_ptoas=True, target=target).diagnostics
            case "plan":
                found = verify_plan(parse(sample.text), planner=planner, target=target)
            case "rules":
                (folder / "tile").mkdir(exist_ok=True)
                (folder / "tile/twice.egg").write_text(sample.text)
                Rulebook((folder,)).file("tile/twice")
                found = []
            case _:
                found = pypto_rw.check(sample.text, target=target, planner=planner, functions=functions)
    except CompileError as error:
        found = error.diagnostics
    return {d.code for d in found}


@pytest.mark.parametrize("code", [c for c in OWN if c not in NOT_RUN])
def test_a_written_page_shows_what_is_reported_and_what_is_not(code: str, tmp_path: Path) -> None:
    shown = page(code)
    assert shown is not None
    assert _codes(shown.reported, tmp_path) == {code}
    assert _codes(shown.accepted, tmp_path) == set()


def test_the_pages_that_cannot_be_run_are_marked() -> None:
    def marked(shown: Page | None) -> bool:
        return shown is not None and ("command", "none") in shown.reported.options

    assert {c for c in OWN if marked(page(c))} == NOT_RUN


def test_a_page_of_a_rule_shows_examples_that_are_run() -> None:
    """tests/rules/test_examples.py runs all examples of rule files, refused ones against their codes."""
    made = [p for c in PAGES.codes() if isinstance(p := PAGES.page(c), RulePage)]
    assert len(made) > 200
    for shown in made:
        assert shown.code in (shown.reported.refuses, *shown.reported.warns)
        assert shown.accepted.refuses is None and not shown.accepted.warns
        for example in (shown.reported, shown.accepted):
            assert example in list(examples(example.file))


def _constants(node: ast.AST) -> Iterator[str]:
    for n in ast.walk(node):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and CODE.fullmatch(n.value):
            yield n.value


def _first_argument(call: ast.Call) -> ast.expr | None:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name not in RAISING:
        return None
    return call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "code"), None)


def _raised(path: Path) -> Iterator[str]:
    """Codes in a source: of raising calls, of variables called `code`, and beside their messages in tables."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call() if isinstance(first := _first_argument(node), ast.Constant | ast.IfExp):
                yield from _constants(first)
            case ast.Assign(targets=[ast.Name(id="code")], value=value):
                yield from (c for c in _constants(value) if "-" in c)
            case ast.Tuple(elts=[ast.Constant(value=str(word)), *rest]) if CODE.fullmatch(word):
                texts = [n.value for r in rest for n in ast.walk(r) if isinstance(n, ast.Constant)]
                if "-" in word and any(isinstance(t, str) and t.count(" ") > 1 for t in texts):
                    yield word


def test_every_code_of_the_sources_has_a_page() -> None:
    package = ROOT / "pypto_rw"
    found = {code: path for path in sorted(package.rglob("*.py")) for code in _raised(path)}
    assert len(found) > 250
    assert {c: str(p) for c, p in found.items() if PAGES.page(c) is None} == {}


def test_every_composed_code_has_a_page() -> None:
    package = ROOT / "pypto_rw"
    composed = {
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(_first_argument(node), ast.JoinedStr)
    }
    assert composed == set(COMPOSED)
    prefix = {"front/annotations.py": "annotation-"}
    every = [prefix.get(path, "") + end for path, ends in COMPOSED.items() for end in ends]
    assert [c for c in every if PAGES.page(c) is None] == []


def test_every_code_of_the_rules_has_a_page_and_no_page_is_left_over() -> None:
    assert [c for c in PAGES.codes() if PAGES.page(c) is None] == []
    package = ROOT / "pypto_rw"
    raised = {code for path in package.rglob("*.py") for code in _raised(path)}
    raised |= {"annotation-" + end for end in COMPOSED["front/annotations.py"]} | set(COMPOSED["verifier/regions.py"])
    raised |= PAGES.rule_codes()
    assert [c for c in OWN if c not in raised] == []


def test_the_command_lists_and_explains(pypto_rw_command: Run) -> None:
    listed = pypto_rw_command("codes")
    assert listed.returncode == 0
    width = max(map(len, PAGES.codes()))
    assert listed.stdout.splitlines() == [f"{c:<{width}}  {PAGES.line(c)}" for c in PAGES.codes()]
    for code in ("ptoas-row-bytes", "unknown-op", "boxed-extent"):
        shown = PAGES.page(code)
        assert shown is not None
        assert pypto_rw_command("codes", code).stdout == shown.text


def test_the_page_of_a_rule_is_made_of_the_rule(tmp_path: Path, pypto_rw_command: Run) -> None:
    (tmp_path / "tile").mkdir()
    (tmp_path / "tile/twice.egg").write_text(
        "; tile.twice -- every element doubled\n"
        '(operands "tile.twice" "tile:tile")\n'
        '(result-rule "tile.twice" "first")\n'
        '(rule ((= op (call "tile.twice" args r)) (= t (item args 0)) (= h (rows t)) (> h 8) (= n (to-string h)))\n'
        '      ((refuse op "tile.twice/tall" t (+ "tile.twice: at most 8 rows; got " n) "cut it into pieces of 8"))\n'
        '      :ruleset check :name "tile.twice/tall")\n\n'
        ";! example\n;!   a: Tile[[8, 64], FP32]\n;!   c = pl.tile.twice(a)\n;! prints\n;!   nothing\n"
        ";! refuses tall\n;!   a: Tile[[16, 64], FP32]\n;!   c = pl.tile.twice(a)\n"
    )
    done = pypto_rw_command("codes", "tall", "--rules", str(tmp_path))
    assert done.stdout == (
        "# tall: tile.twice: at most 8 rows; got …\n\n## Way out\n\n"
        "* tile.twice: at most 8 rows; got …: cut it into pieces of 8 (`tile/twice.egg:5`)\n\n"
        "## Reported\n\n    a: Tile[[16, 64], FP32]\n    c = pl.tile.twice(a)\n\n"
        "## Accepted\n\n    a: Tile[[8, 64], FP32]\n    c = pl.tile.twice(a)\n"
    )


def test_an_unknown_code_is_a_usage_error(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("codes", "ptoas-row-byte")
    assert (result.returncode, result.stdout) == (2, "")
    near = ", ".join(PAGES.nearest("ptoas-row-byte"))
    assert near.startswith("ptoas-row-bytes")
    assert result.stderr == f"pypto-rw: no page for the code ptoas-row-byte; similar: {near}\n"
