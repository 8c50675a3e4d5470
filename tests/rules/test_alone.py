"""What the rules say of a statement does not depend on which statements they were asked about before."""

from __future__ import annotations

import pytest

from pypto_rw import api
from pypto_rw.rewriting import egraph
from tests.conftest import ROOT
from tests.front.authored import kernel


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known from other tests or processes."""
    monkeypatch.setenv("PYPTO_RW_CACHE", "")
    monkeypatch.setattr(api, "_engines", {})


_MADE_WITH_CASTS_AND_MOVES = """\
t = pl.load(x, [0, 0], [16, 64])
u = pl.cast(t, pl.INT8, mode="round")
v = pl.cast(pl.cast(u, pl.FP16, mode="round"), pl.FP32, mode="round")
w = pl.row_sum(v, pl.create_tile([16, 64], pl.FP32))
a = pl.add(w, w)
b = pl.row_expand_mul(v, a)
pl.store(pl.exp(b), [0, 0], y)"""


def _legal() -> dict[str, str]:
    kernels = {k.name: k.read_text() for k in sorted((ROOT / "tests" / "kernels").glob("*.pyir"))}
    kernels["authored"] = kernel("x: <16x64 FP16>, y: Out <16x64 FP32>", _MADE_WITH_CASTS_AND_MOVES)
    return {name: api.stop_after(text, stage="legalize").pyir for name, text in kernels.items()}


def test_one_at_a_time_and_together_give_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    together = _legal()
    api._engines.clear()
    monkeypatch.setattr(egraph, "_TOGETHER", 1)
    assert _legal() == together
