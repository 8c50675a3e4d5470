"""A `return` that something follows is refused: no instruction leaves a kernel early."""

from __future__ import annotations

from textwrap import indent

import pytest

from pypto_rw import CompileError, lower

HEAD = """import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[16, 64], pl.FP32], n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 64])
"""
EARLY = {
    "in a branch": ("if n > 3:\n    return\npl.store(t, [0, 0], y)\n", [9]),
    "in the other branch": ("if n > 3:\n    pl.store(t, [0, 0], y)\nelse:\n    return\npl.store(t, [0, 0], y)\n", [11]),
    "deeper": ("if n > 3:\n    if n > 4:\n        return\n    pl.store(t, [0, 0], y)\n", [10]),
    "in a loop": ("for i in pl.range(n):\n    return\n", [9]),
    "in a loop, in a branch at its end": ("for i in pl.range(n):\n    if n > 3:\n        return\n", [10]),
    "before statements": ("return\npl.store(t, [0, 0], y)\n", [8]),
    "twice": ("if n > 3:\n    return\nif n > 4:\n    return\npl.store(t, [0, 0], y)\n", [9, 11]),
}
LAST = {
    "at the end": "pl.store(t, [0, 0], y)\nreturn y\n",
    "nowhere": "pl.store(t, [0, 0], y)\n",
    "in both branches at the end": "if n > 3:\n    pl.store(t, [0, 0], y)\n    return\nelse:\n    return\n",
    "in a branch at the end, and after it": "if n > 3:\n    pl.store(t, [0, 0], y)\n    return\nreturn\n",
}


@pytest.mark.parametrize(("body", "lines"), EARLY.values(), ids=list(EARLY))
def test_early(body: str, lines: list[int]) -> None:
    with pytest.raises(CompileError) as refused:
        lower(HEAD + indent(body, " " * 8))
    told = [(d.code, d.span.line, d.message, d.help) for d in refused.value.diagnostics]
    message = "return has no instruction: what follows it in the function would run all the same"
    assert told == [("jump", k, message, "put what follows into the else of its if, or remove it") for k in lines]


@pytest.mark.parametrize("body", LAST.values(), ids=list(LAST))
def test_last(body: str) -> None:
    done = lower(HEAD + indent(body, " " * 8))
    assert done.diagnostics == ()
    assert done.mlir.count("pto.tstore ") == 1


def test_a_result_without_a_name() -> None:
    with pytest.raises(CompileError) as refused:
        lower(HEAD + "        pl.add(t, 1.0)\n        pl.load(x, [0, 0], [16, 64])\n        pl.store(t, [0, 0], y)\n")
    told = [(d.code, d.span.line, d.message, d.help) for d in refused.value.diagnostics]
    help_ = "assign it to a variable, or remove the statement"
    assert told == [
        ("unused-result", 8, "tile.adds makes a value, which this statement does not name", help_),
        ("unused-result", 9, "tile.load makes a value, which this statement does not name", help_),
    ]
