"""Faults of memory planning that people reported, a kernel each; the numbers are those of tests/test_reports.py.

22: views and updates in place keep the type of their definition. 24, 39: see the kernels `views` and `merge` of
test_plans.py. 43: a kernel under each planner. 45: capacities. 46: slots of a declared allocation.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import CompileError, lower
from pypto_rw.api import verify
from pypto_rw.memory.verify import verify_plan
from tests.memory.test_refusals import RING, kernel, refusal, tile

PLANNERS = ("pypto", "dsa_rp", "ptoas")
VEC = "pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec"
LEFT, RIGHT = (f"pl.Tile[[64, 64], pl.FP16, pl.Mem.{side}]" for side in ("Left", "Right"))


def lowered(source: str, planner: str, target: str = "a2a3") -> str:
    """The text, which both verifiers accept."""
    done = lower(source, planner=planner, target=target, loc=False)
    assert done.module is not None
    assert verify_plan(done.module, planner=planner, target=target) == []
    # without addresses a fill in place keeps its source's handle: the assembler refuses it, `lower` warns
    found = verify(done.mlir, planner=planner, target=target)
    assert [d for d in found if planner != "ptoas" or d.rule != "tfillpad.pad"] == []
    return done.mlir


ALIASES = {
    "narrowed product": kernel(
        tile("a", 64, 64, space="Mat", dtype="FP16"),
        f"l: {LEFT} = pl.tile.move(a, target_memory=pl.Mem.Left)",
        f"r: {RIGHT} = pl.tile.move(a, target_memory=pl.Mem.Right)",
        "p: pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc] = pl.tile.matmul(l, r)",
        "q: pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc, pl.TileView(valid_shape=[64, n])] = "
        "pl.tile.set_validshape(p, 64, n)",
        "pl.tile.store(q, [0, 0], o)",
        kind="AIC",
        shape="[64, 64], pl.FP16",
    ),
    "window, reshaped, cast": kernel(
        tile("a", 64, 64),
        f"b: {VEC}] = pl.tile.slice(a, [32, 64], [32, 0])",
        "c: pl.Tile[[16, 128], pl.FP32, pl.Mem.Vec] = pl.tile.reshape(b, [16, 128])",
        "d: pl.Tile[[16, 128], pl.FP16, pl.Mem.Vec] = pl.tile.cast(c, target_type=pl.FP16, mode='round')",
        "e: pl.Tile[[16, 128], pl.FP32, pl.Mem.Vec] = pl.tile.cast(d, target_type=pl.FP32, mode='round')",
        "pl.tile.store(e, [0, 0], o)",
    ),
    "padded in place": kernel(
        tile("a", 32, 64),
        f"b: {VEC}, pl.TileView(pad=pl.PadValue.zero)] = pl.tile.fillpad_inplace(a, pad_value=pl.PadValue.zero)",
        "pl.tile.store(b, [0, 0], o)",
    ),
}


# without addresses the padded tile has the handle, and so the pad, of the tile it is padded in: ptoas refuses that
@pytest.mark.parametrize(
    ("name", "planner"), [(n, p) for n in ALIASES for p in PLANNERS if (n, p) != ("padded in place", "ptoas")]
)
def test_22_planned_aliases(name: str, planner: str, snapshot: SnapshotAssertion) -> None:
    assert lowered(ALIASES[name], planner) == snapshot


@pytest.mark.parametrize("planner", PLANNERS)
def test_43_one_kernel_under_each_planner(planner: str, snapshot: SnapshotAssertion) -> None:
    source = kernel(
        "s: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='slots', size=4096, base=-1)",
        tile("a", 32, 64),
        f"b: {VEC}] = a",
        f"c: {VEC}] = pl.tile.exp(b)",
        f"d: {VEC}] = pl.tile.add(c, a)",
        "pl.tile.store(d, [0, 0], o)",
    )
    assert lowered(source, planner) == snapshot


def test_45_the_top_of_vec_is_not_usable(snapshot: SnapshotAssertion) -> None:
    """186 KiB fit the memory of a2a3, but not what a kernel may use of it."""
    source = kernel(tile("a", 744, 64), "pl.tile.store(a, [0, 0], o)", shape="[744, 64], pl.FP32")
    assert refusal(source, "pypto") == snapshot
    for planner in PLANNERS:
        assert lowered(source, planner, "a5")
    fits = kernel(tile("a", 736, 64), "pl.tile.store(a, [0, 0], o)", shape="[736, 64], pl.FP32")
    assert lowered(fits, "pypto")


def test_45_one_operand_larger_than_its_memory(snapshot: SnapshotAssertion) -> None:
    source = kernel(
        tile("m", 256, 256, space="Mat", dtype="FP16"),
        "r: pl.Tile[[256, 256], pl.FP16, pl.Mem.Right] = pl.tile.move(m, target_memory=pl.Mem.Right)",
        kind="AIC",
        shape="[256, 256], pl.FP16",
    )
    assert refusal(source, "pypto") == snapshot


def _ring(index: str, name: str, depth: int = 0) -> str:
    return "    " * depth + tile(name, 32, 64, RING.format(n=2, i=index))


SUM = f"c: {VEC}] = pl.tile.add(a, b)"
SLOTS = {
    "a slot an iteration": kernel(
        "for i in pl.range(0, n, 1):", _ring("i % 2", "a", 1), "    pl.tile.store(a, [0, 0], o)"
    ),
    "in steps of two": kernel(
        "for i in pl.range(0, n, 2):", _ring("i // 2 % 2", "a", 1), "    pl.tile.store(a, [0, 0], o)"
    ),
    "two on a straight line": kernel(_ring("0", "a"), _ring("1", "b"), SUM, "pl.tile.store(c, [0, 0], o)"),
    "two in one iteration": kernel(
        "for i in pl.range(0, n, 1):",
        _ring("0", "a", 1),
        _ring("1", "b", 1),
        f"    {SUM}",
        "    pl.tile.store(c, [0, 0], o)",
    ),
}


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", SLOTS)
def test_46_slots(name: str, planner: str, snapshot: SnapshotAssertion) -> None:
    if (name, planner) == ("two in one iteration", "ptoas"):
        assert refusal(SLOTS[name], planner) == snapshot
        return
    assert lowered(SLOTS[name], planner) == snapshot


def test_45_every_planner_that_places_refuses_alike() -> None:
    source = kernel(tile("a", 744, 64), "pl.tile.store(a, [0, 0], o)", shape="[744, 64], pl.FP32")
    for planner in ("pypto", "dsa_rp"):
        with pytest.raises(CompileError) as caught:
            lower(source, planner=planner)
        assert [(d.code, d.span.line) for d in caught.value.diagnostics] == [("memory-capacity", 7)]
