"""Faults that people reported, one kernel each: the numbers are the rows of the development report list, §1.1 to §1.9.

Memory planning (22, 43 to 46) is in tests/memory/test_reports.py. What needs authored kernels is tested with those:
the typing of literals in expressions (1), result types without annotations (9, 13), slices in authored loops (16,
17), tensor-level assemble (20, 21), tensor.slice and tensor.transpose (27), the row-major repair (29), the splitting
of a mixed kernel (47), the stamping of frees (48), the binding of scales (55).
"""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import api, lower
from tests.shorthand import function, kernel, program, refusal

GM = "__gm_pipe_buffer: pl.Out[<1 FP32>]"  # where the slots of a pipe are on a2a3


def opened(core: str, way: int) -> str:
    """The statement that opens a pipe; its buffers are at fixed places. `way`: 1 cube to vector, 2 back."""
    zero = "pl.const(0, pl.INT32)"
    return f"pl.system.{core}_initialize_pipe({zero}, {zero}, dir_mask={way}, slot_size=4096)"


XY = "x: <16x64 FP32>, n: pl.Scalar[pl.INDEX], y: pl.Out[<16x64 FP32>]"


def text(source: str, target: str = "a2a3", planner: str = "pypto", reference: bool = False) -> str:
    return lower(source, filename="kernel.pyir", target=target, planner=planner, reference=reference, loc=False).mlir


def one_op(call: str, dtype: str) -> str:
    """A kernel that loads x as the tile t, makes r = call, stores r."""
    return kernel(
        f"x: <16x64 {dtype}>, n: pl.Scalar[pl.INDEX], y: pl.Out[<16x64 {dtype}>]",
        f"""
        a: Vec 4096
        b: Vec 4096 at 4096
        t: <16x64 {dtype} a> = pl.tile.load(x, [0, 0], [16, 64])
        r: <16x64 {dtype} b> = {call}
        pl.tile.store(r, [0, 0], y)
        """,
    )


# §1.1 scalars, constants, offsets


@pytest.mark.parametrize(
    ("call", "dtype", "operand"),
    [
        ("pl.tile.adds(t, 5)", "INT32", "%c5_i32"),
        ("pl.tile.ands(t, 255)", "INT32", "%c255_i32"),
        ("pl.tile.muls(t, 3)", "FP32", "3.00000000000000000e+00 : f32"),
        ("pl.tile.muls(t, 3)", "FP16", "3.00000000000000000e+00 : f16"),
        ("pl.tile.muls(t, 2.5)", "INT32", "2.50000000000000000e+00 : f32"),
        ("pl.tile.adds(t, pl.const(5, pl.INT16))", "INT32", "%c5_i16"),
    ],
)
def test_1_literal_takes_the_tile_dtype(call: str, dtype: str, operand: str, snapshot: SnapshotAssertion) -> None:
    printed = text(one_op(call, dtype))
    assert operand in printed
    assert printed == snapshot


