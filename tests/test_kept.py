"""Functions that come again unchanged are taken as they are: never where anything that they depend on has changed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pypto_rw import CompileError, kept, lower
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.syntax import parse

_HERE = Path(__file__).parent
_FILES = sorted([*(_HERE / "kernels").glob("*.pyir"), *(_HERE / "memory" / "plans").glob("*.pyir")])
PLAIN = """import pypto.language as pl
ROWS = pl.dynamic("ROWS")
SIZE = 32

@pl.program
class Two:
    @pl.function(type=pl.FunctionType.AIV)
    def first(self, x: pl.Tensor[[ROWS, 64], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]], __gm_pipe_buffer: pl.Out[pl.Tensor[[1], pl.FP32]]):
        ring: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='ring', size=32768, base=0)
        pl.system.aiv_initialize_pipe(ring, pl.const(0, pl.INT32), dir_mask=1, slot_size=4096)
        a: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
        t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(a, pl.const(32768, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 64])
        # as it is
        pl.tile.store(t, [0, 0], y)

    # the other
    @pl.function(type=pl.FunctionType.AIV)
    def second(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        a: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
        t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(a, pl.const(0, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 64])
        for i in pl.range(4):
            u: pl.Tile[[16, 64], pl.FP32, pl.MemRef(a, pl.const(0, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.adds(t, 1.0)
            pl.tile.store(u, [0, 0], y)
"""  # noqa: E501
AUTHORED = """import pypto.language as pl

N = pl.dynamic("N")

@pl.function(type=pl.FunctionType.InCore)
def one(x: pl.Tensor[[N, 64], pl.FP32], o: pl.Out[pl.Tensor[[N, 64], pl.FP32]]):
    t = pl.load(x, [0, 0], [16, 64])
    u = pl.add(t, 2)
    pl.store(u, [0, 0], o)

@pl.function(type=pl.FunctionType.InCore)
def two(x: pl.Tensor[[N, 64], pl.INT32], o: pl.Out[pl.Tensor[[N, 64], pl.INT32]]):
    t = pl.load(x, [0, 0], [16, 64])
    u = pl.mul(t, 2.5)
    pl.store(u, [0, 0], o)
"""
CHANGES = {
    "a number of the file": ("SIZE = 32", "SIZE = 64"),
    "a number that a function uses": ("SIZE = 32", "a = 64"),
    "a dimension of another name": ('pl.dynamic("ROWS")', 'pl.dynamic("COLS")'),
    "a dimension is a number": ('ROWS = pl.dynamic("ROWS")', "ROWS = 128"),
    "no dimension": ('ROWS = pl.dynamic("ROWS")\n', ""),
    "a type of the file": ("SIZE = 32", "Rows = pl.Tensor[[16, 64], pl.FP32]"),
    "one line down": ("SIZE = 32", "SIZE = 32\n"),
    "one line up": ("SIZE = 32\n", ""),
    "another prefix": ("import pypto.language as pl", "import pypto.language as P"),
    "another class": ("class Two", "class Three"),
    "no class": ("@pl.program\nclass Two:\n", ""),
    "another name": ("def second", "def third"),
    "the same name": ("def second", "def first"),
    "a call of another function": (
        "            pl.tile.store(u",
        "            first(x, y)\n            pl.tile.store(u",
    ),
    "a call of no function": ("            pl.tile.store(u", "            nobody(x, y)\n            pl.tile.store(u"),
    "another size of a pipe": ("slot_size=4096", "slot_size=2048"),
    "a pipe of another size in the other function": (
        "        for i in",
        "        r: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='r', size=32768, base=0)\n"
        "        pl.system.aiv_initialize_pipe(r, pl.const(0, pl.INT32), dir_mask=1, slot_size=2048)\n        for i in",
    ),
    "an open bracket": ("SIZE = 32", "SIZE = (32"),
    "an open string": ("SIZE = 32", "SIZE = '''32"),
    "an open decorator": ("    # the other\n", "    @pl.function\n"),
    "a line that goes on": ("    # the other\n", "        b = \\\n"),
    "tabs in the other function": ("        for i in", "\tfor i in"),
    "a tile of another type": ("pl.tile.adds(t, 1.0)", "pl.tile.adds(t, x)"),
    "bytes that are needed": (
        "pl.MemRef(a, pl.const(0, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.adds",
        "pl.MemRef(a, pl.const(64, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.adds",
    ),
    "a statement behind the function": ("    # the other\n", "    SIZE = 3\n"),
    "a statement behind the class": (
        "        pl.tile.store(u, [0, 0], y)\n",
        "        pl.tile.store(u, [0, 0], y)\nx = y\n",
    ),
    "another kind": ("FunctionType.AIV", "FunctionType.InCore"),
    "an attribute": (
        "        ring: ",
        '        pl.func_attr({"split": pl.SplitMode.UP_DOWN})\n        ring: ',
    ),
}
# A statement directly above the first function, which the parser has not read when the function is asked for.
ABOVE = """import pypto.language as pl
M = 16
{}
@pl.function(type=pl.FunctionType.InCore)
def one(x: pl.Tensor[[128, 64], pl.FP32], o: pl.Out[pl.Tensor[[128, 64], pl.FP32]]):
    for i in pl.pipeline(0, 8, 1, stage=N):
        t = pl.load(x, [i * 16, 0], [M, 64])
        u = pl.exp(t)
        pl.store(u, [i * 16, 0], o)
"""
STATEMENTS = (
    "N = 1  # buffers",
    "N = 2  # buffers",
    "N = 4 * 1",
    "N = (  # brackets\n    2)",
    "N = (  # brackets\n    1)",
    "N = 4",
    "M = 8",
    "N = M = 1",
    "N = 1\nN = 2 * 2",
    "N = 2 \\\n    + 2",
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"filename": "other.pyir"},
    {"target": "a5"},
    {"planner": "ptoas"},
    {"planner": "dsa_rp"},
    {"ptoas": "0.60"},
    {"reference": True},
    {"loc": False},
    {"emit_tile_addr": False},
    {"assembler_checks": False},
    {"functions": ("second",)},
    {"functions": ("one",)},
)


def _said(source: str, **options: Any) -> object:
    """All that the compiler says of a text."""
    try:
        done = lower(source, **options)
    except CompileError as error:
        return error.diagnostics, error.source
    except ValueError as error:
        return str(error)
    return done.mlir, done.diagnostics, done.module


def _anew(source: str, **options: Any) -> object:
    kept.forget()
    return _said(source, **options)


def _met(source: str, **options: Any) -> None:
    for _ in range(3):
        _said(source, **options)


@pytest.mark.parametrize("source", [PLAIN, AUTHORED], ids=["plain", "authored"])
def test_a_function_that_was_read_twice_is_read_no_more(source: str) -> None:
    first, second, third, fourth = (parse(source).functions for _ in range(4))
    assert all(a is not b for a, b in zip(first, second, strict=True))
    assert all(a is b is c for a, b, c in zip(second, third, fourth, strict=True))
    assert first == second
    assert [f.span for f in first] == [f.span for f in second]


@pytest.mark.parametrize("source", [PLAIN, AUTHORED], ids=["plain", "authored"])
def test_a_function_that_was_lowered_twice_is_lowered_no_more(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _met(source)
    expected = _said(source)
    monkeypatch.delattr("pypto_rw.lowering.module.Walker")
    assert _said(source) == expected
    with pytest.raises(NameError):
        lower(source.replace("64", "32"))


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_changes_around_a_function(change: tuple[str, str]) -> None:
    before, after = change
    changed = PLAIN.replace(before, after).replace(*("pl.", "P.") if "as P\n" in after + "\n" else ("", ""))
    expected = _anew(changed), _anew(PLAIN)
    assert changed != PLAIN
    kept.forget()
    _met(PLAIN)
    assert _said(changed) == expected[0]
    _met(changed)
    assert _said(changed) == expected[0]
    assert _said(PLAIN) == expected[1]


@pytest.mark.parametrize("first", STATEMENTS)
def test_statements_above_a_function(first: str) -> None:
    for second in STATEMENTS:
        for options in ({}, {"planner": "ptoas"}):
            before, after = ABOVE.format(first), ABOVE.format(second)
            expected = _anew(after, **options)
            kept.forget()
            _met(before, **options)
            assert _said(after, **options) == expected


def test_a_last_line_that_goes_on() -> None:
    text = AUTHORED.replace("    pl.store(u, [0, 0], o)\n", "    pl.store(u, [0, 0], o) \\ \n", 1)
    shorter = text.replace("\\ \n\n", "\\ \n")
    expected = _anew(text), _anew(shorter)
    kept.forget()
    _met(text)
    assert (_said(text), _said(shorter)) == expected


def test_what_is_noted_of_a_function_is_bounded() -> None:
    for k in range(40):
        lower(PLAIN, filename=f"{k}.pyir")
    assert kept._made and all(len(notes) <= kept._MOST_NOTES for _, notes in kept._made.values())


@pytest.mark.parametrize("source", [PLAIN, AUTHORED], ids=["plain", "authored"])
def test_options_of_a_kept_function(source: str) -> None:
    expected = [_anew(source, **options) for options in OPTIONS]
    kept.forget()
    for _ in range(4):
        assert [_said(source, **options) for options in OPTIONS] == expected


def test_a_warning_is_told_every_time() -> None:
    told = [lower(AUTHORED).diagnostics for _ in range(4)]
    assert [d.code for d in told[0]] == ["device-scalar-type"]
    assert told[1:] == told[:1] * 3


def test_rules_that_change(tmp_path: Path) -> None:
    folder = tmp_path / "tile"
    folder.mkdir()
    rule = (Rulebook().op_file("tile.adds") or pytest.fail("no such op")).text
    (folder / "adds.egg").write_text(rule)
    _met(PLAIN, rules=[tmp_path])
    before = lower(PLAIN, rules=[tmp_path]).mlir
    (folder / "adds.egg").write_text(rule.replace("pto.tadds", "pto.tsubs"))
    after = lower(PLAIN, rules=[tmp_path]).mlir
    assert after == before.replace("pto.tadds", "pto.tsubs") != before


@pytest.mark.parametrize("path", _FILES, ids=lambda p: p.stem)
def test_lines_that_change(path: Path) -> None:
    """A line is left out, doubled, changed with the next one or indented less; everything else was met before."""
    source = path.read_text()
    lines = source.splitlines(keepends=True)
    options = {"filename": path.name, "target": "a5" if "# target: a5" in source else "a2a3"}
    draw = random.Random(path.stem)
    for _ in range(6):
        at = draw.randrange(len(lines) - 1)
        part = draw.choice(([], [lines[at]] * 2, [lines[at + 1], lines[at]], [lines[at][4:]], ["\n", lines[at]]))
        changed = "".join([*lines[:at], *part, *lines[at + 1 + (len(part) == 2 and part[0] == lines[at + 1]) :]])
        expected = _anew(changed, **options)
        kept.forget()
        _met(source, **options)
        assert _said(changed, **options) == expected
        _met(changed, **options)
        assert _said(changed, **options) == expected


def test_many_different_functions_leave_nothing_and_the_same_ones_not_too_much() -> None:
    text = (
        "import pypto.language as pl\n@pl.function(type=pl.FunctionType.AIV)\ndef f_{}():\n"
        + "    pl.system.bar_v()\n" * 90
    )
    for k in range(300):
        parse(text.format(k))
    assert not kept._read and not kept._made
    for k in range(300):
        for _ in range(2):
            parse(text.format(k))
        assert kept._lines <= kept._MOST_LINES
        assert 92 * len(kept._made) == kept._lines
    assert kept._made


def test_a_very_long_function_is_not_kept() -> None:
    text = "import pypto.language as pl\n@pl.function\ndef f():\n" + "    pl.system.bar_v()\n" * (kept._LONGEST + 1)
    for _ in range(3):
        parse(text)
    assert not kept._made
