"""What rules warn of: each statement is told, every time, and lowered all the same."""

from __future__ import annotations

from textwrap import indent

import pytest

from pypto_rw import api, check, lower
from pypto_rw.diagnostics import Severity

TEXT = """import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[32, 128], pl.FP32], b: pl.Tensor[[1, 128], pl.FP32], o: pl.Out[pl.Tensor[[32, 128], pl.FP32]]):
        t = pl.load(x, [0, 0], [32, 128])
        v = pl.load(b, [0, 0], [1, 128])
        u = pl.add(t, v)
        w = pl.add(u, v)
        z = pl.mul(v, w)
        pl.store(z, [0, 0], o)
"""  # noqa: E501
ROWS = "tile.add: the result has 32 valid rows, the second operand has 1; the device reads the others all the same"
REPEAT = (
    "repeat a row with pl.col_expand(tile, row), or in the op itself with pl.col_expand_add and its like; fill what is "
    "not valid with pl.fillpad, or narrow the result"
)
TOLD = [
    (9, 13, "valid-rows", ROWS, REPEAT),
    (10, 13, "valid-rows", ROWS, REPEAT),
    (
        11,
        13,
        "valid-of-first",
        "tile.mul: the result has the valid rows of the first operand, 1; the second has 32, and the others are not "
        "computed",
        "write the larger tile first, and repeat the row: pl.col_expand(tile, row), or in the op itself "
        "pl.col_expand_add and its like",
    ),
]


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_rows_that_an_operand_does_not_have(planner: str) -> None:
    for _ in range(4):  # as a new text, and as a function that is kept
        done = lower(TEXT, planner=planner)
        told = [(d.span.line, d.span.column, d.code, d.message, d.help) for d in done.diagnostics]
        assert told == TOLD
        assert {d.severity for d in done.diagnostics} == {Severity.warning}
        assert done.mlir.count("pto.tadd ") == 2
    assert [d.code for d in check(TEXT, planner=planner)] == [code for _, _, code, _, _ in TOLD]
    assert lower(TEXT, planner=planner, assembler_checks=False).diagnostics == ()


def test_operands_of_the_extents_of_the_result() -> None:
    for text in (
        TEXT.replace("[1, 128]", "[32, 128]"),
        TEXT.replace("pl.add(", "pl.col_expand_add(").replace("pl.mul(v, w)", "pl.col_expand_mul(w, v)"),
    ):
        assert lower(text).diagnostics == ()


HEAD = """import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[16, 64], pl.FP32], n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 64])
        d = pl.full([32, 64], dtype=pl.FP32, value=0.0)
"""
OVERWRITTEN = {
    "read": ("w = pl.assemble(d, t, [16, 0])\nf = pl.sub(w, d)\npl.store(f, [0, 0], y)\n", [(9, "w", "d", 10)]),
    "stored": ("w = pl.assemble(d, t, [16, 0])\npl.store(d, [0, 0], y)\n", [(9, "w", "d", 10)]),
    "under another name": (
        "e = d\nw = pl.assemble(d, t, [16, 0])\nf = pl.sub(w, e)\npl.store(f, [0, 0], y)\n",
        [(10, "w", "d", 11)],
    ),
    "narrowed": (
        "s = pl.set_validshape(t, 8, 64)\npl.store(s, [0, 0], y)\npl.store(t, [0, 0], y)\n",
        [(9, "s", "t", 11)],
    ),
    "in the next turn": (
        "for i in pl.range(2):\n    w = pl.assemble(d, t, [i * 16, 0])\n    pl.store(w, [0, 0], y)\n",
        [(10, "w", "d", 10)],
    ),
    "after a branch": (
        "if n > 3:\n    w = pl.assemble(d, t, [16, 0])\n    pl.store(w, [0, 0], y)\npl.store(d, [0, 0], y)\n",
        [(10, "w", "d", 12)],
    ),
    "twice": (
        "w = pl.assemble(d, t, [16, 0])\nv = pl.assemble(d, t, [0, 0])\nf = pl.add(v, w)\npl.store(f, [0, 0], y)\n",
        [(9, "w", "d", 10)],
    ),
}
KEPT = {
    "read no more": "w = pl.assemble(d, t, [16, 0])\npl.store(w, [0, 0], y)\n",
    "in the other branch": "if n > 3:\n    w = pl.assemble(d, t, [16, 0])\n    pl.store(w, [0, 0], y)\n"
    "else:\n    pl.store(d, [0, 0], y)\n",
    "carried": "for i, (c,) in pl.range(2, init_values=(d,)):\n    w = pl.assemble(c, t, [i * 16, 0])\n"
    "    r = pl.yield_(w)\npl.store(r, [0, 0], y)\n",
    "made in each turn": "for i in pl.range(2):\n    e = pl.full([32, 64], dtype=pl.FP32, value=0.0)\n"
    "    w = pl.assemble(e, t, [i * 16, 0])\n    pl.store(w, [0, 0], y)\n",
    "stores": "pl.store(d, [0, 0], y)\npl.store(d, [0, 0], y)\n",
}


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
@pytest.mark.parametrize(("body", "told"), OVERWRITTEN.values(), ids=list(OVERWRITTEN))
def test_a_tile_that_is_read_after_its_update(body: str, told: list[tuple[int, str, str, int]], planner: str) -> None:
    for _ in range(3):
        done = lower(HEAD + indent(body, " " * 8), planner=planner)
        assert [(d.code, d.severity, d.span.line, d.message, d.help) for d in done.diagnostics] == [
            (
                "overwritten-operand",
                Severity.warning,
                line,
                f"{result} is made of {tile} in place, so {tile} is {result} where line {read} reads it",
                f"read {result} there, or make it of a tile that is not read again",
            )
            for line, result, tile, read in told
        ]


