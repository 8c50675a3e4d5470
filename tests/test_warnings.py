"""What rules warn of: each statement is told, every time, and lowered all the same."""

from __future__ import annotations

import pytest

from pypto_rw import check, lower
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
