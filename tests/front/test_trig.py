"""Sine and cosine as the ops that stand for them: evaluated in single precision, they are what they say."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import pytest

from pypto_rw import ir
from tests.front.authored import kernel, module

ANGLES = [k * 0.37 - 60 for k in range(330)] + [0.0, math.pi / 2, math.pi, -math.pi, 1e-6, 800.5]


def single(value: float) -> float:
    """The nearest single-precision number."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def away_from_zero(value: float) -> float:
    return math.copysign(math.floor(abs(value) + 0.5), value)


ROUND: dict[str, Callable[[float], float]] = {
    "round": away_from_zero,
    "rint": round,
    "floor": math.floor,
    "none": float,
}


def value_of(function: ir.Function, start: float) -> float:
    """The last tile that the function computes, where every element that it loads is `start`."""
    known: dict[str, float] = {}
    last = ""
    for stmt in function.body:
        call = stmt.value if isinstance(stmt, ir.Assign) else None
        if not isinstance(stmt, ir.Assign) or not isinstance(call, ir.Call) or call.callee == "tile.store":
            continue
        numbers = [known[a.id] if isinstance(a, ir.Name) and a.id in known else a for a in call.args]
        a, b = (n.value if isinstance(n, ir.Float) else n for n in (numbers[0], numbers[-1]))
        match call.callee:
            case "tile.load":
                found = start
            case "tile.cast":
                words = dict(call.kwargs)
                mode = words.get("mode", ir.Str("round"))
                found = single(ROUND[mode.value](a)) if isinstance(mode, ir.Str) and isinstance(a, float) else math.nan
            case op:
                assert isinstance(a, float) and isinstance(b, float)
                two = {"add": a + b, "sub": a - b, "mul": a * b}
                found = single(two[op.removeprefix("tile.").removesuffix("s")])
        last = stmt.targets[0]
        known[last] = found
    return known[last]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_the_expansion_computes_the_function(name: str) -> None:
    text = f"t = pl.load(x, [0, 0], [16, 64])\npl.store(pl.{name}(t), [0, 0], y)"
    function = module(kernel("x: <16x64 FP32>, y: Out <16x64 FP32>", text), "legalize").functions[0]
    for angle in map(single, ANGLES):
        assert value_of(function, angle) == pytest.approx(getattr(math, name)(angle), abs=2e-6), angle