def test_a_dump_may_read_an_updated_tile_by_its_first_name() -> None:
    body = OVERWRITTEN["stored"][0]
    dump = api.stop_after(HEAD + indent(body, " " * 8), stage="plan").pyir
    assert "pl.tile.store(d, " in dump
    assert lower(dump).diagnostics == ()


@pytest.mark.parametrize("body", KEPT.values(), ids=list(KEPT))
def test_a_tile_that_is_not_read_after_its_update(body: str) -> None:
    assert lower(HEAD + indent(body, " " * 8)).diagnostics == ()


SLOTS = {
    "beyond": ("i", "the slot i of ring may be 7: it has 2 slots, numbered from 0", "write i % 2"),
    "a remainder beyond": (
        "i % 3",
        "the slot i % 3 of ring may be 2: it has 2 slots, numbered from 0",
        "write (i % 3) % 2",
    ),
    "a remainder below": (
        "(i - 1) % 2",
        "the slot (i - 1) % 2 of ring may be -1: it has 2 slots, numbered from 0",
        "a remainder has the sign of its left side at run time: add the number of slots to that first",
    ),
    "below": ("i - 7", "the slot i - 7 of ring may be -7: it has 2 slots, numbered from 0", "count from 0"),
}
RING = """        for i in pl.range(8):
            u: pl.Tile[[16, 64], pl.FP32, pl.MemRef("ring", slots=2)[{}], pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])
            pl.store(u, [0, 0], y)
"""


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
@pytest.mark.parametrize(("slot", "message", "way_out"), SLOTS.values(), ids=list(SLOTS))
def test_a_slot_that_may_not_be_there(slot: str, message: str, way_out: str, planner: str) -> None:
    for _ in range(3):
        done = lower(HEAD + RING.format(slot), planner=planner)
        told = [(d.code, d.severity, d.span.line, d.message, d.help) for d in done.diagnostics]
        assert told == [("slot-range", Severity.warning, 10, message, way_out)]


@pytest.mark.parametrize("slot", ["i % 2", "(i + 1) % 2", "n % 2", "n", "i // 4", "0"])
def test_a_slot_that_is_there_or_not_known(slot: str) -> None:
    assert lower(HEAD + RING.format(slot)).diagnostics == ()


def test_a_tile_of_the_other_core() -> None:
    for _ in range(3):
        done = lower(HEAD.replace("InCore", "AIC") + "        pl.store(d, [0, 0], y)\n")
        assert [(d.code, d.severity, d.span.line, d.message, d.help) for d in done.diagnostics] == [
            (
                "wrong-core",
                Severity.warning,
                7,
                "t is in Vec, which AIC kernels do not have",
                "write type=pl.FunctionType.AIV, or InCore: such a kernel runs on the core that its tiles need",
            )
        ]
