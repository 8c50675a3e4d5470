"""The twenty most common mistakes in kernels: what each message says, all of them in one snapshot.

Each names the file, the line, what was found, what is needed, and the way out."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import check
from pypto_rw.diagnostics import render
from tests.rulelines import without_rule_lines

T = "pl.Tensor[[16, 64], pl.FP32]"
LOAD = "t = pl.load(x, [0, 0], [16, 64])"
STORE = "pl.store(s, [0, 0], y)"


def kernel(*body: str, parameters: str = f"x: {T}, y: pl.Out[{T}]", kind: str = "InCore") -> str:
    """A kernel as a person writes it."""
    lines = "\n".join(f"        {line}" for statement in body for line in statement.split("\n"))
    return (
        "import pypto.language as pl\n\n@pl.program\nclass Kernels:\n"
        f"    @pl.function(type=pl.FunctionType.{kind})\n    def kernel(self, {parameters}):\n{lines}\n"
    )


INTEGERS = "x: pl.Tensor[[16, 64], pl.INT32], y: pl.Out[pl.Tensor[[16, 64], pl.INT32]]"
BIG = "x: pl.Tensor[[1024, 64], pl.FP32], y: pl.Out[pl.Tensor[[1024, 64], pl.FP32]]"
CUBE = "a: pl.Tensor[[16, 64], pl.FP16], b: pl.Tensor[[64, 16], pl.FP16], y: pl.Out[pl.Tensor[[16, 16], pl.FP32]]"
COLUMN = (LOAD, "tmp = pl.create_tile([16, 64], dtype=pl.FP32)", "c = pl.row_max(t, tmp)")
COUNTED = f"x: {T}, n: pl.Scalar[pl.INDEX], y: pl.Out[{T}]"
MISTAKES = {
    "a name that is not defined": kernel(LOAD, "s = pl.mul(t, scale)", STORE),
    "a tile used before it is made": kernel("s = pl.mul(t, 2.0)", LOAD, STORE),
    "a typo of an op": kernel(LOAD, "s = pl.rsqr(t)", STORE),
    "an operand too few": kernel(LOAD, "s = pl.maximum(t)", STORE),
    "an operand too many": kernel(LOAD, "s = pl.exp(t, t, t)", STORE),
    "a keyword that the op does not have": kernel(LOAD, "s = pl.exp(t, precise=True)", STORE),
    "two dtypes": kernel(
        LOAD,
        "u = pl.load(h, [0, 0], [16, 64])",
        "s = pl.add(t, u)",
        STORE,
        parameters=f"x: {T}, h: pl.Tensor[[16, 64], pl.FP16], y: pl.Out[{T}]",
    ),
    "two shapes": kernel(LOAD, "u = pl.load(x, [0, 0], [8, 64])", "s = pl.add(t, u)", STORE),
    "a tensor where a tile is due": kernel(LOAD, "s = pl.add(t, x)", STORE),
    "a store of another dtype": kernel(LOAD, "s = pl.cast(t, pl.FP16)", STORE),
    "a load past the end": kernel("s = pl.load(x, [8, 0], [16, 64])", STORE),
    "a slice past the end": kernel(LOAD, "s = pl.slice(t, [16, 64], [0, 8])", STORE),
    "an offset too few": kernel("s = pl.load(x, [0], [16, 64])", STORE),
    "rows of no whole 32 bytes": kernel("s = pl.load(x, [0, 0], [16, 5])", STORE),
    "more than the memory holds": kernel(
        "t = pl.load(x, [0, 0], [512, 64])",
        "u = pl.load(x, [512, 0], [512, 64])",
        "s = pl.add(t, u)",
        STORE,
        parameters=BIG,
    ),
    "boxes that are not whole": kernel(
        "m = pl.load(x, [0, 0], [100, 128], target_memory=pl.Mem.Mat)",
        parameters="x: pl.Tensor[[100, 128], pl.FP16]",
        kind="AIC",
    ),
    "an operand in another memory": kernel(
        "l: pl.Tile[[16, 64], pl.FP16, pl.Mem.Vec] = pl.tile.load(a, [0, 0], [16, 64])",
        "r: pl.Tile[[64, 16], pl.FP16, pl.Mem.Vec] = pl.tile.load(b, [0, 0], [64, 16])",
        "s: pl.Tile[[16, 16], pl.FP32, pl.Mem.Acc] = pl.tile.matmul(l, r)",
        "pl.tile.store(s, [0, 0], y)",
        parameters=CUBE,
        kind="AIC",
    ),
    "a memory that there is not": kernel("s = pl.load(x, [0, 0], [16, 64], target_memory=pl.Mem.L1)", STORE),
    "an annotation that is not true": kernel(LOAD, "s: pl.Tile[[16, 32], pl.FP32] = pl.exp(t)", STORE),
    "an operator beside a tile": kernel(LOAD, "s = t + 1.0", STORE),
    "a float for a tile of integers": kernel(LOAD, "s = pl.add(t, 1.5)", STORE, parameters=INTEGERS),
    "a loop that does not yield": kernel(
        LOAD, "for i, (acc,) in pl.range(4, init_values=(t,)):\n    u = pl.add(acc, t)", "pl.store(t, [0, 0], y)"
    ),
    "a carry that changes its type": kernel(
        LOAD,
        "for i, (acc,) in pl.range(4, init_values=(t,)):\n    u = pl.cast(acc, pl.FP16)\n    s = pl.yield_(u)",
        STORE,
    ),
    "a number where a condition is due": kernel(LOAD, "s = t\nif n:\n    s = pl.exp(t)", STORE, parameters=COUNTED),
    "an index beside a tile": kernel(LOAD, "s = pl.mul(t, n)", STORE, parameters=COUNTED),
    "a break": kernel(LOAD, "for i in pl.range(4):\n    break", "pl.store(t, [0, 0], y)"),
    "an import under another name": kernel(LOAD, "pl.store(t, [0, 0], y)").replace("as pl", "as lang", 1),
    "no decorator": re.sub(r"    @pl\.function.*\n", "", kernel(LOAD, "pl.store(t, [0, 0], y)")),
    "a parameter without a type": kernel(LOAD, "pl.store(t, [0, 0], y)", parameters=f"x, y: pl.Out[{T}]"),
    "a column made row-major": kernel(
        *COLUMN, "m = pl.full([16, 1], dtype=pl.FP32, value=0.0)", "s = pl.maximum(m, c)"
    ),
    "a column and a row": kernel(*COLUMN, "r = pl.full([1, 16], dtype=pl.FP32, value=0.0)", "s = pl.add(c, r)"),
    "a column and a longer row": kernel(*COLUMN, "r = pl.full([1, 64], dtype=pl.FP32, value=0.0)", "s = pl.mul(c, r)"),
    "a product of tiles in the wrong memory": kernel(
        "l = pl.load(a, [0, 0], [16, 64])",
        "s = pl.matmul(l, pl.load(b, [0, 0], [64, 16]))",
        "pl.store(s, [0, 0], y)",
        parameters=CUBE,
        kind="AIC",
    ),
    "a vector op of a tile in the wrong memory": kernel(
        "t = pl.load(x, [0, 0], [16, 64], target_memory=pl.Mem.Mat)", "s = pl.exp(t)", STORE
    ),
    "a layout without strides": kernel(
        LOAD, "pl.store(t, [0, 0], y)", parameters=f"x: pl.Tensor[[16, 64], pl.FP32, pl.DN], y: pl.Out[{T}]"
    ),
    "a subscript of a tile": kernel(LOAD, "s = t[0:16, 0:32]", "a = t[2, 3]", "pl.store(t, [0, 0], y)"),
    "a subscript that is written to": kernel(
        LOAD, "u = pl.load(x, [0, 0], [8, 64])", "t[0:8, :] = u", "pl.store(t, [0, 0], y)"
    ),
    "an element that is written to": kernel(LOAD, "t[0, 1] = 2.0", "pl.store(t, [0, 0], y)"),
    "what other libraries have": kernel(
        LOAD,
        "a = pl.zeros([16, 64], dtype=pl.FP32)",
        "b = pl.where(t, t, t)",
        "c = pl.sum(t)",
        "d = pl.max(t)",
        "e = pl.max(t, t)",
        "f = pl.qqqqqq(t)",
    ),
    "a call of another function": kernel(LOAD, "s = self.row(t)", STORE),
    "short names beside allocations": kernel(
        "buf: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)",
        "t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(buf, 0, 4096), pl.Mem.Vec] = pl.load(x, [0, 0], [16, 64])",
        "pl.tile.store(t, [0, 0], y)",
    ),
    "bits of integers and a scalar": kernel(
        LOAD,
        "tmp = pl.create_tile([16, 64], dtype=pl.INT32)",
        "a = pl.and_(t, 255)",
        "b = pl.or_(t, 255)",
        "s = pl.xor(t, 255, tmp)",
        STORE,
        parameters=INTEGERS,
    ),
    "bytes as floats": kernel(
        LOAD, "s = pl.cast(t, pl.FP32)", STORE, parameters=f"x: pl.Tensor[[16, 64], pl.INT8], y: pl.Out[{T}]"
    ),
    "bytes as wider unsigned integers": kernel(
        LOAD, "s = pl.cast(t, pl.UINT16)", parameters=f"x: pl.Tensor[[16, 64], pl.UINT8], y: pl.Out[{T}]"
    ),
    "a comparison by name": kernel(LOAD, "a = pl.cmp(t, t, cmp_type='gt')", "b = pl.cmp(t, 0.0, cmp_type='gt')"),
    "a negative extent": kernel(
        LOAD, "pl.store(t, [0, 0], y)", parameters=f"x: pl.Tensor[[-64, 64], pl.FP32], y: pl.Out[{T}]"
    ),
    "a negative extent of a planned kernel": kernel(
        "buf: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)",
        "t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(buf, 0, 4096), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 64])",
        "pl.tile.store(t, [0, 0], y)",
        parameters=f"x: pl.Tensor[[64, -64], pl.FP32], y: pl.Out[{T}]",
        kind="AIV",
    ),
    "what lower has printed": 'module attributes {pto.target_arch = "a3"} {\n  func.func @kernel() {\n  }\n}\n',
    "what lower has printed, after a comment": "// printed\n\nmodule {\n}\n",
    "a name of one branch": kernel(LOAD, "if n > 2:\n    s = pl.exp(t)", STORE, parameters=COUNTED),
    "a name of a loop": kernel(LOAD, "for i in pl.range(4):\n    s = pl.exp(t)", STORE),
    "two shapes in two branches": kernel(
        LOAD, "s = t", "if n > 2:\n    s = pl.load(x, [0, 0], [8, 64])", STORE, parameters=COUNTED
    ),
    "two dtypes in two branches": kernel(
        LOAD, "if n > 2:\n    s = pl.exp(t)\nelse:\n    s = pl.cast(t, pl.FP16)", STORE, parameters=COUNTED
    ),
    "two kinds in two branches": kernel(
        LOAD, "if n > 2:\n    s = pl.exp(t)\nelse:\n    s = 2.0", STORE, parameters=COUNTED
    ),
    "a scalar before a tile": kernel(
        LOAD, "a = pl.sub(1.0, t)", "b = pl.div(2.0, t)", "c = pl.mul(2.0, pl.exp(t))", "d = pl.cmp(0.0, t, cmp_type=2)"
    ),
    "a scalar before a tile of integers": kernel(
        LOAD, "a = pl.div(2, t)", "b = pl.shl(1, t)", "c = pl.and_(1, t)", parameters=INTEGERS
    ),
    "a bracket that is not closed": kernel("t = pl.load(x, [0, 0], [16, 64]", "pl.store(t, [0, 0], y)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_of(mistake: str, snapshot: SnapshotAssertion) -> None:
    source = MISTAKES[mistake]
    found = check(source, filename="kernel.pyir")
    assert found
    for d in found:
        assert d.filename == "kernel.pyir" and d.span and d.help
        assert d.span.line <= len(source.splitlines())
    assert without_rule_lines(render(found, source)) == snapshot


def test_there_are_twenty_and_more() -> None:
    assert len(MISTAKES) > 20
