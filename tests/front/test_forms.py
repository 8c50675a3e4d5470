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

# windows that are no operands: they begin inside 32 bytes, their bytes do not follow one another, or both
FORMS["windows_that_are_fetched"] = kernel(
    "x: <16x128 FP32>, g: <1x64 FP32>, n: INDEX, y: Out <16x128 FP32>",
    """
    t = pl.load(x, [0, 0], [16, 128])
    a = pl.col_expand_mul(pl.slice(t, [16, 64], [0, 64]), pl.load(g, [0, 0], [1, 64]))
    b = pl.col_expand_mul(a, pl.slice(t, [1, 64], [n, 0]))
    column = pl.slice(t, [16, 1], [0, 1])
    y = pl.store(pl.row_expand_mul(b, pl.mul(column, 0.5)), [0, 0], y)
    y = pl.store(column, [0, 127], y)
    y = pl.store(pl.exp(pl.slice(t, [8, 64], [n, n * 4])), [0, 0], y)
    y = pl.store(pl.exp(pl.slice(pl.slice(t, [16, 64], [0, 4]), [16, 8], [0, 2])), [0, 0], y)
    """,
)
# windows that are: they begin at 32 bytes, whatever n is
FORMS["windows_that_are_read_in_place"] = kernel(
    "x: <16x128 FP32>, n: INDEX, y: Out <16x128 FP32>",
    """
    t = pl.load(x, [0, 0], [16, 128])
    j = n * 16 - 8
    y = pl.store(pl.exp(pl.slice(t, [8, 64], [n, j])), [0, 0], y)
    y = pl.store(pl.exp(pl.slice(pl.slice(t, [16, 64], [0, 4]), [16, 8], [0, 4])), [0, 0], y)
    for i in pl.range(4):
        y = pl.store(pl.slice(t, [4, 128], [i * 4, 0]), [i * 4, 0], y)
    """,
)


@pytest.mark.parametrize("name", FORMS)
def test_text_of(name: str, snapshot: SnapshotAssertion) -> None:
    assert lower(FORMS[name], filename="kernel.pyir", loc=False).mlir == snapshot
