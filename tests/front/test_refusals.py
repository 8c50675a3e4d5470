"""What the front stages refuse: the author's line, what was found, the way out."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.front.authored import kernel, refusal

LOAD = "t = pl.load(x, [0, 0], [16, 64])\n"
REFUSED = {
    "a_tensor_where_a_tile_is_needed": LOAD + "u = pl.add(t, x)",
    "a_tensor_of_run_time_shape": "u = pl.add(g, g)",
    "an_unknown_name": LOAD + "u = pl.addd(t, t)",
    "an_unknown_op": LOAD + "u = pl.tile.addd(t, t)",
    "no_promotion": LOAD + "u = pl.div(t, pl.load(h, [0, 0], [16, 64]))",
    "annotation_of_another_dtype": "t: pl.Tile[[16, 64], pl.FP16] = pl.load(x, [0, 0], [16, 64])",
    "annotation_of_another_shape": "t: pl.Tile[[16, 32], pl.FP32] = pl.load(x, [0, 0], [16, 64])",
    "annotation_of_another_rank": "t: pl.Tile[[64], pl.FP32] = pl.load(x, [0, 0], [16, 64])",
    "annotation_of_another_space": "t: pl.Tile[[16, 64], pl.FP32, pl.Mem.Mat] = "
    "pl.load(x, [0, 0], [16, 64], target_memory=pl.Mem.Vec)",
    "annotation_of_another_valid_shape": "t: pl.Tile[[16, 64], pl.FP32, pl.TileView(valid_shape=[8, 64])] = "
    "pl.load(x, [0, 0], [16, 64])",
    "annotation_of_another_layout": "t: pl.Tile[[16, 64], pl.FP32, pl.TileView(blayout=pl.TileLayout.col_major)] = "
    "pl.load(x, [0, 0], [16, 64])",
    "annotation_of_another_kind": "t: pl.Scalar[pl.FP32] = pl.load(x, [0, 0], [16, 64])",
    "scalar_annotation_of_another_kind": "k: pl.Scalar[pl.FP32] = n + 1",
    "a_scalar_index": LOAD + "u = pl.add(t, n)",
    "a_tile_that_is_not_defined": LOAD
    + "u = pl.add(t, tt)\nv = pl.exp(q)\nw = pl.tile.exp(q)\np = pl.load(z, [n, 0], [16, 64])",
    "an_operator_on_a_tile": LOAD + "u = t + 1.0\nv = 2 * pl.exp(t)\nw = x / 3.0\nb = n < t",
    "no_tile_to_compute_in": LOAD + "u = pl.row_max(t)\nv = pl.tile.xor(t, t)\nw = pl.matmul(t)",
    "a_division_by_zero": LOAD + "k = n // 0\nz = 0\nt = pl.load(x, [n % 0, 4 // z], [16, 64])",
    "a_store_of_another_rank": LOAD + "pl.store(t, [0, 0], x, [1, 16, 64])",
    "break_in_a_loop": LOAD + "for i in pl.range(4):\n    if n > i:\n        break\n    t = pl.neg(t)",
    "a_scope": "with pl.at(level=pl.Level.CORE_GROUP):\n    t = pl.load(x, [0, 0], [16, 64])",
    "both_cores": LOAD + "m = pl.load(x, [0, 0], [16, 64], target_memory=pl.Mem.Mat)",
    "arms_of_two_dtypes": LOAD
    + "u = pl.load(h, [0, 0], [16, 64])\nif n > 3:\n    v = t\nelse:\n    v = u\npl.store(v, [0, 0], x)",
    "a_condition_that_is_no_bool": LOAD + "if n:\n    t = pl.neg(t)",
    "a_cast_without_a_way": LOAD + "u = pl.cast(pl.cast(t, pl.INT16), pl.UINT32)",
    "an_operator_of_printed_ir": "k = n & 3\npl.write(x, [0, 0], 1.0)",
    "unrolling_without_bounds": LOAD + "for i in pl.unroll(n):\n    t = pl.neg(t)\npl.store(t, [0, 0], x)",
    "a_reduction_over_the_divided_axis": "t: pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec] = pl.tpop_from_aic(split=1)\n"
    "u = pl.col_max(t)\npl.tfree_to_aic(t)",
    "a_slot_that_is_not_given_back": "t: pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec] = pl.tpop_from_aic(split=0)",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_of(name: str, snapshot: SnapshotAssertion) -> None:
    kind = "AIV" if "tpop" in REFUSED[name] else "InCore"
    source = kernel(
        "x: <16x64 FP32>, h: <16x64 FP16>, g: <R x 64 FP32>, n: INDEX", REFUSED[name], dynamic="R", kind=kind
    )
    assert refusal(source) == snapshot
