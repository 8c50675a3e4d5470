"""Some functions of a module compile to what they are in the whole module."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import lower
from pypto_rw.api import stop_after
from pypto_rw.syntax import parse

PIPES = """import pypto.language as pl


@pl.program
class Pipes:
    @pl.function(type=pl.FunctionType.AIV)
    def feeder(self, x: pl.Tensor[[32, 32], pl.FP16]):
        first = pl.import_peer_buffer(name="first", peer_func="eater")
        second = pl.import_peer_buffer(name="second", peer_func="eater")
        pl.aiv_initialize_pipe(pl.const(0, pl.INT32), first, dir_mask=2, slot_size=2048, slot_num=3, id=0)
        pl.aiv_initialize_pipe(pl.const(0, pl.INT32), second, dir_mask=2, slot_size=2048, slot_num=2, id=1)
        t = pl.load(x, [0, 0], [32, 32])
        pl.tpush_to_aic(t, split=0, id=0)
        pl.tpush_to_aic(pl.exp(t), split=0, id=1)

    @pl.function(type=pl.FunctionType.AIC)
    def eater(self, y: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        first = pl.reserve_buffer(name="first", size=6144)
        second = pl.reserve_buffer(name="second", size=4096)
        pl.aic_initialize_pipe(pl.const(0, pl.INT32), first, dir_mask=2, slot_size=2048, slot_num=3, id=0)
        pl.aic_initialize_pipe(pl.const(0, pl.INT32), second, dir_mask=2, slot_size=2048, slot_num=2, id=1)
        a: pl.Tile[[32, 32], pl.FP16, pl.Mem.Mat] = pl.tpop_from_aiv(split=0, id=0)
        b: pl.Tile[[32, 32], pl.FP16, pl.Mem.Mat] = pl.tpop_from_aiv(split=0, id=1)
        c = pl.matmul(pl.move(a, target_memory=pl.Mem.Left), pl.move(b, target_memory=pl.Mem.Right))
        pl.tfree_to_aiv(a)
        pl.tfree_to_aiv(b)
        pl.store(c, [0, 0], y)

    @pl.function(type=pl.FunctionType.AIV)
    def other(self, x: pl.Tensor[[32, 32], pl.FP32], y: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        pl.store(pl.exp(pl.load(x, [0, 0], [32, 32])), [0, 0], y)
"""


def test_text_of_the_whole_module(snapshot: SnapshotAssertion) -> None:
    assert lower(PIPES, loc=False).mlir == snapshot


@pytest.mark.parametrize("name", ["feeder", "eater", "other"])
@pytest.mark.parametrize(("target", "planner"), [("a2a3", "pypto"), ("a2a3", "ptoas"), ("a5", "dsa_rp")])
def test_a_function_alone_is_what_it_is_in_the_module(name: str, target: str, planner: str) -> None:
    whole = lower(PIPES, target=target, planner=planner, loc=False).mlir
    alone = lower(PIPES, target=target, planner=planner, loc=False, functions=[name]).mlir
    start = whole.index(f"  func.func @{name}(")
    end = whole.find("  func.func @", start + 1)
    text = whole[start : end if end > 0 else len(whole) - len("}\n")]
    assert alone == f'module attributes {{pto.target_arch = "{target}"}} {{\n{text}}}\n'


@pytest.mark.parametrize("stage", ["type", "legalize", "plan"])
def test_a_stage_gives_the_functions_asked_for(stage: str) -> None:
    part = stop_after(PIPES, stage=stage, functions=["feeder"])
    assert [f.name for f in parse(part.pyir).functions] == ["feeder"]
    whole = stop_after(PIPES, stage=stage).module
    assert part.module.functions == tuple(f for f in whole.functions if f.name == "feeder")