def test_2_loop_variable_as_shift_amount(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 1024
        for i in pl.range(4):
            t: <8x64 INT16 a> = pl.tile.load(x, [0, 0], [8, 64])
            r: <8x64 INT16 a> = pl.tile.shls(t, i + 1)
            pl.tile.store(r, [0, 0], y)
        """
    assert text(kernel("x: <8x64 INT16>, y: pl.Out[<8x64 INT16>]", body)) == snapshot


def test_3_index_to_unsigned_and_back(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 256
        for i in pl.range(4):
            r: <1x64 UINT32 a> = pl.tile.ci(pl.cast(i * 64, pl.UINT32), [1, 64], dtype=pl.UINT32, descending=False)
            pl.tile.store(r, [0, pl.cast(u, pl.INDEX)], y)
        """
    assert text(kernel("y: pl.Out[<1x64 UINT32>], u: pl.Scalar[pl.UINT32]", body)) == snapshot


def test_4_one_constant_for_each_value_and_type(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 256
        b: Vec 128 at 256
        t: <1x64 FP32 a> = pl.tile.load(x, [1, 0], [1, 64])
        u: <1x64 FP32 a> = pl.tile.muls(t, 1.0)
        v: <1x64 FP16 b> = pl.tile.load(h, [1, 0], [1, 64])
        w: <1x64 FP16 b> = pl.tile.adds(v, pl.const(1.0, pl.FP16))
        k: <1x64 INT32 a> = pl.tile.full([1, 64], dtype=pl.INT32, value=1)
        pl.tensor.write(i, [0, 1], pl.const(1, pl.INT64))
        """
    tensors = "x: pl.Tensor[[M * pl.const(2, pl.INDEX), 64], pl.FP32], h: <16x64 FP16>, i: <1x64 INT64>"
    printed = text(program(function(tensors, body, dynamic="M")))
    declared = re.findall(r"^  %\w+ = arith.constant (.*)$", printed, re.M)
    assert len(declared) == len(set(declared))
    assert printed == snapshot


def test_5_flat_offset_is_made_of_instructions(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
        for i in pl.range(16):
            for j in pl.range(64):
                v: pl.Scalar[pl.FP32] = pl.tile.read(t, [i, j])
                pl.tensor.write(y, [n], v)
        """
    assert text(kernel("x: <16x64 FP32>, n: pl.Scalar[pl.INT64], y: pl.Out[<64 FP32>]", body)) == snapshot


def test_7_places_of_attributes(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        b: Vec 4096 at 4096
        c: Vec 256 at 8192
        m: Vec 512 at 8448
        d: Vec 1024 at 12288
        e: Vec 1024 at 16384
        t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
        i: <1x64 INT32 c> = pl.tile.ci(pl.const(3, pl.INT32), [1, 64], dtype=pl.INT32, descending=True)
        k: <16x32 UINT8 m, valid_shape=[16, 8]> = pl.tile.cmps(t, 0.0, cmp_type=5)
        h: <16x64 INT32 b> = pl.tile.cast(t, target_type=pl.INT32, mode='floor')
        s: <1x64 FP32 c> = pl.tile.col_sum(t, t)
        o: <1x256 FP32 d> = pl.tile.create([1, 256], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        q: <1x256 FP32 e> = pl.tile.mrgsort_format1(o, pl.const(64, pl.INT32))
        pl.tile.store(q, [0, 0], y)
        """
    assert text(kernel("x: <16x64 FP32>, y: pl.Out[<1x256 FP32>]", body)) == snapshot


# §1.2 valid shapes


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_9_valid_extents_follow_every_op(planner: str, snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 512
        b: Vec 512 at 512
        c: Vec 64 at 1024
        t: <16x8 FP32 a, valid_shape=[16, 4]> = pl.tile.load(x, [0, 0], [16, 8], [16, 4])
        u: <16x8 FP32 a, valid_shape=[16, 4]> = pl.tile.muls(t, 2.0)
        v: <16x8 FP32 a, valid_shape=[16, 4]> = pl.tile.neg(u)
        w: <16x8 FP32 b> = pl.tile.create([16, 8], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        s: <16x1 FP32 c> = pl.tile.row_sum(v, w)
        pl.tile.store(s, [0, 0], y)
        """
    assert text(kernel("x: <16x8 FP32>, y: pl.Out[<16x1 FP32>]", body), planner=planner) == snapshot


def test_10_minimum_as_valid_extent(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 8192
        for s in pl.range(0, n, 120):
            t: <16x128 FP32 a, valid_shape=[16, pl.min(120, n - s)]> = pl.tile.load(
                x, [0, 0], [16, 128], [16, pl.min(120, n - s)])
            pl.tile.store(t, [0, s], y)
        """
    printed = text(kernel("x: <16x128 FP32>, n: pl.Scalar[pl.INDEX], y: pl.Out[<16x128 FP32>]", body))
    assert re.search(r"%t = pto.alloc_tile .*valid_col = %\d+ : .*v_col=\?", printed)
    assert printed == snapshot


NARROWED = (
    "\n        a: Vec 4096\n        b: Vec 4096 at 4096\n        c: Vec 4096 at 8192\n        d: Vec 4096 at 12288"
)
LOADED = NARROWED + "\n        t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])"


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_11_set_validshape_of_a_fresh_tile(planner: str, snapshot: SnapshotAssertion) -> None:
    body = f"""{LOADED}
        u: <16x64 FP32 a, valid_shape=[n, 64]> = pl.tile.set_validshape(t, n, 64)
        pl.tile.store(u, [0, 0], y)
        """
    assert text(kernel(XY, body), planner=planner) == snapshot


def test_11_set_validshape_of_a_gather(snapshot: SnapshotAssertion) -> None:
    body = f"""{LOADED}
        i: <16x64 INT32 b> = pl.tile.load(k, [0, 0], [16, 64])
        w: <16x64 INT32 d> = pl.tile.create([16, 64], dtype=pl.INT32, target_memory=pl.Mem.Vec)
        g: <16x64 FP32 c> = pl.tile.gather(t, i, w)
        u: <16x64 FP32 c, valid_shape=[9, n]> = pl.tile.set_validshape(g, 9, n)
        pl.tile.store(u, [0, 0], y)
        """
    assert text(kernel(f"k: <16x64 INT32>, {XY}", body)) == snapshot


@pytest.mark.parametrize("valid", ["", ", [n, 64]"])
def test_11_set_validshape_of_a_slice_is_refused(valid: str, snapshot: SnapshotAssertion) -> None:
    view = ", valid_shape=[n, 64]" if valid else ""
    body = f"""{LOADED}
        s: <8x64 FP32 b{view}> = pl.tile.slice(t, [8, 64], [0, 0]{valid})
        u: <8x64 FP32 b, valid_shape=[5, 64]> = pl.tile.set_validshape(s, 5, 64)
        pl.tile.store(u, [0, 0], y)
        """
    assert refusal(kernel(XY, body)) == snapshot


SLICES = {
    "whole": ("", ""),
    "valid in part": (", valid_shape=[n, 64]", ", [n, 64]"),
    "fewer rows": (", valid_shape=[5, 64]", ", [5, 64]"),
}


def test_11_a_slice_is_the_same_whatever_was_read_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes share an e-graph: what a rule makes of one must not depend on what the others have brought about."""
    monkeypatch.setenv("PYPTO_RW_CACHE", "")
    monkeypatch.setattr(api, "_engines", {})
    texts = {
        name: kernel(
            XY,
            f"""{LOADED}
        s: <8x64 FP32 b{view}> = pl.tile.slice(t, [8, 64], [0, 0]{valid})
        pl.tile.store(s, [0, 0], y)
        """,
        )
        for name, (view, valid) in SLICES.items()
    }
    alone = {}
    for name, source in texts.items():
        api._engines.clear()
        alone[name] = text(source)
    for first, second in permutations(texts, 2):
        api._engines.clear()
        text(texts[first])
        assert text(texts[second]) == alone[second], (first, second)


def test_13_reshape_keeps_the_valid_region(snapshot: SnapshotAssertion) -> None:
    body = f"""{NARROWED}
        t: <16x64 FP32 a, valid_shape=[5, 64]> = pl.tile.load(x, [0, 0], [16, 64], [5, 64])
        s: <32x32 FP32 a, valid_shape=[10, 32]> = pl.tile.reshape(t, [32, 32])
        r: <32x32 FP32 a, valid_shape=[10, 32]> = pl.tile.exp(s)
        pl.tile.store(r, [0, 0], y)
        """
    assert text(kernel("x: <16x64 FP32>, y: pl.Out[<32x32 FP32>]", body)) == snapshot


def test_13_reshape_that_splits_the_ragged_axis_is_refused(snapshot: SnapshotAssertion) -> None:
    body = f"""{NARROWED}
        t: <16x64 FP32 a, valid_shape=[16, 40]> = pl.tile.load(x, [0, 0], [16, 64], [16, 40])
        s: <32x32 FP32 a> = pl.tile.reshape(t, [32, 32])
        pl.tile.store(s, [0, 0], y)
        """
    assert refusal(kernel("x: <16x64 FP32>, y: pl.Out[<32x32 FP32>]", body)) == snapshot


def product(rows: str, result: str, columns: str = "32") -> str:
    """A product with that many valid rows and columns; `result` are the fields of its view."""
    body = f"""
        l: Left 8192
        r: Right 4096
        c: Acc 8192
        m: Mat 8192
        o: Mat 4096 at 8192
        a: <64x64 FP16 m, valid_shape=[{rows}, 64]> = pl.tile.load(
            x, [0, 0], [64, 64], [{rows}, 64], target_memory=pl.Mem.Mat)
        b: <64x32 FP16 o, valid_shape=[64, {columns}]> = pl.tile.load(
            w, [0, 0], [64, 32], [64, {columns}], target_memory=pl.Mem.Mat)
        left: <64x64 FP16 l, valid_shape=[{rows}, 64]> = pl.tile.move(a, target_memory=pl.Mem.Left)
        right: <64x32 FP16 r, valid_shape=[64, {columns}]> = pl.tile.move(b, target_memory=pl.Mem.Right)
        out: <64x32 FP32 c, valid_shape=[{rows}, {columns}]{result}> = pl.tile.matmul(left, right)
        pl.tile.store(out, [0, 0], y)
        """
    tensors = "x: <64x64 FP16>, w: <64x32 FP16>, n: pl.Scalar[pl.INDEX], y: pl.Out[<64x32 FP32>]"
    return kernel(tensors, body, kind="AIC")


COMPACT = ", compact=pl.CompactMode.normal"


@pytest.mark.parametrize(
    ("rows", "columns", "compact"), [("n", "32", 2), ("40", "32", 2), ("64", "32", 0), ("64", "17", 0)]
)
def test_14_partial_rows_are_compact(rows: str, columns: str, compact: int, snapshot: SnapshotAssertion) -> None:
    printed = text(product(rows, COMPACT if compact else "", columns))
    assert printed.count("= pto.alloc_tile") == 5
    assert printed.count("compact=1") == (3 if compact else 0)
    assert printed == snapshot


@pytest.mark.parametrize(("rows", "result"), [("n", ""), ("64", COMPACT)])
def test_14_wrong_compact_is_refused(rows: str, result: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(product(rows, result)) == snapshot


# §1.3 slices, assembly, reshapes


def test_16_slice_in_a_loop_leaves_its_source_alone(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 16384
        b: Vec 2048 at 16384
        c: Vec 2048 at 18432
        t: <64x64 FP32 a> = pl.tile.load(x, [0, 0], [64, 64])
        for i in pl.range(0, 64, 8):
            s: <8x64 FP32 b> = pl.tile.slice(t, [8, 64], [i, 0])
            e: <8x64 FP32 c> = pl.tile.exp(s)
            pl.tile.store(e, [0, 0], y)
        pl.tile.store(t, [0, 0], z)
        """
    printed = text(kernel("x: <64x64 FP32>, y: pl.Out[<8x64 FP32>], z: pl.Out[<64x64 FP32>]", body))
    assert (printed.count("pto.subview"), printed.count("pto.tmov"), printed.count("pto.textract")) == (1, 0, 0)
    assert printed == snapshot


def test_17_extracted_half_feeds_col_expand(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 8192
        b: Vec 4096 at 8192
        e: Vec 256 at 16384
        t: <16x128 FP32 a> = pl.tile.load(x, [0, 0], [16, 128])
        r: <1x64 FP32 e> = pl.tile.load(c, [0, 0], [1, 64])
        hi: <16x64 FP32 b> = pl.tile.extract(t, 0, 64, [16, 64], target_memory=pl.Mem.Vec)
        q: <16x64 FP32 b> = pl.tile.col_expand_mul(hi, r)
        pl.tile.store(q, [0, 0], y)
        """
    assert text(kernel("x: <16x128 FP32>, c: <1x64 FP32>, y: pl.Out[<16x64 FP32>]", body)) == snapshot


def halves(memory: str) -> str:
    """The right half of a tile of two halves, in that memory, feeds two col_expand_mul."""
    body = f"""
        a: Vec 8192
        b: Vec 4096 at 8192
        d: Vec 4096 at 12288
        e: Vec 256 at 16384
        t: <16x128 FP32 a> = pl.tile.load(x, [0, 0], [16, 128])
        r: <1x64 FP32 e> = pl.tile.load(c, [0, 0], [1, 64])
        hi: <16x64 FP32 {memory}> = pl.tile.slice(t, [16, 64], [0, 64])
        q: <16x64 FP32 d> = pl.tile.col_expand_mul(hi, r)
        s: <16x64 FP32 d> = pl.tile.col_expand_add(hi, r)
        pl.tile.store(s, [0, 0], y)
        """
    return kernel("x: <16x128 FP32>, c: <1x64 FP32>, y: pl.Out[<16x64 FP32>]", body)


def test_17_half_is_copied_once(snapshot: SnapshotAssertion) -> None:
    printed = text(halves("b"))
    assert printed.count("pto.textract") == 1
    assert printed == snapshot


def test_17_half_over_its_source_is_refused(snapshot: SnapshotAssertion) -> None:
    assert refusal(halves("a+256:4096")) == snapshot


def test_18_static_window_at_a_run_time_offset(snapshot: SnapshotAssertion) -> None:
    body = f"""
        a: Vec 4096
        b: Vec 2048 at 4096
        {opened("aiv", 2)}
        t: <32x32 FP32 a, pad=pl.PadValue.zero> = pl.tile.load(x, [0, 0], [32, 32])
        s: <16x32 FP32 b, pad=pl.PadValue.zero> = pl.tile.slice(t, [16, 32], [n, 0])
        pl.tile.tpush_to_aic(s, split=0)
        """
    assert text(kernel(f"x: <32x32 FP32>, n: pl.Scalar[pl.INDEX], {GM}", body)) == snapshot


@pytest.mark.parametrize(("columns", "at"), [(64, 16), (16, 0)])
@pytest.mark.parametrize("dtype", ["FP16", "FP32"])
def test_20_accumulator_into_mat(columns: int, at: int, dtype: str, snapshot: SnapshotAssertion) -> None:
    body = f"""
        a: Mat 512
        l: Left 512
        r: Right 512
        c: Acc 1024
        m: Mat 4096 at 1024
        p: <16x16 FP16 a> = pl.tile.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
        left: <16x16 FP16 l> = pl.tile.move(p, target_memory=pl.Mem.Left)
        right: <16x16 FP16 r> = pl.tile.move(p, target_memory=pl.Mem.Right)
        out: <16x16 FP32 c> = pl.tile.matmul(left, right)
        big: <16x{columns} {dtype} m> = pl.tile.create([16, {columns}], dtype=pl.{dtype}, target_memory=pl.Mem.Mat)
        full: <16x{columns} {dtype} m> = pl.tile.assemble(big, out, [0, {at}])
        """
    assert text(kernel("x: <16x16 FP16>", body, kind="AIC")) == snapshot


def assembled(space: str, rows: int, columns: int, offset: str) -> str:
    """A tile of that shape is written into one of [16, 512] in that space."""
    size = rows * columns * 2
    body = f"""
        a: {space} 16384
        b: {space} {size} at 16384
        t: <16x512 FP16 a> = pl.tile.load(x, [0, 0], [16, 512], target_memory=pl.Mem.{space})
        s: <{rows}x{columns} FP16 b> = pl.tile.load(x, [0, 0], [{rows}, {columns}], target_memory=pl.Mem.{space})
        u: <16x512 FP16 a> = pl.tile.assemble(t, s, {offset})
        """
    return kernel("x: <16x512 FP16>", body, kind="AIC" if space == "Mat" else "AIV")


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_20_rows_of_vec(target: str, snapshot: SnapshotAssertion) -> None:
    assert text(assembled("Vec", 4, 512, "[8, 0]"), target) == snapshot


def test_20_columns_of_vec_are_refused_on_a2a3(snapshot: SnapshotAssertion) -> None:
    source = assembled("Vec", 16, 128, "[0, 128]")
    assert refusal(source) == snapshot
    assert text(source, "a5") == snapshot
    assert text(source, reference=True) == snapshot


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_20_mat_into_mat_is_refused(target: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(assembled("Mat", 16, 128, "[0, 128]"), target) == snapshot


def test_21_place_of_three_axes_is_refused(snapshot: SnapshotAssertion) -> None:
    assert refusal(assembled("Vec", 4, 512, "[0, 8, 0]")) == snapshot


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_22_one_name_has_one_type(planner: str, snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        b: Vec 1024 at 4096
        t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
        s: <8x64 FP32 a+2048:2048> = pl.tile.slice(t, [8, 64], [8, 0])
        r: <4x128 FP32 a+2048:2048> = pl.tile.reshape(s, [4, 128])
        h: <4x128 FP16 b> = pl.tile.cast(r, target_type=pl.FP16, mode='rint')
        pl.tile.store(h, [0, 0], y)
        p: <16x64 FP32 a, pad=pl.PadValue.zero> = pl.tile.fillpad_inplace(t, pad_value=pl.PadValue.zero)
        pl.tile.store(p, [0, 0], x)
        """
    printed = text(kernel("x: <16x64 FP32>, y: pl.Out[<4x128 FP16>]", body), planner=planner)
    uses: dict[str, set[str]] = {}
    for operands, types in re.findall(r"\((%[^():]*) : ([^()]*)\)", printed):
        for name, type_ in zip(operands.split(", "), re.findall(r"!pto\.\w+<[^>]*>|\w+", types), strict=False):
            uses.setdefault(name.split(" ")[0], set()).add(type_)
    assert {name: types for name, types in uses.items() if len(types) > 1} == {}
    assert printed == snapshot


def test_24_views_have_four_addresses(snapshot: SnapshotAssertion) -> None:
    views = "".join(
        f"""
        w{i}: <1x64 FP32 a+{256 * i}:256> = pl.tile.slice(t, [1, 64], [{i}, 0])
        r{i}: <64x1 FP32 a+{256 * i}:256> = pl.tile.reshape(w{i}, [64, 1])
        pl.tile.store(r{i}, [0, 0], y)"""
        for i in range(4)
    )
    body = f"""
        a: Vec 1024
        t: <4x64 FP32 a> = pl.tile.load(x, [0, 0], [4, 64]){views}
        """
    printed = text(kernel("x: <4x64 FP32>, y: pl.Out[<64x1 FP32>]", body))
    assert re.findall(r"%r\d = pto.alloc_tile addr = (\S+)", printed) == [f"%c{256 * i}_i64" for i in range(4)]
    assert printed == snapshot


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_24_reshape_of_a_popped_tile_has_no_allocation(planner: str, snapshot: SnapshotAssertion) -> None:
    body = f"""
        b: Vec 4096
        {opened("aiv", 1)}
        got: pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split=0)
        r: pl.Tile[[64, 16], pl.FP32, pl.Mem.Vec] = pl.tile.reshape(got, [64, 16])
        e: <64x16 FP32 b> = pl.tile.exp(r)
        pl.tile.store(e, [0, 0], y)
        pl.system.tfree_to_aic(got, split=0)
        """
    printed = text(kernel("y: pl.Out[<64x16 FP32>]", body), "a5", planner)
    assert printed.count("= pto.alloc_tile") == 1
    assert printed == snapshot


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
@pytest.mark.parametrize(
    ("result", "call"),
    [
        ("<16x64 FP32 b, pad=pl.PadValue.zero>", "fillpad(t, pad_value=pl.PadValue.zero)"),
        ("<16x64 FP32 a, pad=pl.PadValue.zero>", "fillpad_inplace(t, pad_value=pl.PadValue.zero)"),
        ("<32x64 FP32 b, pad=pl.PadValue.zero>", "fillpad_expand(t, [32, 64], pad_value=pl.PadValue.zero)"),
    ],
    ids=["fillpad", "in place", "expand"],
)
def test_25_three_fillpads(result: str, call: str, planner: str, snapshot: SnapshotAssertion) -> None:
    body = f"""
        a: Vec 4096
        b: Vec 8192 at 8192
        t: <16x64 FP32 a, valid_shape=[9, 64]> = pl.tile.load(x, [0, 0], [16, 64], [9, 64])
        r: {result} = pl.tile.{call}
        pl.tile.store(r, [0, 0], y)
        """
    assert text(kernel("x: <16x64 FP32>, y: pl.Out[<32x64 FP32>]", body), planner=planner) == snapshot


# §1.4 layouts and strides


def test_26_column_vectors_are_dn(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        b: Vec 4096 at 4096
        c: Vec 64 at 8192
        t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
        u: <16x64 FP32 b> = pl.tile.create([16, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        s: <16x1 FP32 c> = pl.tile.row_sum(t, u)
        pl.tile.store(s, [0, 0], y)
        v: <16x1 FP32 c> = pl.tile.load(w, [1, 0, 0], [1, 16, 1])
        pl.tile.store(v, [0, 0], y)
        """
    assert text(kernel("x: <16x64 FP32>, y: pl.Out[<16x1 FP32>], w: <4x16x1 FP32>", body)) == snapshot


def test_27_strides_of_the_parent(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Mat 16384
        b: Mat 32768 at 16384
        l: Left 16384
        r: Right 32768
        c: Acc 2048
        lm: <16x512 FP16 a> = pl.tile.load(x, [0, 0], [16, 512], target_memory=pl.Mem.Mat)
        rm: <512x32 FP16 b, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.col_major> = pl.tile.load(
            w, [0, 0], [512, 32], target_memory=pl.Mem.Mat)
        left: <16x512 FP16 l> = pl.tile.move(lm, target_memory=pl.Mem.Left)
        right: <512x32 FP16 r> = pl.tile.move(rm, target_memory=pl.Mem.Right)
        out: <16x32 FP32 c> = pl.tile.matmul(left, right)
        pl.tile.store(out, [16, 32], y)
        """
    transposed = "w: <512x32 FP16, pl.TensorView(stride=[1, 16384], layout=pl.TensorLayout.DN)>"
    window = "y: pl.Out[<64x64 FP32, pl.TensorView(stride=[256, 1], layout=pl.TensorLayout.ND)>]"
    assert text(kernel(f"{transposed}, x: <16x512 FP16>, {window}", body, kind="AIC")) == snapshot


def test_29_cast_of_a_sequence_before_it_is_a_column(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 64
        b: Vec 32 at 64
        i: <1x16 INT32 a> = pl.tile.ci(pl.const(0, pl.INT32), [1, 16], dtype=pl.INT32, descending=False)
        h: <1x16 INT16 b> = pl.tile.cast(i, target_type=pl.INT16, mode='none')
        c: <16x1 INT16 b> = pl.tile.reshape(h, [16, 1])
        pl.tile.store(c, [0, 0], y)
        """
    assert text(kernel("y: pl.Out[<16x1 INT16>]", body)) == snapshot


@pytest.mark.parametrize(
    "call", ["cast(t, target_type=pl.INT16, mode='rint')", "rsqrt(t, t)", "cmps(t, 0, cmp_type=0)"]
)
def test_29_column_is_refused(call: str, snapshot: SnapshotAssertion) -> None:
    column = "blayout=pl.TileLayout.col_major, slayout=pl.TileLayout.none_box"
    dtype = "FP32" if "rsqrt" in call else "INT32"
    result = {"cast": "16x1 INT16", "rsqr": "16x1 FP32", "cmps": "16x32 UINT8"}[call[:4]]
    body = f"""
        a: Vec 64
        b: Vec 512 at 64
        t: <16x1 {dtype} a, {column}> = pl.tile.load(x, [0, 0], [16, 1])
        r: <{result} b, valid_shape=[16, 1], {column}> = pl.tile.{call}
        """
    assert refusal(kernel(f"x: <16x1 {dtype}>", body)) == snapshot


def test_30_fractal_of_the_destination(snapshot: SnapshotAssertion) -> None:
    body = """
        v: Vec 2048
        m: Mat 2048
        l: Left 2048
        r: Right 2048
        c: Acc 4096
        a: <32x32 FP16 v> = pl.tile.load(x, [0, 0], [32, 32])
        b: <32x32 FP16 m> = pl.tile.move(a, target_memory=pl.Mem.Mat)
        left: <32x32 FP16 l> = pl.tile.move(b, target_memory=pl.Mem.Left)
        right: <32x32 FP16 r> = pl.tile.move(b, target_memory=pl.Mem.Right)
        out: <32x32 FP32 c> = pl.tile.matmul(left, right)
        pl.tile.store(out, [0, 0], y)
        """
    assert text(kernel("x: <32x32 FP16>, y: pl.Out[<32x32 FP32>]", body, kind="InCore"), "a5") == snapshot


def boxed(rows: int, columns: int, dtype: str, space: str) -> str:
    """A kernel with one tile of that shape in that space."""
    body = f"""
        b: {space} {rows * columns * 4}
        t: <{rows}x{columns} {dtype} b> = pl.tile.create(
            [{rows}, {columns}], dtype=pl.{dtype}, target_memory=pl.Mem.{space})
        """
    return kernel("n: pl.Scalar[pl.INDEX]", body, kind="AIC")


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "space"),
    [
        (100, 128, "FP16", "Mat"),
        (4, 128, "BF16", "Mat"),
        (20, 64, "FP32", "Right"),
        (24, 16, "FP32", "Acc"),
        (16, 24, "INT8", "Left"),
    ],
)
def test_31_partial_box_is_refused(
    rows: int, columns: int, dtype: str, space: str, snapshot: SnapshotAssertion
) -> None:
    assert refusal(boxed(rows, columns, dtype, space)) == snapshot


def test_31_one_row_of_a_mat_tile_passes(snapshot: SnapshotAssertion) -> None:
    assert text(boxed(1, 128, "FP16", "Mat")) == snapshot


def test_32_push_to_the_cube_core_of_a2a3(snapshot: SnapshotAssertion) -> None:
    body = f"""
        a: Vec 2048
        {opened("aiv", 2)}
        p: <32x32 FP16 a> = pl.tile.load(x, [0, 0], [32, 32])
        pl.tile.tpush_to_aic(p, split=0)
        """
    assert text(kernel(f"x: <32x32 FP16>, {GM}", body)) == snapshot


def test_32_push_to_the_cube_core_of_a5_in_fractals(snapshot: SnapshotAssertion) -> None:
    fractal = "blayout=pl.TileLayout.col_major, slayout=pl.TileLayout.row_major"
    body = f"""
        a: Vec 2048
        b: Vec 2048 at 2048
        {opened("aiv", 2)}
        p: <32x32 FP16 a> = pl.tile.load(x, [0, 0], [32, 32])
        q: <32x32 FP16 b, {fractal}> = pl.tile.move(p, target_memory=pl.Mem.Vec, {fractal})
        pl.tile.tpush_to_aic(q, split=0)
        """
    assert text(kernel("x: <32x32 FP16>", body), "a5") == snapshot


# §1.6 control flow


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_37_only_scalars_are_carried(planner: str, snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        b: Vec 4096 at 4096
        zero: <16x64 FP32 a> = pl.tile.full([16, 64], dtype=pl.FP32, value=0.0)
        for i, (sum, scale) in pl.range(4, init_values=(zero, 1.0)):
            t: <16x64 FP32 b> = pl.tile.load(x, [0, 0], [16, 64])
            u: <16x64 FP32 b> = pl.tile.muls(t, scale)
            more: <16x64 FP32 a> = pl.tile.add(sum, u)
            total, last = pl.yield_(more, scale * 0.5)
        r: <16x64 FP32 a> = pl.tile.muls(total, last)
        pl.tile.store(r, [0, 0], y)
        """
    printed = text(kernel(XY, body), planner=planner)
    assert "-> (f32) {" in printed
    assert printed == snapshot


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_39_accumulator_updated_in_one_arm(planner: str, snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        b: Vec 4096 at 4096
        acc: <16x64 FP32 a> = pl.tile.full([16, 64], dtype=pl.FP32, value=0.0)
        for i, (sum,) in pl.range(4, init_values=(acc,)):
            t: <16x64 FP32 b> = pl.tile.load(x, [i * 16, 0], [16, 64])
            if i < n:
                more: <16x64 FP32 a> = pl.tile.add(sum, t)
                next: <16x64 FP32 a> = pl.yield_(more)
            else:
                next: <16x64 FP32 a> = pl.yield_(sum)
            total: <16x64 FP32 a> = pl.yield_(next)
        pl.tile.store(total, [0, 0], y)
        """
    tensors = "x: <64x64 FP32>, n: pl.Scalar[pl.INDEX], y: pl.Out[<16x64 FP32>]"
    assert text(kernel(tensors, body), planner=planner) == snapshot


def test_39_outer_tile_through_one_arm_is_copied(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        b: Vec 4096 at 4096
        t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
        if n < 3:
            e: <16x64 FP32 b> = pl.tile.exp(t)
            r: <16x64 FP32 b> = pl.yield_(e)
        else:
            r: <16x64 FP32 b> = pl.yield_(t)
        pl.tile.store(r, [0, 0], y)
        """
    assert text(kernel(XY, body), planner="ptoas") == snapshot


def test_39_branch_in_another_buffer_is_copied(snapshot: SnapshotAssertion) -> None:
    """With addresses too: one arm writes the merged tile's bytes, the other does not."""
    body = """
        a: Vec 4096
        b: Vec 4096 at 4096
        c: Vec 4096 at 8192
        t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
        if n < 3:
            u: <16x64 FP32 b> = pl.tile.exp(t)
            z: <16x64 FP32 b> = pl.yield_(u)
        else:
            v: <16x64 FP32 c> = pl.tile.neg(t)
            z: <16x64 FP32 b> = pl.yield_(v)
        pl.tile.store(z, [0, 0], y)
        """
    printed = text(kernel(XY, body))
    assert printed.count("pto.tmov") == 1
    assert printed == snapshot


def test_40_scalars_of_one_name_in_both_arms(snapshot: SnapshotAssertion) -> None:
    body = """
        if n < 3:
            v: pl.Scalar[pl.FP32] = pl.tensor.read(x, [n])
            pl.tensor.write(y, [0], v)
        else:
            v: pl.Scalar[pl.FP32] = pl.tensor.read(x, [0])
            pl.tensor.write(y, [0], v)
        """
    assert text(kernel("x: <64 FP32>, n: pl.Scalar[pl.INDEX], y: pl.Out[<64 FP32>]", body)) == snapshot


def test_42_two_carries_and_two_guards(snapshot: SnapshotAssertion) -> None:
    body = """
        for i, (a, b,) in pl.range(n, init_values=(0, pl.const(0, pl.INT32),)):
            if i < 3:
                c: pl.Scalar[pl.INDEX] = pl.yield_(a + 1)
            else:
                c: pl.Scalar[pl.INDEX] = pl.yield_(a)
            if i > 7:
                d: pl.Scalar[pl.INT32] = pl.yield_(b + pl.const(1, pl.INT32))
            else:
                d: pl.Scalar[pl.INT32] = pl.yield_(b)
            c_end, d_end = pl.yield_(c, d)
        v: pl.Scalar[pl.FP32] = pl.tensor.read(x, [c_end])
        pl.tensor.write(y, [pl.cast(d_end, pl.INDEX)], v)
        """
    assert text(kernel("x: <64 FP32>, n: pl.Scalar[pl.INDEX], y: pl.Out[<64 FP32>]", body)) == snapshot


# §1.8 cross-core


def push(rows: int, split: int) -> str:
    """A product with that many valid rows, pushed to the vector cores."""
    valid = f", valid_shape=[{rows}, 16]" if rows < 16 else ""
    compact = COMPACT if rows < 16 else ""
    body = f"""
        a: Mat 512
        l: Left 512
        r: Right 512
        c: Acc 1024
        {opened("aic", 1)}
        p: <16x16 FP16 a> = pl.tile.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
        whole: <16x16 FP16 l> = pl.tile.move(p, target_memory=pl.Mem.Left)
        left: <16x16 FP16 l{valid}> = pl.tile.set_validshape(whole, {rows}, 16)
        right: <16x16 FP16 r> = pl.tile.move(p, target_memory=pl.Mem.Right)
        out: <16x16 FP32 c{valid}{compact}> = pl.tile.matmul(left, right)
        pl.tile.tpush_to_aiv(out, split={split})
        """
    return kernel("x: <16x16 FP16>", body, kind="AIC")


@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("rows", [1, 7, 8, 9, 15, 16])
def test_47_push_of_partial_rows(rows: int, split: int, snapshot: SnapshotAssertion) -> None:
    assert text(push(rows, split), "a5") == snapshot


def test_47_push_of_a_compact_accumulator_at_another_pitch_is_refused(snapshot: SnapshotAssertion) -> None:
    body = f"""
        a: Mat 2048
        l: Left 2048
        r: Right 2048
        c: Acc 4096
        {opened("aic", 1)}
        p: <32x32 FP16 a> = pl.tile.load(x, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
        q: <32x32 FP16 l> = pl.tile.move(p, target_memory=pl.Mem.Left)
        left: <32x32 FP16 l, valid_shape=[7, 32]> = pl.tile.set_validshape(q, 7, 32)
        right: <32x32 FP16 r> = pl.tile.move(p, target_memory=pl.Mem.Right)
        out: <32x32 FP32 c, valid_shape=[7, 32], compact=pl.CompactMode.normal> = pl.tile.matmul(left, right)
        pl.tile.tpush_to_aiv(out, split=1)
        """
    assert refusal(kernel("x: <32x32 FP16>", body, kind="AIC"), "a5") == snapshot


def pop(rows: int, split: int) -> str:
    """A tile with that many valid rows, popped from the cube core."""
    valid = f", pl.TileView(valid_shape=[{rows}, 16])" if rows < 16 else ""
    narrowed = f", valid_shape=[{rows}, 16]" if rows < 16 else ""
    body = f"""
        b: Vec 1024
        {opened("aiv", 1)}
        got: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec{valid}] = pl.tile.tpop_from_aic(split={split})
        e: <16x16 FP32 b{narrowed}> = pl.tile.exp(got)
        pl.system.tfree_to_aic(got, split={split})
        pl.tile.store(e, [0, 0], y)
        """
    return kernel("y: pl.Out[<16x16 FP32>]", body)


@pytest.mark.parametrize("split", [0, 1, 3])
@pytest.mark.parametrize("rows", [1, 7, 8, 9, 15, 16])
def test_47_pop_of_partial_rows(rows: int, split: int, snapshot: SnapshotAssertion) -> None:
    if (rows, split) == (16, 3):
        assert refusal(pop(rows, split), "a5") == snapshot
    else:
        assert text(pop(rows, split), "a5") == snapshot


def two_pipes(*frees: str) -> str:
    body = """
        b: Vec 1024 at 16384
        ring: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='ring', size=8192, base=0)
        wing: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='wing', size=8192, base=8192)
        pl.system.aiv_initialize_pipe(ring, pl.const(0, pl.INT32), dir_mask=1, slot_size=1024, id=0)
        pl.system.aiv_initialize_pipe(wing, pl.const(0, pl.INT32), dir_mask=1, slot_size=1024, id=1)
        p: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split=0, id=0)
        q: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split=0, id=1)
        s: <16x16 FP32 b> = pl.tile.add(p, q)
        pl.tile.store(s, [0, 0], y)
        """
    return kernel("y: pl.Out[<16x16 FP32>]", body + "".join(f"{free}\n        " for free in frees))


FREE_P, FREE_Q = "pl.system.tfree_to_aic(p, split=0, id=0)", "pl.system.tfree_to_aic(q, split=0, id=1)"


@pytest.mark.parametrize("frees", [(FREE_P, FREE_Q), (FREE_Q, FREE_P)], ids=["in order", "crossed"])
def test_48_frees_of_two_pipes(frees: tuple[str, str], snapshot: SnapshotAssertion) -> None:
    assert text(two_pipes(*frees), "a5") == snapshot


@pytest.mark.parametrize(
    "free",
    [
        "pl.system.tfree_to_aiv(p, split=0, id=0)",
        "pl.system.tfree_to_aic(s, split=0, id=0)",
        FREE_P.replace("id=0", "id=1"),
        FREE_P.replace("split=0", "split=2"),
    ],
    ids=["direction", "not popped", "id", "split"],
)
def test_48_wrong_free_is_refused(free: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(two_pipes(free, FREE_Q), "a5") == snapshot


IDENTITY = {"block_idx": "get_block_idx", "block_num": "get_block_num", "subblock_idx": "get_subblock_idx"}
BLOCKS = ["%__pypto_spmd_block_idx: i32", "%__pypto_spmd_block_num: i32"]
LANE = ["%__pypto_spmd_subblock_idx: i32"]


@pytest.mark.parametrize("subset", range(8))
def test_49_hidden_parameters(subset: int) -> None:
    used = [name for bit, name in enumerate(IDENTITY) if subset >> bit & 1]
    reads = "".join(f"{name}: pl.Scalar[pl.INDEX] = pl.tile.{IDENTITY[name]}()\n" for name in used)
    body = f"{reads}v: pl.Scalar[pl.FP32] = pl.tensor.read(x, [{' + '.join(used) or '0'}])\n"
    printed = text(kernel("x: <64 FP32>, n: pl.Scalar[pl.INT32]", body))
    signature = re.search(r"func.func @kernel\((.*)\) attributes", printed)
    assert signature is not None
    hidden = (BLOCKS if subset & 3 else []) + (LANE if subset & 4 else [])
    assert signature[1].split(", ") == ["%arg0: !pto.ptr<f32>", "%arg1: i32", *hidden]
    for name in used:
        assert f"%{name} = arith.index_cast %__pypto_spmd_{name} : i32 to index" in printed


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("cores", ["", ", used_cores=0", ", used_cores=4", ", used_cores=n"])
def test_51_soft_barrier(cores: str, reference: bool, snapshot: SnapshotAssertion) -> None:
    body = f"pl.system.syncall(mode='soft', core_type='aiv_only', gm_workspace=ws{cores})\n"
    assert text(kernel("ws: <16 INT32>, n: pl.Scalar[pl.INT32]", body), reference=reference) == snapshot


def test_51_hard_barrier(snapshot: SnapshotAssertion) -> None:
    assert text(kernel("y: <16 INT32>", "pl.system.syncall(mode='hard', core_type='aiv_only')\n")) == snapshot


@pytest.mark.parametrize(
    ("workspace", "call"),
    [
        ("8 INT32", "mode='soft', core_type='mix', gm_workspace=ws"),
        ("16 FP32", "mode='soft', core_type='mix', gm_workspace=ws"),
        ("16 INT32", "mode='hard', core_type='mix', gm_workspace=ws"),
        ("16 INT32", "mode='hard', core_type='all'"),
    ],
    ids=["small", "dtype", "hard with workspace", "core type"],
)
def test_51_wrong_barrier_is_refused(workspace: str, call: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(kernel(f"ws: <{workspace}>", f"pl.system.syncall({call})\n")) == snapshot


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0), (2, 1)], ids=["tile first", "scalar first", "renamed"])
def test_52_two_ways_of_writing_a_tensor_are_refused(first: int, second: int, snapshot: SnapshotAssertion) -> None:
    stores = [
        "pl.tile.store(t, [0, 0], y)",
        "pl.tensor.write(y, [0, 0], v)",
        "z: <16x64 FP32> = pl.tile.store(t, [0, 0], y)",
    ]
    writes = stores[first], stores[second].replace("(y", "(z") if first == 2 else stores[second]
    body = "a: Vec 4096\nt: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])\n" + "\n".join(writes) + "\n"
    assert refusal(kernel("x: <16x64 FP32>, v: pl.Scalar[pl.FP32], y: pl.Out[<16x64 FP32>]", body)) == snapshot


# §1.9 four bits, block scales, masks


def packed(columns: int, at: int, valid: str = "") -> str:
    view = f", valid_shape={valid}" if valid else ""
    body = f"""
        a: Vec 512
        t: <16x{columns} FP4 a{view}> = pl.tile.load(x, [0, {at}], [16, {columns}]{", " + valid if valid else ""})
        """
    return kernel("x: <16x64 FP4>", body)


def test_54_even_nibbles(snapshot: SnapshotAssertion) -> None:
    assert text(packed(32, 2), "a5") == snapshot


def test_54_odd_columns_are_refused(snapshot: SnapshotAssertion) -> None:
    assert refusal(packed(31, 0), "a5") == snapshot


def test_54_odd_origin_is_refused(snapshot: SnapshotAssertion) -> None:
    assert refusal(packed(32, 3), "a5") == snapshot


@pytest.mark.parametrize(("dtype", "target"), [("INT4", "a2a3"), ("INT4", "a5"), ("FP4", "a2a3"), ("UINT4", "a5")])
def test_54_parameter_of_four_bits_is_refused(dtype: str, target: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(kernel(f"x: <16x64 FP32>, packed: <16x64 {dtype}>", "pl.system.bar_v()\n"), target) == snapshot


def test_54_odd_valid_columns_are_refused(snapshot: SnapshotAssertion) -> None:
    assert refusal(packed(32, 0, "[16, 31]"), "a5") == snapshot


def scaled(operation: str, extra: str = "", left: str = "FP8E4M3FN", right: str = "FP8E4M3FN") -> str:
    """A block-scaled product of data tiles of those dtypes."""
    body = f"""
        am: Mat 2048
        bm: Mat 2048 at 2048
        sm: Mat 64 at 4096
        tm: Mat 64 at 4160
        cm: Mat 128 at 4224
        la: Left 2048
        ra: Right 2048
        sl: LeftScale 64
        sr: RightScale 64
        ac: Acc 4096
        bi: Bias 128
        lm: <32x64 {left} am> = pl.tile.load(x, [0, 0], [32, 64], target_memory=pl.Mem.Mat)
        rm: <64x32 {right} bm> = pl.tile.load(w, [0, 0], [64, 32], target_memory=pl.Mem.Mat)
        ls: <32x2 FP8E8M0 sm, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.row_major, fractal=32> = (
            pl.tile.load(xs, [0, 0], [32, 2], target_memory=pl.Mem.Mat))
        rs: <2x32 FP8E8M0 tm, blayout=pl.TileLayout.col_major, slayout=pl.TileLayout.col_major, fractal=32> = (
            pl.tile.load(ws, [0, 0], [2, 32], target_memory=pl.Mem.Mat))
        bb: <1x32 FP32 cm, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box> = (
            pl.tile.load(b, [0, 0], [1, 32], target_memory=pl.Mem.Mat))
        left: <32x64 {left} la> = pl.tile.move(lm, target_memory=pl.Mem.Left)
        right: <64x32 {right} ra> = pl.tile.move(rm, target_memory=pl.Mem.Right)
        lsc: <32x2 FP8E8M0 sl> = pl.tile.move(ls, target_memory=pl.Mem.LeftScale)
        rsc: <2x32 FP8E8M0 sr> = pl.tile.move(rs, target_memory=pl.Mem.RightScale)
        lb: <32x2 FP8E8M0 sl> = pl.tile.tget_scale_addr(lsc, left)
        rb: <2x32 FP8E8M0 sr> = pl.tile.tget_scale_addr(rsc, right)
        bias: <1x32 FP32 bi> = pl.tile.move(bb, target_memory=pl.Mem.Bias)
        {extra}
        out: <32x32 FP32 ac> = pl.tile.{operation}
        pl.tile.store(out, [0, 0], y)
        """
    tensors = (
        f"x: <32x64 {left}>, w: <64x32 {right}>, "
        "xs: <32x2 FP8E8M0, pl.TensorView(stride=[2, 1], layout=pl.TensorLayout.MX_A_ZZ)>, "
        "ws: <2x32 FP8E8M0, pl.TensorView(stride=[32, 1], layout=pl.TensorLayout.MX_B_NN)>, "
        "b: <1x32 FP32>, y: pl.Out[<32x32 FP32>]"
    )
    return kernel(tensors, body, kind="AIC")


@pytest.mark.parametrize(
    ("operation", "extra"),
    [
        ("matmul_mx(left, lb, right, rb)", ""),
        ("matmul_mx_bias(left, lb, right, rb, bias)", ""),
        ("matmul_mx_acc(acc, left, lb, right, rb)", "acc: <32x32 FP32 ac> = pl.tile.matmul_mx(left, lb, right, rb)"),
    ],
    ids=["plain", "bias", "acc"],
)
def test_55_block_scaled_product(operation: str, extra: str, snapshot: SnapshotAssertion) -> None:
    assert text(scaled(operation, extra), "a5") == snapshot


@pytest.mark.parametrize(("left", "right"), [("FP4", "FP4"), ("FP8E4M3FN", "FP4"), ("FP8E5M2", "FP8E4M3FN")])
def test_55_other_data_is_refused(left: str, right: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(scaled("matmul_mx(left, lb, right, rb)", left=left, right=right), "a5") == snapshot


def test_55_block_scaled_product_on_a2a3_is_refused(snapshot: SnapshotAssertion) -> None:
    assert refusal(scaled("matmul_mx(left, lb, right, rb)")) == snapshot


def test_55_slice_of_scales_is_refused(snapshot: SnapshotAssertion) -> None:
    order = "blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.row_major, fractal=32"
    body = f"""
        sm: Mat 64
        ls: <32x2 FP8E8M0 sm, {order}> = pl.tile.load(xs, [0, 0], [32, 2], target_memory=pl.Mem.Mat)
        half: <16x2 FP8E8M0 sm+0:32, {order}> = pl.tile.slice(ls, [16, 2], [0, 0])
        """
    scales = "xs: <32x2 FP8E8M0, pl.TensorView(stride=[2, 1], layout=pl.TensorLayout.MX_A_ZZ)>"
    assert refusal(kernel(scales, body, kind="AIC"), "a5") == snapshot


def test_55_scales_without_their_order_are_refused(snapshot: SnapshotAssertion) -> None:
    body = """
        sm: Mat 1024
        sl: LeftScale 1024
        ls: <32x32 FP8E8M0 sm> = pl.tile.load(xs, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
        lsc: <32x32 FP8E8M0 sl> = pl.tile.move(ls, target_memory=pl.Mem.LeftScale)
        """
    assert refusal(kernel("xs: <32x32 FP8E8M0>", body, kind="AIC"), "a5") == snapshot


def test_55_fp4_comes_as_a_cast(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        b: Vec 8192 at 4096
        c: Vec 16384 at 12288
        p: <32x128 FP4 a+0:2048> = pl.tile.load(x, [0, 0], [32, 128])
        q: <32x128 BF16 b> = pl.tile.cast(p, target_type=pl.BF16, mode='rint')
        r: <32x128 FP32 c> = pl.tile.cast(q, target_type=pl.FP32, mode='rint')
        s: <32x128 FP8E4M3FN a> = pl.tile.cast(r, target_type=pl.FP8E4M3FN, mode='rint')
        pl.tile.store(s, [0, 0], y)
        """
    assert text(kernel("x: <32x128 FP4>, y: pl.Out[<32x128 FP8E4M3FN>]", body), "a5") == snapshot


def compared(mask: str) -> str:
    body = f"""
        a: Vec 25856
        b: Vec 25856 at 25856
        m: Vec 1024 at 51712
        w: Vec 1024 at 52736
        p: <8x808 FP32 a> = pl.tile.load(x, [0, 0], [8, 808])
        k: <{mask}> = pl.tile.cmps(p, 0.0, cmp_type=4)
        v: <8x128 UINT8 w> = pl.tile.create([8, 128], dtype=pl.UINT8, target_memory=pl.Mem.Vec)
        s: <8x808 FP32 b> = pl.tile.sel(k, p, p, v)
        pl.tile.store(s, [0, 0], y)
        """
    return kernel("x: <8x808 FP32>, y: pl.Out[<8x808 FP32>]", body)


def test_56_mask_is_packed_and_rounded_up(snapshot: SnapshotAssertion) -> None:
    assert text(compared("8x128 UINT8 m, valid_shape=[8, 101]")) == snapshot


def test_56_unpadded_mask_is_refused(snapshot: SnapshotAssertion) -> None:
    assert refusal(compared("8x101 UINT8 m")) == snapshot


def test_56_mask_as_numbers_is_refused(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 16384
        m: Vec 512 at 16384
        b: Vec 1024 at 16896
        p: <16x256 FP32 a> = pl.tile.load(x, [0, 0], [16, 256])
        k: <16x32 UINT8 m> = pl.tile.cmps(p, 0.0, cmp_type=4)
        s: <16x32 FP16 b> = pl.tile.cast(k, target_type=pl.FP16, mode='rint')
        """
    assert refusal(kernel("x: <16x256 FP32>", body)) == snapshot
