"""Distributed ops on whole tensors: transfers get their stages, collectives statements, windows contexts."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import CompileError, lower, verify
from pypto_rw.distributed.composites import expanded
from pypto_rw.syntax import parse, write
from tests.shorthand import kernel, refusal

WINDOW = "w: pl.InOut[pld.DistributedTensor[[16, 64], pl.FP32]]"
BELL = "bell: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]"
PARAMETERS = f"{WINDOW}, {BELL}, x: <16x64 FP32>, peer: pl.Scalar[pl.INT32], n: pl.Scalar[pl.INDEX]"

TILE = "a: Vec 4096\nt: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])"
STAGES = "chunk_rows=4, chunk_cols=32, pipeline=True"
CALLS = {
    "put": "pld.tensor.put(w, peer, x)",
    "put in chunks": "pld.tensor.put(w, peer=peer, src=x, chunk_rows=4, chunk_cols=100)",
    "put of two stages": f"pld.tensor.put(w, peer, x, {STAGES}, atomic=pl.AtomicType.Add)",
    "put of a region": "pld.tensor.put(w, peer, x, dst_offsets=[n, 0], src_offsets=[0, 0], shape=[4, 64])",
    "put of run-time rows": "pld.tensor.put(w, peer, x, [0, 0], [0, 0], [n, 64], chunk_rows=8)",
    "get": "pld.tensor.get(x, peer, w)",
    "two gets": "pld.tensor.get(x, peer, w)\npld.tensor.get(x, peer + 1, w)",
    "remote store": f"{TILE}\npld.tensor.remote_store(t, w, peer, [0, 0])",
    "barrier": "bell = pld.tensor.barrier(bell)\ndone = pld.tensor.barrier(bell)",
    "broadcast": "v: pld.DistributedTensor[[16, 64], pl.FP32] = pld.tensor.broadcast(w, bell, root=2)",
    "allgather": "if n > 4:\n    pld.tensor.allgather(x, w, bell)\nelse:\n    pld.tensor.all_to_all(x, w, bell)",
    "reduce_scatter": "v = pld.tensor.reduce_scatter(w, bell, op=pld.ReduceOp.Sum)",
    "allreduce of one chunk": "v = pld.tensor.allreduce(w, bell, op=pld.ReduceOp.Max)",
}


@pytest.mark.parametrize("body", CALLS.values(), ids=CALLS.keys())
def test_expansion_of(body: str, snapshot: SnapshotAssertion) -> None:
    text = write(expanded(parse(kernel(PARAMETERS, body)), filename="kernel.pyir"))
    assert write(expanded(parse(text), filename="kernel.pyir")) == text
    assert text == snapshot


@pytest.mark.parametrize(("shape", "dtype"), [("1, 8192", "FP32"), ("3, 37", "FP16")])
def test_allreduce_in_chunks_and_with_a_ragged_tail(shape: str, dtype: str, snapshot: SnapshotAssertion) -> None:
    window = f"w: pl.InOut[pld.DistributedTensor[[{shape}], pl.{dtype}]]"
    source = kernel(f"{window}, {BELL}", "v = pld.tensor.allreduce(w, bell, op=pld.ReduceOp.Prod)")
    assert write(expanded(parse(source), filename="kernel.pyir")) == snapshot


RINGS = {"one chunk": ("1, 256", 2), "ragged segments": ("3, 37", 4), "two chunks": ("1, 10000", 2)}


@pytest.mark.parametrize("case", RINGS)
def test_allreduce_in_a_ring(case: str, snapshot: SnapshotAssertion) -> None:
    shape, ranks = RINGS[case]
    window = f"w: pl.InOut[pld.DistributedTensor[[{shape}], pl.FP32]]"
    bell = f"bell: pl.InOut[pld.DistributedTensor[[{2 * (ranks - 1)}, {ranks}], pl.INT32]]"
    source = kernel(f"{window}, {bell}", "v = pld.tensor.allreduce(w, bell, op=pld.ReduceOp.Sum, mode='ring')")
    assert write(expanded(parse(source), filename="kernel.pyir")) == snapshot
    assert verify(lower(source).mlir) == []


def test_a_ring_takes_fp32_only(snapshot: SnapshotAssertion) -> None:
    window = "w: pl.InOut[pld.DistributedTensor[[1, 256], pl.FP16]]"
    bell = "bell: pl.InOut[pld.DistributedTensor[[2, 2], pl.INT32]]"
    assert refusal(kernel(f"{window}, {bell}", "pld.tensor.allreduce(w, bell, mode='ring')")) == snapshot


def test_contexts_are_not_added_twice_and_keep_their_names_apart() -> None:
    source = kernel(f"{WINDOW}, w_ctx: pl.Scalar[pl.INT32], {BELL}", "pld.tensor.barrier(bell)")
    function = expanded(parse(source), filename="kernel.pyir").functions[0]
    assert [p.name for p in function.params] == ["w", "w_ctx", "bell", "w_ctx_", "bell_ctx"]
    assert expanded(parse(kernel(PARAMETERS, "pass")), filename="k").functions[0].params[-2].name == "w_ctx"


@pytest.mark.parametrize("reference", [False, True])
def test_a_barrier_lowers_with_its_marks(reference: bool, snapshot: SnapshotAssertion) -> None:
    text = lower(kernel(f"{BELL}", "pld.tensor.barrier(bell)"), loc=False, reference=reference).mlir
    assert verify(text) == []
    assert text == snapshot


def test_statements_stand_at_the_author_s_call() -> None:
    text = lower(kernel(f"{BELL}", "pld.tensor.barrier(bell)"), filename="k.pyir").mlir
    places = {line.rsplit("loc(", 1)[1] for line in text.splitlines() if " loc(" in line and "pto.comm" in line}
    assert places == {'"k.pyir":7:9)'}


MISTAKES = {
    "put into a plain tensor": "pld.tensor.put(x, peer, w)",
    "get from a plain tensor": "pld.tensor.get(w, peer=peer, src=x)",
    "region past the window": "pld.tensor.put(w, peer, x, dst_offsets=[12, 0], src_offsets=[0, 0], shape=[8, 64])",
    "run-time extent without a chunk": "pld.tensor.put(w, peer, x, [0, 0], [0, 0], [n, 64])",
    "two stages without both chunks": "pld.tensor.put(w, peer=peer, src=x, chunk_rows=4, pipeline=True)",
    "negative chunk": "pld.tensor.put(w, peer, x, chunk_rows=-1)",
    "source of unknown shape": "pld.tensor.put(w, peer, peer)",
    "missing source": "pld.tensor.put(w, peer)",
    "unknown keyword": "pld.tensor.put(w, peer, x, root=1)",
    "too many operands": "pld.tensor.barrier(bell, bell)",
    "collective without a form": "pld.tensor.all_to_all_v(x, w, bell, bell, bell)",
    "signal of a ring with too few rows": "pld.tensor.allreduce(w, bell, op=pld.ReduceOp.Sum, mode='ring')",
    "another mode": "pld.tensor.allreduce(w, bell, op=pld.ReduceOp.Sum, mode='tree')",
    "ring without a signal": "pld.tensor.allreduce(w, x, op=pld.ReduceOp.Sum, mode='ring')",
    "allreduce of integers": "pld.tensor.allreduce(bell, bell, op=pld.ReduceOp.Sum)",
    "broadcast of a plain tensor": "pld.tensor.broadcast(x, bell, root=0)",
    "target that is no name": "pld.tensor.broadcast(1, bell, root=0)",
}


@pytest.mark.parametrize("body", MISTAKES.values(), ids=MISTAKES.keys())
def test_refusal(body: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(kernel(PARAMETERS, body)) == snapshot


def test_a_broadcast_of_run_time_shape_is_refused(snapshot: SnapshotAssertion) -> None:
    source = kernel(f"w: pld.DistributedTensor[[R, 64], pl.FP32], {BELL}", "pld.tensor.broadcast(w, bell, root=0)")
    assert refusal(source) == snapshot


def test_every_refusal_of_a_unit_is_reported() -> None:
    with pytest.raises(CompileError) as caught:
        lower(kernel(PARAMETERS, f"{MISTAKES['another mode']}\n{MISTAKES['missing source']}"))
    assert [d.code for d in caught.value.diagnostics] == ["no-expansion", "operand-count"]
