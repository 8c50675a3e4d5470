"""Whole authored kernels after the type and the legalize stage."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import lower
from pypto_rw.syntax import parse, write
from tests.front.authored import body, kernel, module

KERNELS = {
    "elementwise": kernel(
        "x: <16x64 FP16>, y: Out <16x64 FP16>",
        """
        t = pl.load(x, [0, 0], [16, 64])
        u = pl.exp(pl.add(t, 2))
        y = pl.store(pl.maximum(u, t), [0, 0], y)
        """,
    ),
    "loop_and_branch": kernel(
        "x: <64x64 FP32>, n: INT32, y: Out <16x64 FP32>",
        """
        acc = pl.load(x, [0, 0], [16, 64])
        for i in pl.range(1, 4):
            t = pl.load(x, [i * 16, 0], [16, 64])
            if n > 3:
                t = pl.neg(t)
            acc = pl.add(acc, t)
        y = pl.store(acc, [0, 0], y)
        """,
    ),
    "continue_and_while": kernel(
        "v: <32 INT32>, y: Out <8 INT32>",
        """
        s = pl.const(0, pl.INT32)
        for i in pl.range(32):
            x = pl.read(v, [i])
            if x < 0:
                continue
            s = s + x
        while s > pl.const(100, pl.INT32):
            s = s // pl.const(2, pl.INT32)
        pl.write(y, [0], s)
        """,
    ),
    "matmul": kernel(
        "a: <32x128 FP16>, b: <128x32 FP16>, c: Out <32x32 FP32>",
        """
        a0 = pl.load(a, [0, 0], [32, 64], target_memory=pl.Mem.Mat)
        b0 = pl.load(b, [0, 0], [128, 32], target_memory=pl.Mem.Mat)
        acc = pl.matmul(a0, pl.slice(b0, [64, 32], [0, 0]))
        acc = pl.matmul_acc(acc, a0, pl.slice(b0, [64, 32], [64, 0]))
        c = pl.store(acc, [0, 0], c)
        """,
    ),
    "column": kernel(
        "x: <16x64 FP32>, y: Out <16x64 FP32>",
        """
        t = pl.load(x, [0, 0], [16, 64])
        m = pl.row_max(t, pl.create_tile([16, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec))
        r = pl.recip(pl.add(m, 1.0))
        y = pl.store(pl.row_expand_mul(t, r), [0, 0], y)
        """,
    ),
    "cast_chain": kernel(
        "x: <16x64 INT32>, y: Out <16x64 INT8>",
        """
        t = pl.load(x, [0, 0], [16, 64])
        y = pl.store(pl.cast(t, pl.INT8, mode="trunc"), [0, 0], y)
        """,
    ),
    "transpose": kernel(
        "x: <16x32 FP32>, y: Out <32x16 FP32>",
        "y = pl.store(pl.transpose(pl.load(x, [0, 0], [16, 32]), 0, 1), [0, 0], y)",
    ),
    "window_of_rank_3": kernel(
        "x: <3x24x64 FP32>, y: Out <3x24x64 FP32>",
        "y = pl.store(pl.exp(pl.load(x, [1, 0, 0], [2, 24, 64])), [1, 0, 0], y)",
    ),
    "pipeline": kernel(
        "x: <256x64 FP32>, n: INDEX, y: Out <256x64 FP32>",
        """
        for i in pl.pipeline(0, 5, stage=2):
            y = pl.store(pl.exp(pl.load(x, [i * 32, 0], [32, 64])), [i * 32, 0], y)
        for j in pl.pipeline(n, stage=2):
            y = pl.store(pl.neg(pl.load(x, [j * 32, 0], [32, 64])), [j * 32, 0], y)
        """,
    ),
    "unrolled": kernel(
        "x: <64x64 FP32>, y: Out <64x64 FP32>",
        """
        for i in pl.unroll(0, 4, 2):
            y = pl.store(pl.exp(pl.load(x, [i * 16, 0], [16, 64])), [i * 16, 0], y)
        for j in pl.range(3, 3):
            y = pl.store(pl.neg(pl.load(x, [j * 16, 0], [16, 64])), [j * 16, 0], y)
        """,
    ),
    "two_results": kernel(
        "x: <8x64 FP32>, k: FP32, y: Out <8x16 INT32>, z: Out <1x8 INT32>",
        """
        t = pl.load(x, [0, 0], [8, 64])
        w = pl.create_tile([8, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        d, c = pl.tile.gather_compare(t, k, w, cmp_mode="gt", out_cols=16)
        pl.store(d, [0, 0], y)
        pl.store(c, [0, 0], z)
        """,
    ),
    "array": kernel(
        "v: <8 INT32>, y: Out <8 INT32>",
        """
        a = pl.array.create(4, pl.INT32)
        for k in pl.range(4):
            a[k] = pl.read(v, [k])
        a[0] = a[1] + a[2]
        pl.write(y, [0], a[0])
        """,
    ),
    "break_of_a_while": kernel(
        "v: <32 INT32>, n: INDEX, y: Out <8 INT32>",
        """
        i = 0
        while i < n:
            x = pl.read(v, [i])
            if x == 0:
                break
            i = i + 1
        pl.write(y, [0], pl.cast(i, pl.INT32))
        """,
    ),
    "blocks_stored_directly": kernel(
        "x: <64x32 FP32>, y: Out <64x32 FP32>",
        """
        acc = pl.tile.full([64, 32], dtype=pl.FP32, value=0.0)
        for i in pl.range(0, 4):
            acc = pl.assemble(acc, pl.exp(pl.load(x, [i * 16, 0], [16, 32])), [i * 16, 0])
        y = pl.store(acc, [0, 0], y)
        """,
    ),
    "blocks_that_leave_rows_out": kernel(
        "x: <64x32 FP32>, y: Out <64x32 FP32>",
        """
        acc = pl.tile.full([64, 32], dtype=pl.FP32, value=0.0)
        for i in pl.range(0, 3):
            acc = pl.assemble(acc, pl.exp(pl.load(x, [i * 16, 0], [16, 32])), [i * 16, 0])
        y = pl.store(acc, [0, 0], y)
        """,
    ),
    "whole_tensors": kernel(
        "a: <32x64 FP32>, b: <32x64 FP32>, y: Out <32x64 FP32>",
        """
        y[:] = pl.exp(pl.add(a, b))
        y[0:16, :] = pl.neg(a[16:32, :])
        """,
    ),
    "symbols": kernel(
        "x: <R x 64 FP32, pl.TensorView(valid_shape=[LIVE, 64], layout=pl.TensorLayout.ND)>, y: Out <R x 64 FP32>",
        "y = pl.store(pl.load(x, [0, 0], [16, 64]), [0, 0], y)",
        dynamic="LIVE R",
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_types_of(name: str, snapshot: SnapshotAssertion) -> None:
    assert body(KERNELS[name], "type") == snapshot


@pytest.mark.parametrize("name", KERNELS)
def test_tile_level_of(name: str, snapshot: SnapshotAssertion) -> None:
    assert body(KERNELS[name], "legalize") == snapshot


@pytest.mark.parametrize("stage", ["type", "legalize"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_stage_s_text_parses_to_the_same_module_and_compiles_to_the_same_text(name: str, stage: str) -> None:
    stopped = module(KERNELS[name], stage)
    text = write(stopped)
    assert parse(text) == stopped
    assert lower(text, loc=False).mlir == lower(KERNELS[name], loc=False).mlir


@pytest.mark.parametrize("planner", ["dsa_rp", "ptoas"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_planner_takes_what_the_stages_give(name: str, planner: str) -> None:
    assert lower(KERNELS[name], planner=planner, loc=False).mlir.startswith("module attributes {")


def test_a_stage_with_nothing_to_do_gives_back_its_module() -> None:
    allocated = module(KERNELS["matmul"], "plan")
    again = parse(write(allocated))
    assert module(write(again), "legalize") == again


def test_pipes_get_their_slot_buffer_and_each_lane_its_branch(snapshot: SnapshotAssertion) -> None:
    source = kernel(
        "x: <32x32 FP16>",
        """
        peer = pl.import_peer_buffer(name="ring", peer_func="cube")
        pl.aiv_initialize_pipe(dir_mask=2, slot_size=2048, v2c_consumer_buf=peer)
        t = pl.load(x, [0, 0], [32, 32])
        pl.tpush_to_aic(pl.add(t, t), split=0)
        """,
        kind="AIV",
    )
    assert {t: body(source, "legalize", target=t) for t in ("a2a3", "a5")} == snapshot


SCOPES = """
import pypto.language as pl

@pl.program
class Scopes:
    @pl.function
    def host(self, x: pl.Tensor[[128, 32], pl.FP32], y: pl.Out[pl.Tensor[[128, 32], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="first"):
            y[0:16, :] = pl.exp(x[0:16, :])
        for i in pl.spmd(8):
            y[i * 16 : i * 16 + 16, :] = pl.neg(x[i * 16 : i * 16 + 16, :])
        return y
"""


def test_scopes_of_a_host_function_become_kernels(snapshot: SnapshotAssertion) -> None:
    assert write(module(SCOPES, "legalize")) == snapshot


@pytest.mark.parametrize("split", [1, 2])
def test_a_kernel_that_splits_is_divided_between_the_lanes(split: int, snapshot: SnapshotAssertion) -> None:
    source = kernel(
        "x: <32x32 FP32>, y: Out <32x32 FP32>",
        f"""
        ring = pl.reserve_buffer(name="ring", size=32768, base=0)
        pl.aiv_initialize_pipe(dir_mask=1, slot_size=4096, c2v_consumer_buf=ring)
        got: pl.Tile[[32, 32], pl.FP32, pl.Mem.Vec] = pl.tpop_from_aic(split={split})
        e = pl.add(got, pl.load(x, [0, 0], [32, 32]))
        pl.tfree_to_aic(got)
        y = pl.store(e, [0, 0], y)
        """,
        kind="AIV",
    )
    assert body(source, "legalize", target="a5") == snapshot
