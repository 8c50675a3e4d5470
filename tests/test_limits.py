"""Numbers and programs at the edge of what can be said: refused in place, soon."""

from __future__ import annotations

import pytest

from pypto_rw import check

HEAD = """import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: {tensor}, o: pl.Out[pl.Tensor[[16, 64], pl.FP32]], s: pl.Scalar[{scalar}]):
        x = pl.load(a, [0, 0], [16, 64])
"""
STORE = "pl.store(x, [0, {}], o)"


def codes(*lines: str, tensor: str = "pl.Tensor[[16, 64], pl.FP32]", scalar: str = "pl.INDEX") -> list[tuple[str, int]]:
    text = HEAD.format(tensor=tensor, scalar=scalar) + "".join(f"        {line}\n" for line in lines)
    return [(d.code, d.span.line) for d in check(text)]


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_an_offset_outside_64_bits(number: int) -> None:
    assert codes(STORE.format(number)) == [("number-range", 8)]


def test_a_constant_that_grows_outside_64_bits() -> None:
    assert codes("m0 = 3", *(f"m{k + 1} = m{k} * m{k}" for k in range(30)), STORE.format("m30"))[0][0] == "number-range"


def test_a_tensor_larger_than_can_be_addressed() -> None:
    assert codes(STORE.format(0), tensor=f"pl.Tensor[[{2**62}, 64], pl.FP32]")[0] == ("number-range", 7)


@pytest.mark.parametrize("dtype", ["INT4", "HF4", "FP8E4M3FN"])
def test_a_scalar_the_chip_does_not_take(dtype: str) -> None:
    assert ("scalar-dtype", 6) in codes(STORE.format(0), scalar=f"pl.{dtype}")


def test_deep_loops_take_no_time() -> None:
    loops = [f"{'    ' * k}for i{k} in pl.range(2):" for k in range(18)]
    assert codes(*loops, "    " * 18 + STORE.format(0)) == []


def test_a_loop_too_long_to_unroll() -> None:
    assert codes("for i in pl.unroll(100000000):", "    " + STORE.format(0)) == [("loop-kind", 8)]
