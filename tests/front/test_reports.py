"""Rows of public reports about valid extents and casts, as authored kernels: each holds what was once got wrong."""

from __future__ import annotations

import pytest

from pypto_rw import lower
from tests.front.authored import body, kernel, refusal

PARTIAL = "t = pl.load(x, [0, 0], [16, 8], valid_shape=[4, 5])\n"
SCRATCH = "w = pl.create_tile([16, 8], dtype=pl.FP32, target_memory=pl.Mem.Vec)\n"


def view_of(statement: str, before: str = PARTIAL) -> str:
    """The type of the last statement's tile, after legalization."""
    source = kernel("x: <16x8 FP32>", before + f"r = {statement}")
    return next(line for line in body(source, "legalize").splitlines() if line.startswith("r: ")).split(" = ")[0]


@pytest.mark.parametrize(
    ("statement", "before", "expected"),
    [
        ("pl.neg(t)", PARTIAL, "r: pl.Tile[[16, 8], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[4, 5])]"),
        (
            "pl.row_sum(t, w)",
            PARTIAL + SCRATCH,
            "r: pl.Tile[[16, 1], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[4, 1])]",
        ),
        ("pl.col_max(t)", PARTIAL, "r: pl.Tile[[1, 8], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[1, 5])]"),
        (
            "pl.row_expand_mul(t, c)",
            PARTIAL + SCRATCH + "c = pl.row_sum(t, w)\n",
            "r: pl.Tile[[16, 8], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[4, 5])]",
        ),
        ("pl.cast(t, pl.FP16)", PARTIAL, "r: pl.Tile[[16, 8], pl.FP16, pl.Mem.Vec, pl.TileView(valid_shape=[4, 5])]"),
    ],
)
def test_09_valid_extents_follow_the_operation(statement: str, before: str, expected: str) -> None:
    assert view_of(statement, before) == expected


def test_10_an_extent_that_is_an_expression_is_an_operand() -> None:
    source = kernel(
        "x: <16x512 FP32>, n: INDEX, y: Out <16x512 FP32>",
        """
        for s in pl.range(0, n, 128):
            t = pl.load(x, [0, s], [16, 128], valid_shape=[16, pl.min(120, n - s)])
            y = pl.store(pl.neg(t), [0, s], y)
        """,
    )
    text = lower(source, loc=False).mlir
    allocs = [line.strip() for line in text.splitlines() if "pto.alloc_tile" in line]
    assert [a.split(" : ")[0].split(" = ", 1)[1] for a in allocs] == [
        "pto.alloc_tile addr = %c0_i64 valid_row = %c16_index valid_col = %1",
        "pto.alloc_tile addr = %c0_i64 valid_row = %c16_index valid_col = %6",
    ]
    assert all("v_row=?, v_col=?" in a for a in allocs)


def test_11_a_view_cannot_be_narrowed_in_place() -> None:
    source = kernel(
        "x: <32x64 FP32>, y: Out <16x64 FP32>",
        """
        t = pl.load(x, [0, 0], [32, 64])
        w = pl.set_validshape(pl.slice(t, [16, 64], [0, 0]), 10, 64)
        y = pl.store(w, [0, 0], y)
        """,
    )
    assert refusal(source) == (
        "kernel.pyir:9:13: error[window]: pl.set_validshape: the tile is a window (slice), whose valid extents are in "
        "its type\n"
        "    9 |         w = pl.set_validshape(pl.slice(t, [16, 64], [0, 0]), 10, 64)\n"
        "      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: give pl.slice a valid_shape\n"
        "  rule: tile/set_validshape.egg:N tile.set_validshape/window"
    )


def test_13_a_window_of_three_axes_keeps_its_valid_rows() -> None:
    source = kernel("x: <4x8x16 FP32>", "r = pl.load(x, [0, 0, 0], [1, 8, 16], valid_shape=[1, 5, 16])")
    assert body(source, "legalize").splitlines()[0].split(" = ")[0] == (
        "r: pl.Tile[[8, 16], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[5, 16])]"
    )


@pytest.mark.parametrize(("rows", "compact"), [("n", ", compact=pl.CompactMode.normal"), ("64", None)])
def test_14_an_accumulator_of_run_time_rows_is_compact(rows: str, compact: str | None) -> None:
    source = kernel(
        "a: <64x64 FP16>, b: <64x32 FP16>, n: INDEX, c: Out <64x32 FP32>",
        f"""
        l = pl.load(a, [0, 0], [64, 64], valid_shape=[{rows}, 64], target_memory=pl.Mem.Mat)
        r = pl.load(b, [0, 0], [64, 32], target_memory=pl.Mem.Mat)
        m = pl.matmul(l, r)
        m = pl.matmul_acc(m, l, r)
        c = pl.store(m, [0, 0], c)
        """,
    )
    types = [line.split(" = ")[0] for line in body(source, "legalize").splitlines() if line.startswith("m")]
    view = f", pl.TileView(valid_shape=[n, 32]{compact})" if compact else ""
    tile = f"pl.Tile[[64, 32], pl.FP32, pl.Mem.Acc{view}]"
    assert types == [f"m: {tile}", f"m_1: {tile}"]


def casts(conversion: str, dtype: str, source_dtype: str, target: str, reference: bool = False) -> list[str]:
    """The casts that a conversion becomes, as the instructions print their attributes."""
    source = kernel(
        f"x: <16x64 {source_dtype}>, y: Out <16x64 {dtype}>",
        f"y = pl.store(pl.cast(pl.load(x, [0, 0], [16, 64]), {conversion}), [0, 0], y)",
    )
    text = lower(source, target=target, loc=False, reference=reference).mlir
    return [line.split("{")[1].split("}")[0] for line in text.splitlines() if "pto.tcvt" in line]


def test_33_35_36_every_hop_has_its_rounding_and_only_the_last_saturates() -> None:
    off = "rmode = #pto<round_mode TRUNC>, satmode = #pto<saturation_mode OFF>"
    on = "rmode = #pto<round_mode TRUNC>, satmode = #pto<saturation_mode ON>"
    assert casts("pl.INT8, mode='trunc'", "INT8", "FP32", "a2a3") == [off, on]
    assert casts("pl.INT8, mode='trunc'", "INT8", "FP32", "a5") == [off, on]
    assert casts("pl.FP16, mode='trunc'", "FP16", "INT32", "a5") == [off, off]
    assert casts("pl.FP16, mode='trunc'", "FP16", "INT32", "a2a3") == [off]
    assert casts("pl.FP16, mode='trunc', saturation_mode='on'", "FP16", "INT32", "a5") == [off, on]


def test_35_a_cast_without_a_mode_rounds() -> None:
    assert casts("pl.FP16", "FP16", "FP32", "a2a3", reference=True) == ["rmode = #pto<round_mode ROUND>"]
