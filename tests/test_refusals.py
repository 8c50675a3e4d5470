"""What a mistake in an allocated kernel says: the whole rendered error, one snapshot for each mistake."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import CompileError, check, lower
from tests.shorthand import function, kernel, program, refusal

PARAMETERS = (
    "x: <16x64 FP32>, i: <16x64 INT32>, ws: <256 INT64>, n: pl.Scalar[pl.INDEX], k: pl.Scalar[pl.INT32], "
    "y: pl.Out[<16x64 FP32>]"
)
HEAD = """
a: Vec 4096
b: Vec 4096 at 4096
c: Vec 4096 at 8192
t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
v: <16x64 INT32 b> = pl.tile.load(i, [0, 0], [16, 64])
"""

MISTAKES = {
    "tensor where a tile is due": "u: <16x64 FP32 c> = pl.tile.add(t, x)",
    "tile where a scalar is due": "u: <16x64 FP32 c> = pl.tile.adds(t, t)",
    "scalar where a tile is due": "u: <16x64 FP32 c> = pl.tile.add(t, 1.0)",
    "run-time index beside a tile": "u: <16x64 FP32 c> = pl.tile.adds(t, n)",
    "unknown op": "u: <16x64 FP32 c> = pl.tile.sqroot(t)",
    "op of tensors": "u: <16x64 FP32 c> = pl.tensor.adds(x, 1.0)",
    "undefined name": "u: <16x64 FP32 c> = pl.tile.exp(tt)",
    "name of malformed IR": "u: <16x64 FP32 c> = pl.tile.exp(t__FREE_VAR)",
    "missing operand": "u: <16x64 FP32 c> = pl.tile.add(t)",
    "too many operands": "u: <16x64 FP32 c> = pl.tile.exp(t, t, t)",
    "missing scratch": "u: <16x1 FP32 c> = pl.tile.row_sum(t)",
    "unknown keyword": "u: <16x64 FP32 c> = pl.tile.exp(t, fast=True)",
    "keyword of another type": "u: <16x64 FP32 c> = pl.tile.div(t, t, high_precision=3)",
    "annotated dtype": "u: <16x64 FP16 c> = pl.tile.add(t, t)",
    "annotated shape": "u: <8x64 FP32 c> = pl.tile.exp(t)",
    "compact outside the cube": "u: <16x64 FP32 c, compact=pl.CompactMode.normal> = pl.tile.exp(t)",
    "logarithm of integers": "u: <16x64 INT32 c> = pl.tile.log(v)",
    "complement of floats": "u: <16x64 FP32 c> = pl.tile.not_(t)",
    "bitwise scalar of floats": "u: <16x64 INT32 c> = pl.tile.ands(v, 1.5)",
    "division of two dtypes": "u: <16x64 FP32 c> = pl.tile.div(t, v)",
    "shapes that do not broadcast": """
