"""Forms that real programs have and the language description passes over: each is read, printed again, and lowered.

`FORMS` lower, in both modes and with a text that verifies; `REFUSED` are refused by name."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import lower, verify
from pypto_rw.syntax import parse, write
from tests.shorthand import function, kernel, program, refusal

X = "x: <16x64 FP32>"
CELLS = "bell: pld.DistributedTensor[[4, 1], pl.INT32]"
CONTEXT = "bell_ctx: pld.CommCtxType"
WAIT = "pld.system.wait(bell, [0, 0], 1, cmp=1)"
TILE = "a: Vec 4096\nt: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])"
VIEW = "pl.TensorView(stride=[1, 1], layout=pl.TensorLayout.ND)"
SLOT = "pl.Tile[[16, 64], pl.FP32, pl.MemRef(r, pl.const(0, pl.INT64), 4096, slots=2), pl.Mem.Vec]"
PEERS = "w: pld.DistributedTensor[[16, 64], pl.FP32], w_ctx: pld.CommCtxType, peer: pl.Scalar[pl.INT32]"

FORMS = {
    "core of an event": kernel(
        "g: <256 INT64>, e: pl.Scalar[pl.INDEX]",
        """
pl.system.set_ffts(g)
pl.system.sync_set(e, pipe=pl.PipeType.MTE3, core_type='aiv')
pl.system.sync_wait(pipe=pl.PipeType.MTE2, event_id=3, core_type='aic')""",
        "InCore",
    ),
    "effect with a name": kernel(
        f"{CELLS}, {CONTEXT}", f"seen: pl.UnknownType = {WAIT}\nseen_1: pl.UnknownType = {WAIT}"
    ),
    "symbol of window types alone": kernel(
        f"bell: pld.DistributedTensor[[RANKS * 2, 1], pl.INT32], {CONTEXT}",
        "n: pl.Scalar[pl.INDEX] = pl.tensor.dim(bell, 0)\n" + WAIT,
    ),
    "pipeline membership": kernel(X, TILE.replace("[16, 64])", '[16, 64], attrs={"pipeline_membership": "0:0;1:0"})')),
    "offset as a bare integer": kernel(
        X,
        """
a: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
t: pl.Tile[[8, 64], pl.FP32, pl.MemRef(a, 2048, 2048), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [8, 64])
u: pl.Tile[[8, 64], pl.FP32, pl.MemRef(a, pl.const(2048, pl.INT64), 2048), pl.Mem.Vec] = pl.tile.abs(t)""",
    ),
    "orchestration marks": program(function(X, TILE, attributes='"windowize": True')),
    "hand-built unit": kernel(X, TILE, "InCore, level=pl.Level.CHIP_DIE, role=pl.Role.SubWorker"),
    "load of three operands": kernel(
        "x: <16x64 FP32>",
        "a: Vec 4096\nt: <16x64 FP32 a, valid_shape=[10, 64]> = pl.tile.load(x, [0, 0], [16, 64])",
    ),
    "view with a valid shape": kernel(
        PEERS,
        """
a: Vec 4096
v = pl.tensor.view(w, [8, 128], [4, 100])
t: <8x128 FP32 a, valid_shape=[4, 100]> = pld.tile.remote_load(v, peer, [0, 0], [8, 128])""",
    ),
    "view without strides": kernel(
        PEERS,
        """
a: Vec 4096
v: pld.DistributedTensor[[8, 128], pl.FP32] = pl.tensor.view(w, [8, 128])
t: <8x128 FP32 a> = pld.tile.remote_load(v, peer, [0, 0], [8, 128])""",
    ),
    "column with a view of its own": kernel(
        f"bell: pld.DistributedTensor[[4, 1], pl.INT32, {VIEW}], {CONTEXT}",
        "pld.system.notify(bell, 1, [2, 0], 1, op=0)",
    ),
    "slots without an index": kernel(
        X,
        f"r: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 8192)\nt: {SLOT} = pl.tile.load(x, [0, 0], [16, 64])",
    ),
    "block of one matrix": kernel(
        "w: pld.DistributedTensor[[4, 16, 64], pl.FP32], w_ctx: pld.CommCtxType",
        """
