"""Constants of a file: put in wherever a number may stand, and refused where they cannot stand."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import lower
from pypto_rw.api import stop_after
from pypto_rw.syntax import parse, write
from tests.front.authored import refusal

NAMED = """import pypto.language as pl

N = 64
ROWS = N // 4
SHAPE = [ROWS, N]
HALF = -0.5
WHERE = pl.Mem.Vec
SLOTS = N // 32
LAST = -(-N + 16)
ring = pl.MemRef("ring", slots=SLOTS)


@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[N * 2, N], pl.FP32], y: pl.Out[pl.Tensor[[N, 32 * 2], pl.FP32]]):
        for i in pl.unroll(0, N, N // 2):
            t: pl.Tile[[ROWS, N], pl.FP32, ring[SLOTS - 2], WHERE_] = pl.load(x, [i, 0], SHAPE, target_memory=WHERE)
            u = pl.mul(pl.slice(t, [N // 4, N // 2], [0, N - 32]), HALF)
            y = pl.store(u, [i, N - N], y)
        for i in pl.range(0, LAST, ROWS):
            t = pl.load(x, [i + ROWS * 2, 0], [ROWS, N], [8, N])
            y = pl.store(pl.add(t, N), [i, 0], y)

    @pl.function(type=pl.FunctionType.InCore)
    def hidden(self, x: pl.Tensor[[64, 64], pl.FP32], N: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        HALF = 2.0
        y = pl.store(pl.mul(pl.load(x, [N, 0], SHAPE), HALF), [N, 0], y)
""".replace("WHERE_", "pl.Mem.Vec")
WRITTEN = (
    NAMED.replace("N * 2, N]", "128, 64]")
    .replace("[N, 32 * 2]", "[64, 64]")
    .replace("pl.unroll(0, N, N // 2)", "pl.unroll(0, 64, 32)")
    .replace("[ROWS, N], pl.FP32, ring[SLOTS - 2]", "[16, 64], pl.FP32, ring[0]")
    .replace("SHAPE, target_memory=WHERE", "[16, 64], target_memory=pl.Mem.Vec")
    .replace("[N // 4, N // 2], [0, N - 32]), HALF", "[16, 32], [0, 32]), -0.5")
    .replace("[i, N - N]", "[i, 0]")
    .replace("(0, LAST, ROWS)", "(0, 48, 16)")
    .replace("[i + ROWS * 2, 0], [ROWS, N], [8, N]", "[i + 32, 0], [16, 64], [8, 64]")
    .replace("pl.add(t, N)", "pl.add(t, 64)")
    .replace("[N, 0], SHAPE", "[N, 0], [16, 64]")
)


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_a_name_is_the_number_it_stands_for(planner: str) -> None:
    named, written = (lower(text, planner=planner, loc=False).mlir for text in (NAMED, WRITTEN))
    assert NAMED != WRITTEN
    assert named == written


def test_text_with_constants(snapshot: SnapshotAssertion) -> None:
    assert lower(NAMED, loc=False).mlir == snapshot


@pytest.mark.parametrize("stage", ["type", "legalize", "plan"])
def test_a_stage_s_text_needs_no_constants(stage: str) -> None:
    staged = stop_after(NAMED, stage=stage)
    assert write(parse(staged.pyir)) == staged.pyir
    assert lower(staged.pyir, loc=False).mlir == lower(NAMED, loc=False).mlir


WRONG = {
    "a_fraction_as_an_extent_of_a_load": "N = 64.5",
    "of_something_below_it": "N = M + 1\nM = 4",
    "by_zero": "N = 4 // 0",
    "text": 'N = "a"',
    "text_in_a_sum": 'N = 1 + "a"',
    "a_list": "N = [3]",
    "a_call": "N = pl.load(3)",
    "less_than_one": "N = -4",
    "no_constant_at_all": "M = 4",
}


@pytest.mark.parametrize("case", WRONG)
def test_refusal_of(case: str, snapshot: SnapshotAssertion) -> None:
    kernel = "    def k(self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):\n"
    kernel += "        t = pl.load(x, [0, 0], [16, N])\n        pl.store(t, [0, 0], y)\n"
    head = f"import pypto.language as pl\n\n{WRONG[case]}\n\n\n@pl.program\nclass Kernels:\n"
    assert refusal(f"{head}    @pl.function(type=pl.FunctionType.InCore)\n{kernel}") == snapshot


def test_an_unused_constant_may_be_anything() -> None:
    assert lower(WRITTEN.replace("N = 64\n", "N = 64\nODD = N // 0\n"), loc=False).mlir


def test_an_extent_in_a_type_is_an_integer(snapshot: SnapshotAssertion) -> None:
    kernel = "    def k(self, x: pl.Tensor[[N, 64], pl.FP32]):\n        pl.write(x, [0, 0], 1.0)\n"
    head = "import pypto.language as pl\n\nN = 8 / 2\n\n\n@pl.program\nclass Kernels:\n"
    assert refusal(f"{head}    @pl.function(type=pl.FunctionType.InCore)\n{kernel}") == snapshot
