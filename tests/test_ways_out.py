"""Every refusal has a way out: its own, or that of its code. Those that name a call compile."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pypto_rw import check
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.ways import WAYS
from tests.conftest import ROOT
from tests.test_kernel_mistakes import COLUMN, COUNTED, CUBE, INTEGERS, LOAD, STORE, T, kernel


def _without(path: Path) -> list[str]:
    """Codes of the refusals that a file raises without a way out."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused":
            helped = len(node.args) > 3 or any(k.arg == "help" for k in node.keywords)
            if not helped and node.args and isinstance(node.args[0], ast.Constant):
                found.append(str(node.args[0].value))
    return found


@pytest.mark.parametrize("path", sorted(p.relative_to(ROOT) for p in (ROOT / "pypto_rw").rglob("*.py")), ids=str)
def test_a_refusal_of_the_compiler(path: Path) -> None:
    assert [code for code in _without(ROOT / path) if not WAYS.get(code)] == []


def test_a_refusal_of_a_rule() -> None:
    book = Rulebook()
    bare = []
    for name in book.names():
        file = book.file(name)
        assert file is not None
        for rule in ruletext.rules(file.text):
            actions = rule.form.parts[2].parts if rule.form.head == "rule" else ()
            bare += [rule.name for a in actions if a.head == "refuse" and a.parts[-1].text == '""']
    assert bare == []


ROW = "r = pl.full([1, 16], dtype=pl.FP32, value=0.0)"
A5 = {"a scalar by a tile of integers"}
WRITTEN = {
    "a row as a column": kernel(*COLUMN, ROW, "s = pl.row_expand_add(t, pl.maximum(pl.reshape(r, [16, 1]), c))", STORE),
    "a row over a tile": kernel(
        *COLUMN,
        "r = pl.full([1, 64], dtype=pl.FP32, value=0.0)",
        "s = pl.row_expand_mul(pl.col_expand(t, r), c)",
        STORE,
    ),
    "a scalar minus a tile": kernel(LOAD, "s = pl.add(pl.neg(t), 1.0)", STORE),
    "a scalar by a tile": kernel(LOAD, "s = pl.mul(pl.recip(t), 2.0)", STORE),
    "a scalar by a tile of integers": kernel(
        LOAD, "s = pl.div(pl.full([16, 64], dtype=pl.INT32, value=2), t)", STORE, parameters=INTEGERS
    ),
    "a scalar shifted by a tile": kernel(
        LOAD, "s = pl.shl(pl.full([16, 64], dtype=pl.INT32, value=1), t)", STORE, parameters=INTEGERS
    ),
    "a product of tiles from global memory": kernel(
        "l = pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat)",
        "r = pl.load(b, [0, 0], [64, 16], target_memory=pl.Mem.Mat)",
        "s = pl.matmul(l, r)",
        STORE,
        parameters=CUBE,
        kind="AIC",
    ),
    "a vector op of a tile from global memory": kernel(
        "t = pl.load(x, [0, 0], [16, 64], target_memory=pl.Mem.Vec)", "s = pl.exp(t)", STORE
    ),
    "a name before the if": kernel(LOAD, "s = t", "if n > 2:\n    s = pl.exp(t)", STORE, parameters=COUNTED),
    "a name in both branches": kernel(
        LOAD, "if n > 2:\n    s = pl.exp(t)\nelse:\n    s = pl.neg(t)", STORE, parameters=COUNTED
    ),
    "a name before the loop": kernel(LOAD, "s = t", "for i in pl.range(4):\n    s = pl.exp(t)", STORE),
    "a tile turned": kernel(
        "t = pl.load(x, [0, 0], [64, 16])",
        "s = pl.tile.transpose_view(t)",
        STORE,
        parameters=f"x: pl.Tensor[[64, 16], pl.FP32], y: pl.Out[{T}]",
    ),
    "strides of columns": kernel(
        LOAD,
        "pl.store(t, [0, 0], y)",
        parameters="x: pl.Tensor[[16, 64], pl.FP32, pl.TensorView(stride=[1, 16], layout=pl.TensorLayout.DN)], "
        f"y: pl.Out[{T}]",
    ),
    "a window of a tile": kernel(LOAD, "s = pl.slice(t, [16, 32], [0, 0])", STORE),
    "an element of a tile": kernel(LOAD, "v = pl.read(t, [2, 3])", "s = pl.mul(t, v)", STORE),
    "a tile written over": kernel(
        LOAD, "u = pl.load(x, [0, 0], [8, 64])", "t = pl.assemble(t, u, [0, 0])", "pl.store(t, [0, 0], y)"
    ),
    "an element written over": kernel(LOAD, "pl.write(t, [0, 1], 2.0)", "pl.store(t, [0, 0], y)"),
    "zeros": kernel("s = pl.full([16, 64], dtype=pl.FP32, value=0.0)", STORE),
    "a choice": kernel(
        LOAD,
        "mask = pl.cmp(t, 0.0, cmp_type=4)",
        "tmp = pl.create_tile([16, 64], dtype=pl.FP32)",
        "s = pl.sel(mask, t, pl.neg(t), tmp)",
        STORE,
    ),
    "a sum of columns": kernel(
        LOAD, "tmp = pl.create_tile([16, 64], dtype=pl.FP32)", "s = pl.col_expand(t, pl.col_sum(t, tmp))", STORE
    ),
    "full names beside allocations": kernel(
        "buf: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)",
        "t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(buf, 0, 4096), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 64])",
        "pl.tile.store(t, [0, 0], y)",
    ),
    "bytes as floats": kernel(
        LOAD,
        "s = pl.cast(pl.cast(t, pl.FP16), pl.FP32)",
        STORE,
        parameters=f"x: pl.Tensor[[16, 64], pl.INT8], y: pl.Out[{T}]",
    ),
    "other bits of a scalar": kernel(
        LOAD,
        "tmp = pl.create_tile([16, 64], dtype=pl.INT32)",
        "bits = pl.full([16, 64], dtype=pl.INT32, value=255)",
        "s = pl.xor(pl.or_(t, bits), bits, tmp)",
        STORE,
        parameters=INTEGERS,
    ),
    "an extent that run time tells": kernel(
        LOAD, "pl.store(t, [0, 0], y)", parameters=f"x: pl.Tensor[[M, 64], pl.FP32], y: pl.Out[{T}]"
    ).replace("@pl.program", 'M = pl.dynamic("M")\n\n\n@pl.program'),
    "a comparison by number": kernel(
        LOAD,
        "tmp = pl.create_tile([16, 64], dtype=pl.FP32)",
        "s = pl.sel(pl.cmp(t, 0.0, cmp_type=4), t, t, tmp)",
        STORE,
    ),
    "bits of a scalar": kernel(
        LOAD, "s = pl.and_(t, pl.full([16, 64], dtype=pl.INT32, value=255))", STORE, parameters=INTEGERS
    ),
    "a scalar by keyword": kernel(LOAD, "s = pl.add(lhs=t, rhs=1.0)", STORE),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_a_way_out_compiles(what: str) -> None:
    assert check(WRITTEN[what], target="a5" if what in A5 else "a2a3") == ()
