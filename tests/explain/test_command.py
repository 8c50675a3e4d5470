"""`pypto-rw explain`: what it tells of a kernel, as text and as JSON, and how it ends."""

from __future__ import annotations

import json
import re

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import ROOT, Run
from tests.explain.test_records import CHAIN
from tests.rulelines import without_rule_lines

ASKED = {
    "a chain of casts": ("--op", "cast"),
    "a loop": ("--line", "8"),
    "a load": ("--line", "7"),
    "a parameter": ("--line", "6"),
    "the whole kernel": (),
    "no route": ("--op", "cast", "--why-not", "tile.cast/no-route"),
    "a fact of another": ("--line", "9", "--why-not", "tile.cast/same-dtype"),
    "a rule of another op": ("--line", "9", "--why-not", "tile.load/plain"),
    "a rule for many ops": ("--line", "9", "--why-not", "families/emits"),
    "a legalization": ("--why-not", "stages/column-to-row"),
    "a rule that fired": ("--line", "9", "--why-not", "tile.cast/native"),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_text(asked: tuple[str, ...], pypto_rw_command: Run, snapshot: SnapshotAssertion) -> None:
    result = pypto_rw_command("explain", "-", *asked, stdin=CHAIN)
    assert (result.returncode, result.stderr) == (0, "")
    assert without_lines(result.stdout) == snapshot


def without_lines(text: str) -> str:
    """The text without the lines of built-in rules, on lines of their own too."""
    return re.sub(r"(    line )\d+$", r"\1N", without_rule_lines(text), flags=re.M)


def test_the_lines_of_rules_are_where_the_rules_are(pypto_rw_command: Run) -> None:
    told = pypto_rw_command("explain", "-", stdin=CHAIN).stdout
    places = re.findall(r"^ +(\S+\.egg):(\d+) (\S+)$", told, re.M)
    assert len(places) > 20
    for file, line, name in places:
        rest = (ROOT / "rules" / file).read_text().splitlines()[int(line) - 1 :]
        assert rest[0].startswith("(rule") and f':name "{name}"' in "\n".join(rest).partition("\n(")[0]


def test_a_refused_kernel(pypto_rw_command: Run, snapshot: SnapshotAssertion) -> None:
    result = pypto_rw_command("explain", "-", "--op", "cast", stdin=CHAIN.replace("INT32", "INT8"))
    assert result.returncode == 1
    assert without_lines(result.stdout + result.stderr) == snapshot


def test_json_has_every_line_of_the_text(pypto_rw_command: Run) -> None:
    text = pypto_rw_command("lower", "-", "--no-loc", stdin=CHAIN).stdout
    result = pypto_rw_command("explain", "-", "--json", "--why-not", "tile.cast/no-route", stdin=CHAIN)
    assert (result.returncode, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    lines = text.splitlines()
    assert all(lines[e["number"] - 1] == e["text"] for e in told["lines"])
    assert [e["op"] for e in told["lines"] if e["text"].strip().startswith("pto.t")] == [
        "tile.cast",
        "tile.cast",
    ]
    (asked,) = told["why_not"]
    assert asked["shapes"]
    assert [shape["failed"] for shape in asked["shapes"]] == ["(= 100000000 (cast-cost x y))"] * len(asked["shapes"])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--line", "99"), "no statement stands on line 99"),
        (("--op", "tile.mul"), "no statement is tile.mul; there is tile.alloc, parameter, load, tile.load, alloc"),
        (("--why-not", "tile.cast/nativ"), "no rule is called 'tile.cast/nativ'; the nearest are tile.cast/native"),
    ],
)
def test_what_is_not_there(asked: tuple[str, ...], message: str, pypto_rw_command: Run) -> None:
    result = pypto_rw_command("explain", "-", *asked, stdin=CHAIN)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"pypto-rw: {message}")
