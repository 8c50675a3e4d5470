"""Whole texts of authored kernels, one for each form of the language that the front stages work out."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import lower
from tests.front.authored import kernel

FORMS = {
    "tiles_called_tensors": kernel(
        "x: <16x64 FP32>, y: Out <16x64 FP32>",
        """
        s: pl.Tensor[[16, 64], pl.FP32] = pl.tensor.muls(x, 0.5)
        t: pl.Tensor[[16, 64], pl.FP32] = pl.exp(s)
        pl.store(t, [0, 0], y)
        """,
    ),
    "sine": kernel("x: <16x1 FP32>, y: Out <16x1 FP32>", "pl.store(pl.sin(pl.load(x, [0, 0], [16, 1])), [0, 0], y)"),
}


@pytest.mark.parametrize("name", FORMS)
def test_text_of(name: str, snapshot: SnapshotAssertion) -> None:
    assert lower(FORMS[name], filename="kernel.pyir", loc=False).mlir == snapshot
