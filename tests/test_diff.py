"""`pypto-rw diff`: what counts as equal, and how a difference is shown."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from pypto_rw import CompileError, lower
from pypto_rw.differences import difference, lines_of
from tests.conftest import ROOT, Run

KERNELS = sorted((ROOT / "tests/kernels").glob("*.pyir"))
README = (ROOT / "tests/kernels/readme.pyir").read_text()
PTO = """module attributes {pto.target_arch = "a2a3"} {
  func.func @f(%arg0: index, %n: i32) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %r = scf.for %i = %c0 to %c4 step %c4 iter_args(%s = %c0) -> (index) {
      %t = arith.addi %s, %i : index
      scf.yield %t : index
    }
    %x = arith.muli %r, %arg0 : index
    return
  }
}
"""


def _differ(a: str, b: str) -> str:
    return difference(lines_of(a, "a"), lines_of(b, "b"))


def _renamed(text: str, seed: int) -> str:
    """The text with every SSA name another one."""
    names = sorted(set(re.findall(r"%[\w.$]+", text)))
    numbers = random.Random(seed).sample(range(10**6), len(names))
    new = {name: f"%v{number}" for name, number in zip(names, numbers, strict=True)}
    return re.sub(r"%[\w.$]+", lambda m: new[m[0]], text)


def _lowered(source: str) -> str:
    """The text on the first chip that takes the kernel."""
    try:
        return lower(source).mlir
    except CompileError:
        return lower(source, target="a5").mlir


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_names_places_and_order_of_constants_do_not_count(path: Path) -> None:
    source = path.read_text()
    text = _lowered(source)
    assert _differ(text, _renamed(text, 1)) == ""
    lines = re.sub(r' loc\("[^"]*":\d+:\d+\)', "", text).split("\n")
    constants = [k for k, line in enumerate(lines) if re.match(r"  %\w+ = arith\.constant ", line)]
    if len(constants) > 1 and constants[1] == constants[0] + 1:
        first, second = constants[:2]
        lines[first], lines[second] = lines[second], lines[first]
    assert _differ(text, "\n".join(lines)) == ""


def test_a_name_in_another_place_counts() -> None:
    other = PTO.replace("arith.addi %s, %i", "arith.addi %i, %s")
    assert _differ(PTO, other) == (
        '   1  1 | module attributes {pto.target_arch = "a2a3"} {\n'
        "   2  2 |   func.func @f(%arg0: index, %n: i32) {\n"
        "   5  5 |     %r = scf.for %i = <0 : index> to <4 : index> step <4 : index> iter_args(%s = <0 : index>)"
        " -> (index) {\n"
        "-  6    |       %t = arith.addi %s, %i : index\n"
        "+     6 |       %t = arith.addi %i, %s : index\n"
        "   7  7 |       scf.yield %t : index\n"
        "   8  8 |     }\n"
        "   9  9 |     %x = arith.muli %r, %arg0 : index\n"
        "       ...\n"
    )


def test_a_name_used_again_in_another_region_is_another_name() -> None:
    loop = "    scf.for %i = %a to %b step %c {\n      pto.use %i : index\n    }\n"
    text = "  func.func @f(%a: index, %b: index, %c: index) {\n" + loop + loop + "    return\n  }\n"
    second = text.rindex("%i = ")
    other = text[:second] + text[second:].replace("%i", "%j")
    assert _differ(text, other) == ""
    assert _differ(text, text[:second] + text[second:].replace("%i", "%a", 1)) != ""


def test_a_changed_line_is_shown_once_and_its_uses_are_not() -> None:
    text = "func.func @f(%a: index) {\n  %x = pto.one %a : index\n  pto.use %x : index\n  pto.use %x : index\n}\n"
    other = text.replace("%x", "%y").replace("pto.one", "pto.two")
    assert _differ(text, other) == (
        "  1 1 | func.func @f(%a: index) {\n"
        "- 2   |   %x = pto.one %a : index\n"
        "+   2 |   %y = pto.two %a : index\n"
        "  3 3 |   pto.use %x : index\n"
        "  4 4 |   pto.use %x : index\n"
        "  5 5 | }\n"
    )


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_layout_comments_and_variables_of_a_module_do_not_count(path: Path) -> None:
    source = path.read_text()
    names = set(re.findall(r"^ +(\w+): pl\.(?:Tile|Scalar)", source, re.M))
    known = "|".join(sorted(names)) or "no_name"
    other = re.sub(rf"(?<![.\w'])({known})(?![\w=])", r"\1_x", source)
    assert _differ(source, other.replace(", ", ",  ").replace("\n@pl.program", "\n# remark\n@pl.program")) == ""


def test_a_module_is_compared_with_the_lines_that_its_author_wrote(tmp_path: Path, pypto_rw_command: Run) -> None:
    (tmp_path / "a.pyir").write_text(README)
    (tmp_path / "b.pyir").write_text(README.replace("@pl.program", "# why\n\n@pl.program").replace("0.5", "0.25"))
    found = pypto_rw_command("diff", "a.pyir", "b.pyir", cwd=tmp_path)
    old = README.split("\n")[8]
    lines = [*found.stdout.split("\n")[:2], *(x for x in found.stdout.split("\n")[2:] if x.startswith(("-", "+")))]
    assert (found.returncode, found.stderr) == (1, "")
    assert lines == [
        "--- a.pyir",
        "+++ b.pyir",
        f"-  9    | {old}",
        f"+    11 | {old.replace('0.5', '0.25')}",
    ]


def test_module_constants_may_come_in_any_order() -> None:
    head, rest = README.split("\n\n", 1)
    one, two = f"{head}\n\nA = 16\nB = 64\n\n{rest}", f"{head}\n\nB = 64\nA = 16\n\n{rest}"
    both = [t.replace("[0, 0], [16, 64])", "[0, 0], [A, B])") for t in (one, two)]
    assert _differ(*both) == ""
    assert _differ(both[0], both[1].replace("A = 16", "A = 8")) != ""


def test_exit_codes_and_exact(tmp_path: Path, pypto_rw_command: Run) -> None:
    (tmp_path / "a.pto").write_text(PTO)
    (tmp_path / "b.pto").write_text(_renamed(PTO, 2))
    (tmp_path / "k.pyir").write_text(README)
    (tmp_path / "no.pyir").write_text("import pypto.language as pl\nnothing\n")

    def code(*arguments: str) -> tuple[int, bool, bool]:
        done = pypto_rw_command("diff", *arguments, cwd=tmp_path)
        return done.returncode, bool(done.stdout), bool(done.stderr)

    assert code("a.pto", "b.pto") == (0, False, False)
    assert code("a.pto", "b.pto", "--exact") == (1, True, False)
    assert code("a.pto", "b.pto", "--exact", "-q") == (1, False, False)
    assert code("a.pto", "a.pto", "--exact") == (0, False, False)
    assert code("a.pto", "k.pyir") == (2, False, True)
    assert code("k.pyir", "no.pyir") == (2, False, True)
    assert code("k.pyir", "missing.pyir") == (2, False, True)
