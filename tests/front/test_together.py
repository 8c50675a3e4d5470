"""Many new questions of one kernel are asked together: what comes out is what comes out of asking one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pypto_rw import CompileError, api, lower
from pypto_rw.diagnostics import InternalError
from pypto_rw.rewriting import engine
from pypto_rw.rewriting.egraph import EGraph
from tests.bench.kernels import KERNELS

HEAD = """
import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[999, 999], pl.FP32], o: pl.Out[pl.Tensor[[999, 999], pl.FP32]], n: pl.Scalar[pl.INDEX]):
"""
SIZES = [(8 * k, 8 * (k + 1)) for k in range(1, 14)]


def lines(indent: str, first: int = 0) -> str:
    """Loads, sums, products and stores of many sizes."""
    text = ""
    for k, (rows, cols) in enumerate(SIZES, first):
        text += (
            f"{indent}t{k} = pl.load(x, [0, 0], [{rows}, {cols}])\n{indent}u{k} = pl.mul(pl.add(t{k}, t{k}), 2.0)\n"
            f"{indent}pl.store(u{k}, [0, 0], o)\n"
        )
    return text


LOOP = "        for i in pl.range(0, n, 1):\n"
BRANCH = "        if n > 3:\n" + lines(" " * 12) + "        else:\n" + lines(" " * 12, 20)
SOURCES = {
    "one after the other": KERNELS["various"](60),
    "in a loop": HEAD + LOOP + lines(" " * 12),
    "in branches": HEAD + BRANCH,
    "with faults": HEAD
    + lines(" " * 8).replace("pl.mul(pl.add(t3, t3)", "pl.mul(pl.add(t3, t4)").replace("t7 = pl.load", "t7 = pl.lod")
    + "        pl.store(t9, [990, 0], o)\n",
}


@pytest.fixture(autouse=True)
def _new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTO_RW_CACHE", "")
    monkeypatch.setattr(api, "_engines", {})


def said(source: str) -> str:
    """The text, or the refusals, of a process that knows nothing."""
    api._engines.clear()
    try:
        return lower(source).mlir
    except CompileError as error:
        return str(error)


@pytest.mark.parametrize("name", SOURCES)
def test_together_as_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    plain = EGraph.ask

    def ask(self: EGraph, types: Sequence[str], shapes: Sequence[str]) -> Any:
        sizes.append(len(shapes))
        return plain(self, types, shapes)

    monkeypatch.setattr(EGraph, "ask", ask)
    together = said(SOURCES[name])
    assert max(sizes) > 8
    assert ("error" in together) == (name == "with faults")
    monkeypatch.setattr(engine, "_FEW", 10_000)
    sizes.clear()
    assert said(SOURCES[name]) == together
    assert max(sizes) == 1


def test_a_question_that_cannot_be_asked_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails without the other answers is asked again with them."""
    expected = said(SOURCES["in a loop"])
    plain = EGraph.ask

    def ask(self: EGraph, types: Sequence[str], shapes: Sequence[str]) -> Any:
        if len(shapes) > 1:
            raise InternalError("the rules failed")
        return plain(self, types, shapes)

    monkeypatch.setattr(EGraph, "ask", ask)
    assert said(SOURCES["in a loop"]) == expected
