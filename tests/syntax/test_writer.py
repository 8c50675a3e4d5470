"""The writer: whole texts of small modules, and the round trip with the reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from syrupy.assertion import SnapshotAssertion

from pypto_rw import ir
from pypto_rw.records import replace
from pypto_rw.syntax import parse
from pypto_rw.syntax.writer import write
from tests.syntax.modules import float_, modules

INDEX, INT32, INT64 = ir.DType.INDEX, ir.DType.INT32, ir.DType.INT64
FP16, FP32 = ir.DType.FP16, ir.DType.FP32
A, B, C, N = (ir.Name(name) for name in "abcN")
ZERO = ir.Int(0, INT64)
MISSING = float("nan")
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
DUMPS = sorted(CORPUS.glob("*/*/input.pyir"))


def vec(base: str, size: int) -> ir.TileType:
    return ir.TileType((ir.Int(16), ir.Int(size // 64)), FP32, ir.MemRef(base, ZERO, size), ir.Space.Vec)


def gm(base: str) -> ir.TensorType:
    return ir.TensorType((ir.Int(16), ir.Int(64)), FP32, memref=ir.MemRef(base, ZERO, 4096))


def alone(*body: ir.Stmt) -> ir.Module:
    """A module of one bare function with that body."""
    return ir.Module(None, (ir.Function("f", (), body),))


def listed(*exprs: ir.Expr) -> ir.Module:
    """A module with one assignment for each expression."""
    return alone(*(ir.Assign(("x",), None, expr) for expr in exprs))


def typed(*types: ir.Type) -> ir.Module:
    """A module with one annotation for each type."""
    return alone(*(ir.Assign(("x",), type_, A) for type_ in types))


def kernel() -> ir.Module:
    """A device function as a dump has it: allocations, memory references, a carried loop."""
    tile, row = vec("mem_vec_2", 4096), ir.Tuple((ir.Name("i"), ir.Int(0)))
    load = ir.Call("tile.load", (ir.Name("src"), row), (("target_memory", ir.Symbol("Mem.Vec")),))
    cast = ir.Call("tile.cast", (ir.Name("t"),), (("target_type", ir.Symbol("FP32")), ("mode", ir.Str("round"))))
    loop = ir.For(
        kind="range",
        variable="i",
        bounds=(ir.Int(0), N, ir.Int(16)),
        carried=("dst__iter",),
        initial=(ir.Name("dst"),),
        body=(
            ir.Assign(("t",), tile, load, comments=("one row block",)),
            ir.Assign(("u",), vec("unplanned", 4096), cast),
            ir.Assign(("s",), gm("mem_ddr_1"), ir.Call("tile.store", (ir.Name("u"), row, ir.Name("dst__iter")))),
            ir.Yield(("dst__rv",), gm("mem_ddr_1"), (ir.Name("s"),)),
        ),
    )
    alloc = ir.Call("tile.alloc", (ir.Symbol("Mem.Vec"), ir.Int(4096)))
    function = ir.Function(
        name="copy",
        params=(ir.Param("src", gm("mem_ddr_0")), ir.Param("dst", gm("mem_vec_2"), "Out")),
        body=(
            ir.Assign(("mem_vec_2",), ir.OpaqueType("pl.Ptr"), alloc),
            loop,
            ir.Return((ir.Name("dst__rv"),)),
        ),
        kind="AIV",
        options=(("level", ir.Symbol("Level.AIV")), ("role", ir.Symbol("Role.SubWorker"))),
        attrs=(("split", ir.Symbol("SplitMode.UP_DOWN")), ("slot_num", ir.Int(2))),
        returns=gm("mem_ddr_1"),
    )
    return ir.Module("Copy", (function,), (("N", "N"),), header="Copy")


def test_kernel(snapshot: SnapshotAssertion) -> None:
    assert write(kernel()) == snapshot


def test_prefix_and_module_constants(snapshot: SnapshotAssertion) -> None:
    ring = ir.Call("MemRef", (ir.Str("ring"),), (("slots", ir.Int(2)),))
    constants = (ir.Assign(("BLOCK",), None, ir.Int(64)), ir.Assign(("ring",), None, ring))
    assert write(replace(kernel(), constants=constants, prefix="P", header=None)) == snapshot


def test_authored_kernel(snapshot: SnapshotAssertion) -> None:
    tensor = ir.TensorType((N, ir.Int(64)), FP16, ir.TensorView(layout=ir.TensorLayout.DN, marker=True))
    bare = ir.TileType((ir.Int(16), ir.Int(64)), FP16)
    body = (
        ir.Assign(("t",), None, ir.Call("load", (A, ir.Tuple((ir.Int(0), ir.Int(0)))))),
        ir.Assign(("lo", "hi"), None, ir.Call("helper", (ir.Name("t"),))),
        ir.Evaluate(ir.Call("store", (ir.Call("and", (ir.Name("lo"), ir.Name("hi"))), A))),
    )
    first = ir.Function("helper", (ir.Param("t", bare),), (ir.Return((ir.Name("t"), ir.Name("t"))),))
    second = ir.Function("main", (ir.Param("a", tensor, "InOut"),), body, kind="InCore", self_=True)
    bodyless = ir.Function("later", (), (ir.Jump("..."),), options=(("external_source", ir.Str("later.cpp")),))
    assert write(ir.Module(None, (first, second, bodyless), (("N", "N"),))) == snapshot


def test_precedence(snapshot: SnapshotAssertion) -> None:
    def op(symbol: str, left: ir.Expr, right: ir.Expr) -> ir.Binary:
        return ir.Binary(symbol, left, right)

    minus_three = ir.Int(-3)
    module = listed(
        op("-", op("-", A, B), C),
        op("-", A, op("-", B, C)),
        op("*", op("+", A, B), C),
        op("+", A, op("*", B, C)),
        op("**", op("**", A, B), C),
        op("**", A, op("**", B, C)),
        op("**", ir.Unary("-", A), ir.Unary("~", B)),
        op("**", minus_three, minus_three),
        op("**", minus_three, A),
        op("**", float_(-0.5), minus_three),
        op("-", A, minus_three),
        ir.Unary("-", ir.Int(3)),
        ir.Unary("-", minus_three),
        ir.Unary("-", float_(0.5)),
        ir.Unary("-", op("**", A, B)),
        ir.Unary("not", op("<", A, B)),
        ir.Unary("not", op("and", A, B)),
        op("and", ir.Unary("not", A), op("or", B, C)),
        op("==", ir.Unary("not", A), ir.Unary("not", B)),
        op("<", op("<", A, B), op(">=", B, C)),
        op("|", op("^", A, B), op("&", B, op("<<", B, C))),
        ir.Unary("abs", op("//", A, B)),
        op("min", A, op("max", B, op("%", A, B))),
        ir.Cast(op("+", A, B), INT32),
        ir.Item(ir.Item(A, 0), 12),
        ir.Item(op("+", A, B), 1),
    )
    assert write(module) == snapshot


def test_constants(snapshot: SnapshotAssertion) -> None:
    only = ir.Binary("+", ir.Int(2), ir.Binary("*", ir.Int(3), ir.Int(-4, INT32)))
    floats = (
        0.5,
        0.1,
        2.0,
        -0.0,
        1e16,
        1e17,
        1e-7,
        3.4028234663852886e38,
        float("inf"),
        float("-inf"),
        MISSING,
    )
    module = listed(
        ir.Int(42),
        ir.Int(-3),
        ir.Int(42, INT64),
        only,
        ir.Binary("+", only, A),
        ir.Binary("+", A, ir.Int(2)),
        ir.Binary("min", ir.Int(2), ir.Int(3)),
        *(float_(value) for value in floats),
        float_(2.0, FP16),
        ir.Bool(True),
        ir.Tuple((ir.Int(1), A)),
        ir.Tuple((ir.Int(1),), "("),
        ir.Tuple((), "("),
    )
    assert write(module) == snapshot


def test_calls(snapshot: SnapshotAssertion) -> None:
    soft = (
        ("mode", ir.Str("soft")),
        ("core_type", ir.Str("mix")),
        ("gm_workspace", A),
        ("used_cores", ir.Int(0)),
    )
    directions = ir.Tuple((ir.Symbol("adir.input"), ir.Symbol("adir.inout")))
    module = listed(
        ir.Call("tile.full", (ir.Tuple((ir.Int(16),)),), (("dtype", ir.Symbol("FP16")), ("value", float_(1.0)))),
        ir.Call("tile.not", (A,)),
        ir.Call("pld.tensor.or", (A, B), (("atomic", ir.Symbol("AtomicType.None_")),)),
        ir.Call("tile.cast", (A,), (("mode", ir.Str("rint")),)),
        ir.Call("system.syncall", (), soft),
        ir.Call("system.syncall", (), (("core_type", ir.Str("aiv_only")),)),
        ir.Call("self.other", (A, B), (("device", ir.Int(1)),), (("arg_directions", directions),)),
        ir.Call("submit", (ir.Symbol("self.other"), A), (("predicate", ir.Binary("<", A, B)),)),
        ir.Call("tile.add", (A, B), (), (("pipeline_membership", ir.Str("0:1")),)),
        ir.Call("tile.note", (), (("name", ir.Str('it\'s a \\ "b"\n\tü\x00\u2028\U000e0001')),)),
        ir.TypeExpr(ir.ScalarType(FP32)),
    )
    assert write(module) == snapshot


def test_types(snapshot: SnapshotAssertion) -> None:
    double = ir.Binary("*", N, ir.Int(2))
    shape: tuple[ir.Expr, ...] = (double, ir.Binary("min", N, ir.Int(64)), ir.Int(16), N)
    view = ir.TensorView(valid=(N,), stride=(double, ir.Int(1)), layout=ir.TensorLayout.NZ, pad=ir.Pad.zero)
    boxed = ir.TileView(
        valid=(ir.Int(1), double),
        stride=(),
        start_offset=N,
        blayout=ir.TileLayout.col_major,
        slayout=ir.TileLayout.row_major,
        fractal=512,
        pad=ir.Pad.min,
        compact=True,
    )
    offset = ir.Binary("*", ir.Binary("%", A, ir.Int(2)), ir.Int(512))
    module = typed(
        ir.ScalarType(INDEX),
        ir.TensorType(shape, FP16, view, ir.MemRef("mem_ddr_0", ZERO, 0)),
        ir.TensorType((), FP16, ir.TensorView()),
        ir.TensorType((N,), FP16, ir.TensorView(layout=ir.TensorLayout.DN, marker=True)),
        ir.TensorType((N,), FP16, memref=ir.MemRef("mem_ddr_0", ZERO, 0), distributed=True),
        ir.TileType((ir.Int(16), N), FP32),
        ir.TileType((ir.Int(16), N), FP32, ir.MemRef("ring", offset, 512), ir.Space.Mat, boxed),
        ir.TileType((N,), FP32, ir.MemRef("ring", ZERO, 512, 2, A), ir.Space.Acc, ir.TileView()),
        ir.TileType((N,), FP32, ir.MemRef("ring", None, None, 2, ir.Int(1)), ir.Space.Left),
        ir.TileType((N,), FP32, ir.MemRef("ring"), ir.Space.Left),
        ir.ArrayType((ir.Int(6),), INT32),
        ir.TupleType(()),
        ir.TupleType((ir.ScalarType(FP32), ir.OpaqueType("pl.Ptr"))),
        ir.OpaqueType("pld.CommCtxType"),
    )
    assert write(module) == snapshot


def test_statements(snapshot: SnapshotAssertion) -> None:
    less = ir.Binary("<", A, B)
    inner = ir.If(less, (ir.Jump("continue"),), (ir.Jump("break"),), elif_=True, comments=("second",))
    level = ir.Call("at", (), (("level", ir.Symbol("Level.CHIP")), ("name_hint", ir.Str("outer"))))
    module = alone(
        ir.Evaluate(ir.Call("system.bar_v"), comments=("first", "", "# kept")),
        ir.If(less, (), ()),
        ir.If(less, (ir.Yield(("x", "y"), None, (A, B)),), (inner,)),
        ir.If(less, (ir.Yield(("x",), None, (A,)),), (replace(inner, elif_=False),)),
        ir.While(less, ()),
        ir.While(less, (ir.Yield(("x", "y"), None, (A, B)),), ("p", "q"), (A, ir.Int(0))),
        ir.For("unroll", "i", (ir.Int(4),), (ir.Yield((), None, (A,)),)),
        ir.For("pipeline", "i", (A, B), (), ("p", "q"), (A, B), 3, (("iter_arg_rebind_0", ir.Bool(False)),)),
        ir.Scope(level, (), "tid"),
        ir.Scope(ir.Call("cluster"), (ir.Return(),)),
        ir.Scope(ir.Call("spmd", (ir.Int(8),)), (), "i", True),
        ir.Return((A, B)),
        ir.Return((ir.Tuple((A, B), "("),)),
    )
    assert write(module) == snapshot


def test_a_name_is_a_name_only_where_its_body_allocates_it() -> None:
    text = write(kernel())
    assert 'dst: pl.Out[pl.Tensor[[16, 64], pl.FP32, pl.MemRef("mem_vec_2", ' in text
    assert "t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(mem_vec_2, " in text
    assert 'u: pl.Tile[[16, 64], pl.FP32, pl.MemRef("unplanned", ' in text


def test_deep_trees_print() -> None:
    total: ir.Expr = A
    nested: ir.Expr = A
    for _ in range(200):
        nested = ir.Binary("-", B, nested)
    for _ in range(5000):
        total = ir.Binary("+", total, B)
    block: tuple[ir.Stmt, ...] = (ir.Evaluate(nested), ir.Evaluate(total))
    for _ in range(200):
        block = (ir.If(A, block, ()),)
    text = write(alone(*block))
    assert text.count("(b - ") == 199
    assert text.count(" + b") == 5000
    assert text.count("if a:") == 200


@pytest.mark.parametrize("text", ["", "'", '"', "\\", "a\\", "\\'", "\r\n", "\x85", "\ud800", "'\"\\"])
def test_any_string_reads_back(text: str) -> None:
    module = alone(ir.Evaluate(ir.Call("tile.add", (ir.Str(text),), (("k", ir.Str(text)),), ((text, ir.Str(text)),))))
    assert parse(write(module)) == module


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(modules())
def test_round_trip(module: ir.Module) -> None:
    text = write(module)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    again = parse(text)
    assert again == module
    assert write(again) == text


@pytest.mark.skipif(not DUMPS, reason="no corpus beside the repository")
def test_dumps_print_as_they_were_read() -> None:
    different = []
    for dump in DUMPS[::4]:
        text = dump.read_text()
        if write(parse(text)).rstrip("\n") != text.rstrip("\n"):
            different.append("/".join(dump.parts[-3:]))
    assert different == []