w: <8x64 FP32 c> = pl.tile.create([8, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)
u: <16x64 FP32 c> = pl.tile.add(t, w)""",
    "row vector of many columns": "u: <16x64 FP32 c> = pl.tile.row_expand_mul(t, t)",
    "compare mode": "u: <16x32 UINT8 c, valid_shape=[16, 8]> = pl.tile.cmp(t, t, cmp_type=6)",
    "cast to the same dtype": "u: <16x64 FP32 c> = pl.tile.cast(t, target_type=pl.FP32, mode='rint')",
    "rounding mode": "u: <16x64 FP16 c> = pl.tile.cast(t, target_type=pl.FP16, mode='nearest')",
    "cast without a route": "u: <16x64 UINT32 c> = pl.tile.cast(t, target_type=pl.UINT32, mode='rint')",
    "saturation mode": (
        "u: <16x64 FP16 c> = pl.tile.cast(t, target_type=pl.FP16, mode='rint', saturation_mode='maybe')"
    ),
    "load past the end": "u: <16x64 FP32 c> = pl.tile.load(x, [8, 0], [16, 64])",
    "load before the start": "u: <16x64 FP32 c> = pl.tile.load(x, [-1, 0], [16, 64])",
    "one offset for two axes": "u: <16x64 FP32 c> = pl.tile.load(x, [0], [16, 64])",
    "store of another dtype": "pl.tile.store(v, [0, 0], y)",
    "slice past the end": "u: <8x64 FP32 c> = pl.tile.slice(t, [8, 64], [12, 0])",
    "reshape to fewer elements": "u: <16x32 FP32 a> = pl.tile.reshape(t, [16, 32])",
    "extents for more axes than offsets": "pl.tile.store(t, [0, 0], y, [1, 16, 64])",
    "division by zero": "u: <16x64 FP32 c> = pl.tile.load(x, [n // 0, 0], [16, 64])",
    "byte offset that is a fraction": "u: pl.Tile[[16, 64], pl.FP32, pl.MemRef(c, 1.5, 4096), pl.Mem.Vec] = "
    "pl.tile.exp(t)",
    "move onto itself": "u: <16x64 FP32 a> = pl.tile.move(t, target_memory=pl.Mem.Vec)",
    "set_validshape of a window": """
w: <8x64 FP32 c> = pl.tile.slice(t, [8, 64], [0, 0])
u: <8x64 FP32 c, valid_shape=[5, 64]> = pl.tile.set_validshape(w, 5, 64)""",
    "pad value": "u: <16x64 FP32 c> = pl.tile.fillpad(t, pad_value=pl.PadValue.null)",
    "tile without an allocation": "u: pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec] = pl.tile.exp(t)",
    "allocation without a space": (
        "u: pl.Tile[[16, 64], pl.FP32, pl.MemRef(c, pl.const(0, pl.INT64), 4096)] = pl.tile.exp(t)"
    ),
    "allocation of two arguments": "u: pl.Tile[[16, 64], pl.FP32, pl.MemRef(c, 4096), pl.Mem.Vec] = pl.tile.exp(t)",
    "slot of an allocation without slots": (
        "u: pl.Tile[[16, 64], pl.FP32, pl.MemRef(c, pl.const(0, pl.INT64), 4096)[0], pl.Mem.Vec] = pl.tile.exp(t)"
    ),
    "loop step 0": "for j in pl.range(0, n, 0):\n    pl.system.bar_v()",
    "negative loop step": "for j in pl.range(n, 0, -1):\n    pl.system.bar_v()",
    "condition of an index": "if n:\n    pl.system.bar_v()",
    "chained comparison": "if 0 < n < 3:\n    pl.system.bar_v()",
    "yields of two counts": """
if n < 3:
    w: pl.Scalar[pl.INDEX] = pl.yield_(n)
else:
    w, z = pl.yield_(n, n)""",
    "result without an else": "if n < 3:\n    w: pl.Scalar[pl.INDEX] = pl.yield_(n)",
    "carries and initial values": (
        "for j, (w,) in pl.range(4, init_values=(0, 1)):\n    z: pl.Scalar[pl.INDEX] = pl.yield_(w)"
    ),
    "carry without a yield": "for j, (w,) in pl.range(4, init_values=(0,)):\n    pl.system.bar_v()",
    "more yields than carries": "for j, (w,) in pl.range(4, init_values=(0,)):\n    z, q = pl.yield_(w, w)",
    "carry of another kind": "for j, (w,) in pl.range(4, init_values=(t,)):\n    z = pl.yield_(n)",
    "carry of another type": """
for j, (w,) in pl.range(4, init_values=(t,)):
    q: <8x64 FP32 a> = pl.tile.load(x, [0, 0], [8, 64])
    z: <8x64 FP32 a> = pl.yield_(q)
pl.tile.store(z, [0, 0], y)""",
    "branches of two kinds": "if n < 3:\n    z = pl.yield_(t)\nelse:\n    z = pl.yield_(y)",
    "branches of two dtypes": "if n < 3:\n    z = pl.yield_(k)\nelse:\n    z = pl.yield_(n)",
    "branches of two tensors": """
if n < 3:
    z: <16x64 FP32> = pl.yield_(x)
else:
    z: <16x64 FP32> = pl.yield_(y)""",
    "branches of two types": """
if n < 3:
    z: <16x64 FP32 a> = pl.yield_(t)
else:
    q: <8x64 FP32 c> = pl.tile.load(x, [0, 0], [8, 64])
    z: <16x64 FP32 a> = pl.yield_(q)
pl.tile.store(z, [0, 0], y)""",
    "tile of three axes": "u: <2x8x64 FP32 c> = pl.tile.create([2, 8, 64], dtype=pl.FP32)",
    "valid shape that is lost": """
u: <16x64 FP32 c, valid_shape=[8, 64]> = pl.tile.load(x, [0, 0], [16, 64], [8, 64])
w: <16x64 FP32 b> = pl.tile.exp(u)""",
    "loop to be unrolled": "for j in pl.unroll(4):\n    pl.system.bar_v()",
    "loop to be pipelined": "for j in pl.pipeline(4, stage=2):\n    pl.system.bar_v()",
    "break": "for j in pl.range(4):\n    break",
    "continue": "for j in pl.range(4):\n    if j < 2:\n        continue\n    pl.system.bar_v()",
    "break out of a parallel loop": "for j in pl.parallel(4):\n    break",
    "break outside a loop": "break",
    "power": "w: pl.Scalar[pl.INDEX] = n ** 2\npl.tile.store(t, [w, 0], y)",
    "float beside an integer": "w: pl.Scalar[pl.INT32] = k + 1.5\npl.tensor.write(i, [0, 0], w)",
    "float to index": "w: pl.Scalar[pl.INDEX] = pl.cast(pl.cast(k, pl.FP32), pl.INDEX)\npl.tile.store(t, [w, 0], y)",
    "reserved event": "pl.system.set_ffts(ws)\npl.system.sync_set(pipe=pl.PipeType.V, event_id=14)",
    "reserved event by position": "pl.system.set_ffts(ws)\npl.system.sync_wait(14, pipe=pl.PipeType.V)",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_refusal_of(mistake: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(kernel(PARAMETERS, HEAD + MISTAKES[mistake].strip("\n") + "\n")) == snapshot


@pytest.mark.parametrize("mistake", MISTAKES)
def test_check_and_lower_agree_on(mistake: str) -> None:
    source = kernel(PARAMETERS, HEAD + MISTAKES[mistake].strip("\n") + "\n")
    with pytest.raises(CompileError) as caught:
        lower(source, filename="kernel.pyir")
    assert check(source, filename="kernel.pyir") == caught.value.diagnostics


def test_refusal_of_100_rows_in_mat(snapshot: SnapshotAssertion) -> None:
    """The example of the rule about whole boxes: allocate 112 rows, declare 100."""
    body = """
        m: Mat 25600
        t: <100x128 FP16 m> = pl.tile.load(x, [0, 0], [100, 128], target_memory=pl.Mem.Mat)
        """
    printed = refusal(kernel("x: <100x128 FP16>", body, kind="AIC"))
    assert all(part in printed for part in ("Mat", "[100, 128]", "fp16", "16x16", "row", "100", "112", "valid_shape"))
    assert printed == snapshot


def test_112_rows_with_100_valid_pass() -> None:
    body = """
        m: Mat 28672
        t: <112x128 FP16 m, valid_shape=[100, 128]> = pl.tile.load(
            x, [0, 0], [112, 128], [100, 128], target_memory=pl.Mem.Mat)
        """
    assert check(kernel("x: <100x128 FP16>", body, kind="AIC")) == ()


@pytest.mark.parametrize(("dtype", "target"), [("INT4", "a2a3"), ("INT4", "a5"), ("FP4", "a2a3"), ("HF4", "a5")])
def test_refusal_of_four_bits(dtype: str, target: str, snapshot: SnapshotAssertion) -> None:
    body = f"""
        a: Vec 512
        t: <16x64 {dtype} a> = pl.tile.create([16, 64], dtype=pl.{dtype}, target_memory=pl.Mem.Vec)
        """
    assert refusal(kernel("n: pl.Scalar[pl.INDEX]", body), target) == snapshot


def test_refusal_of_a_cast_of_two_hops(snapshot: SnapshotAssertion) -> None:
    body = HEAD + "u: <16x64 FP16 c> = pl.tile.cast(v, target_type=pl.FP16, mode='rint')\n"
    assert refusal(kernel(PARAMETERS, body), "a5") == snapshot


def test_refusal_of_saturation_in_the_reference(snapshot: SnapshotAssertion) -> None:
    body = HEAD + "u: <16x64 FP16 c> = pl.tile.cast(t, target_type=pl.FP16, mode='rint', saturation_mode='on')\n"
    assert refusal(kernel(PARAMETERS, body), reference=True) == snapshot


def test_refusal_of_an_orchestration(snapshot: SnapshotAssertion) -> None:
    body = HEAD + "pl.tile.store(t, [0, 0], y)\n"
    assert refusal(kernel(PARAMETERS, body, kind="Orchestration")) == snapshot


@pytest.mark.parametrize(
    ("left", "right"),
    [("16x32 FP16", "64x16 FP16"), ("16x64 FP16", "64x16 BF16")],
    ids=["inner extents", "dtypes"],
)
def test_refusal_of_a_product(left: str, right: str, snapshot: SnapshotAssertion) -> None:
    shapes = [part.split(" ") for part in (left, right)]
    body = f"""
        l: Left 2048
        r: Right 2048
        c: Acc 1024
        p: <{left} l> = pl.tile.create({shape(left)}, dtype=pl.{shapes[0][1]}, target_memory=pl.Mem.Left)
        q: <{right} r> = pl.tile.create({shape(right)}, dtype=pl.{shapes[1][1]}, target_memory=pl.Mem.Right)
        o: <16x16 FP32 c> = pl.tile.matmul(p, q)
        """
    assert refusal(kernel("n: pl.Scalar[pl.INDEX]", body, kind="AIC")) == snapshot


def shape(tile: str) -> str:
    return f"[{tile.split(' ')[0].replace('x', ', ')}]"


def test_every_function_is_checked(snapshot: SnapshotAssertion) -> None:
    """Two wrong functions and a right one: both faults are reported, in the order of the text."""
    wrong = "a: Vec 4096\nt: <16x64 FP32 a> = pl.tile.load(x, [8, 0], [16, 64])\n"
    right = "a: Vec 4096\nt: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])\n"
    tensors = "x: <16x64 FP32>"
    functions = [
        function(tensors, wrong, name="first"),
        function(tensors, right, name="second"),
        function(tensors, wrong.replace("8, 0", "0, 4"), name="third"),
    ]
    assert refusal(program(*functions)) == snapshot