a: Vec 4096
t: <1x16x64 FP32 a> = pld.tile.remote_load(w, 1, [2, 0, 0], [1, 16, 64])
u: <16x64 FP32 a> = pl.tile.reshape(t, [16, 64])""",
    ),
    "context that is asked for": kernel(
        f"{CELLS}, {CONTEXT}",
        """
c: pld.CommCtxType = pld.system.get_comm_ctx(bell)
d: pld.CommCtxType = c
n: pl.Scalar[pl.INT32] = pld.system.nranks(d)
pld.system.wait(bell, [n, 0], 1, cmp=1)""",
    ),
    "handles of a prefetch": kernel(
        f"q: <1x4096 BF16>, {CELLS}, {CONTEXT}",
        """
c: pl.PrefetchAsyncContext = pl.prefetch.make_context()
e: pl.AsyncEvent = pl.prefetch.async_prefetch(q, c)
s: pl.AsyncSession = pl.prefetch.session(c)
d: pl.Scalar[pl.BOOL] = pl.prefetch.wait(e, s)
b: pl.Scalar[pl.INDEX] = pl.tile.get_block_idx()
pld.system.wait(bell, [b, 0], 1, cmp=1)""",
    ),
}


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS.keys())
def test_the_form_is_read_and_printed(source: str) -> None:
    module = parse(source)
    assert parse(write(module)) == module


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS.keys())
def test_the_form_lowers(source: str, snapshot: SnapshotAssertion) -> None:
    text = lower(source, filename="kernel.pyir", loc=False).mlir
    assert verify(text) == []
    assert text == snapshot


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS.keys())
def test_the_printed_form_lowers_to_the_same(source: str) -> None:
    again = write(parse(source))
    assert lower(again, loc=False).mlir == lower(source, loc=False).mlir


REFUSED = {
    "tensor made in a kernel": kernel(
        X, "y: <16x64 FP32> = pl.tensor.create([16, 64], dtype=pl.FP32, layout=pl.TensorLayout.ND)"
    ),
    "call of another function": kernel(X, 'self.f(x, attrs={"arg_directions": [pl.adir.input]})'),
    "tuple of another function": kernel(
        X, "q: pl.Tuple[pl.Scalar[pl.INT32], pl.Scalar[pl.INT32]] = self.f(x)\nn: pl.Scalar[pl.INT32] = q[0]"
    ),
    "function without a kind": kernel(X, TILE).replace("(type=pl.FunctionType.AIV)", ""),
    "store of a tile of rank 1": kernel(
        "x: <64 FP32>",
        """
a: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 256)
t: pl.Tile[[64], pl.FP32, pl.MemRef(a, pl.const(0, pl.INT64), 256), pl.Mem.Vec] = pl.tile.load(x, [0], [64])
pl.tile.store(t, [0], x)""",
    ),
    "pop with a truth value": kernel(
        "b: pl.Scalar[pl.BOOL]",
        "c: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[b, 16])] = pl.tile.tpop_from_aic(split=0)",
    ),
    "tile of blocks": kernel(
        "x: <2x16x32 FP32>",
        """
a: Mat 4096
t: <2x16x32 FP32 a> = pl.tile.load(x, [0, 0, 0], [2, 16, 32])""",
        "InCore",
    ),
    "unknown core of an event": kernel(
        "e: pl.Scalar[pl.INDEX]", "pl.system.sync_set(e, pipe=pl.PipeType.MTE3, core_type='vector')"
    ),
    "effect used as a tile": kernel(f"{CELLS}, {CONTEXT}", f"seen: pl.UnknownType = {WAIT}\ny = pl.tile.abs(seen)"),
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED.keys())
def test_the_form_is_refused(source: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(source) == snapshot


def test_slots_without_an_index_have_no_place_where_the_assembler_plans(snapshot: SnapshotAssertion) -> None:
    assert refusal(FORMS["slots without an index"], planner="ptoas") == snapshot
