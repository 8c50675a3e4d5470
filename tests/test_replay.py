"""Calls of one kind are decided once: what is repeated is what would have been decided anew."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import indent

import pytest

from pypto_rw import CompileError, api, lower
from pypto_rw.pipeline import STAGES
from pypto_rw.shaping import kinds
from tests.bench.kernels import KERNELS

_HERE = Path(__file__).parent
_FILES = sorted([*(_HERE / "kernels").glob("*.pyir"), *(_HERE / "memory" / "plans").glob("*.pyir")])
_HEAD = """import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: {0}, n: pl.Scalar[pl.INDEX], o: pl.Out[{0}]):
"""
# Bodies that differ in what decides; each is read after the one above it, and the other way round.
_BODIES = """
# inside
t = pl.load(x, [16, 0], [16, 64])
u = pl.add(t, t)
pl.store(u, [16, 0], o)
# elsewhere
a = pl.load(x, [32, 0], [16, 64])
b = pl.add(a, a)
pl.store(b, [48, 0], o)
# outside
t = pl.load(x, [56, 0], [16, 64])
u = pl.add(t, t)
pl.store(u, [0, 0], o)
# at run time
t = pl.load(x, [n, 0], [16, 64])
u = pl.add(t, t)
pl.store(u, [n, 0], o)
# two operands
t = pl.load(x, [0, 0], [16, 64])
v = pl.load(x, [16, 0], [16, 64])
u = pl.add(t, v)
pl.store(u, [0, 0], o)
# a constant
t = pl.load(x, [0, 0], [16, 64])
u = pl.add(t, 2)
pl.store(u, [0, 0], o)
# another constant
t = pl.load(x, [0, 0], [16, 64])
u = pl.add(t, 3)
pl.store(u, [0, 0], o)
# a float
t = pl.load(x, [0, 0], [16, 64])
u = pl.add(t, 2.0)
pl.store(u, [0, 0], o)
# a result
t = pl.load(x, [0, 0], [16, 64])
u = pl.exp(t)
o = pl.store(u, [0, 0], o)
# valid
t = pl.load(x, [0, 0], [16, 64], valid_shape=[n, 64])
u = pl.exp(t)
pl.store(u, [0, 0], o)
# valid of another name
m = n * 2
t = pl.load(x, [0, 0], [16, 64], valid_shape=[m, 64])
u = pl.exp(t)
pl.store(u, [0, 0], o)
# a loop
for i in pl.range(4):
    t = pl.load(x, [i * 16, 0], [16, 64])
    u = pl.exp(t)
    pl.store(u, [i * 16, 0], o)
# another loop
for j in pl.range(3):
    t = pl.load(x, [j * 16, 0], [16, 64])
    u = pl.exp(t)
    pl.store(u, [j * 16, 0], o)
# a branch
t = pl.load(x, [0, 0], [16, 64])
if n < 3:
    u = pl.exp(t)
else:
    u = pl.neg(t)
pl.store(u, [0, 0], o)
# a window
t = pl.load(x, [0, 0], [16, 64])
w = pl.slice(t, [8, 64], [8, 0])
u = pl.exp(w)
pl.store(u, [0, 0], o)
# another window
t = pl.load(x, [0, 0], [16, 64])
w = pl.slice(t, [8, 64], [n, 0])
u = pl.exp(w)
pl.store(u, [0, 0], o)
# nested
t = pl.load(x, [0, 0], [16, 64])
u = pl.exp(pl.add(t, t))
pl.store(u, [0, 0], o)
# names again
t = pl.load(x, [0, 0], [16, 64])
t = pl.add(t, t)
t = pl.add(t, t)
pl.store(t, [0, 0], o)
# whole tensors
u = pl.add(x, x)
v = pl.exp(u)
pl.store(v, [0, 0], o)
# a whole tile
t = pl.load(x, [0, 0], [64, 64])
u = pl.exp(t)
pl.store(u, [0, 0], o)
# tiles that stand for tensors
u = pl.add(x, x)
v = pl.exp(u)
w: pl.Tensor[[64, 64], pl.FP32] = pl.neg(v)
pl.store(w, [0, 0], o)
# valid in a loop
for i in pl.range(4):
    t = pl.load(x, [0, 0], [16, 64], valid_shape=[i, 64])
    u = pl.exp(t)
    pl.store(u, [0, 0], o)
# valid in a longer loop
for i in pl.range(40):
    t = pl.load(x, [0, 0], [16, 64], valid_shape=[i, 64])
    u = pl.exp(t)
    pl.store(u, [0, 0], o)
# valid as told
i = 16
t = pl.load(x, [0, 0], [16, 64], valid_shape=[i, 64])
u = pl.exp(t)
v = pl.neg(u)
pl.store(v, [0, 0], o)
# a tile and itself
t = pl.load(x, [0, 0], [16, 64])
a = pl.add(t, t)
u = pl.sub(a, a)
pl.store(u, [0, 0], o)
# a tile and another name of it
t = pl.load(x, [0, 0], [16, 64])
a = t
u = pl.sub(t, a)
pl.store(u, [0, 0], o)
# a tile that was written in place
t = pl.load(x, [0, 0], [16, 64])
e = pl.load(x, [0, 0], [8, 64])
a = pl.tile.assemble(t, e, [0, 0])
u = pl.sub(a, t)
pl.store(u, [0, 0], o)
# no such name
t = pl.load(x, [0, 0], [16, 64])
u = pl.add(t, s)
pl.store(u, [0, 0], o)
# written
t: pl.Tile[[16, 64], pl.FP32] = pl.load(x, [0, 0], [16, 64])
u = pl.exp(t)
pl.store(u, [0, 0], o)
# written otherwise
t: pl.Tile[[16, 32], pl.FP32] = pl.load(x, [0, 0], [16, 64])
u = pl.exp(t)
pl.store(u, [0, 0], o)
"""


def _bodies() -> dict[str, str]:
    parts = (part.partition("\n") for part in _BODIES.strip().removeprefix("# ").split("\n# "))
    return {name: body for name, _, body in parts}


def _text(body: str, rows: int = 64) -> str:
    return _HEAD.format(f"pl.Tensor[[{rows}, 64], pl.FP32]") + indent(body, " " * 8) + "\n"


def _said(text: str, planner: str) -> object:
    """All that the compiler says of a text."""
    try:
        done = lower(text, planner=planner)
        stages = [api.stop_after(text, stage=stage, planner=planner).pyir for stage in STAGES]
    except CompileError as error:
        return error.diagnostics
    return done.mlir, done.diagnostics, stages


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A process that has met no kind of call."""
    monkeypatch.setattr(api, "_engines", {})
    yield monkeypatch


def _every_call_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds.Keys, "of", lambda *_: None)


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_a_body_after_one_that_is_almost_the_same(planner: str, anew: pytest.MonkeyPatch) -> None:
    texts = [_text(body) for body in _bodies().values()]
    order = [*texts, *reversed(texts), _text(_bodies()["inside"], 32), *texts]
    repeated = [_said(text, planner) for text in order]
    _every_call_is_asked(anew)
    alone = {text: _said(text, planner) for text in order}
    assert [said for text, said in zip(order, repeated, strict=True) if said != alone[text]] == []
    assert len({repr(said) for said in alone.values()}) > len(texts) * 2 // 3


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
def test_the_kernels_of_the_tests_one_after_the_other(planner: str, anew: pytest.MonkeyPatch) -> None:
    texts = [path.read_text() for path in _FILES]
    for before, after in pairwise([*texts, *texts]):
        _said(before, planner)
        _said(after, planner)
    repeated = [_said(text, planner) for text in texts]
    _every_call_is_asked(anew)
    assert [p.name for p, t, said in zip(_FILES, texts, repeated, strict=True) if said != _said(t, planner)] == []


def test_an_op_is_told_by_its_rules(anew: pytest.MonkeyPatch) -> None:
    """What is remembered belongs to the rules and the target it was found with."""
    text = KERNELS["authored"](10)
    lower(text, target="a2a3")
    other = lower(text, target="a5").mlir
    _every_call_is_asked(anew)
    assert lower(text, target="a5").mlir == other


_ALLOCATED = """import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, x: pl.Tensor[[16, 64], pl.FP32], o: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        {0}: pl.Tile[[16, 64], pl.FP32, pl.MemRef(m, 0, 4096), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 64], [16, 64])
        {1}: pl.Tile[[16, 64], pl.FP32, pl.MemRef(m, 0, 4096), pl.Mem.Vec] = pl.tile.exp({0})
        {2}: pl.Tile[[16, 64], pl.FP32, pl.MemRef(m, 0, 4096), pl.Mem.Vec] = pl.tile.exp({1})
        pl.tile.store({2}, [0, 0], o)
"""


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_a_result_with_the_name_of_an_operand(planner: str, anew: pytest.MonkeyPatch) -> None:
    texts = [_ALLOCATED.format(*names) for names in ("xxx", "ttt", "tuv", "tut", "xtt", "txx", "otu")]
    order = [*texts, *reversed(texts), *texts]
    repeated = [_said(text, planner) for text in order]
    _every_call_is_asked(anew)
    assert repeated == [_said(text, planner) for text in order]
