"""Types, statements and layout: what each form of the text becomes."""

from __future__ import annotations

import pytest

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError, Span
from pypto_rw.syntax import parse
from tests.syntax.kernels import ALL

INT32, FP32 = ir.DType.INT32, ir.DType.FP32
HEAD = "import pypto.language as pl\n\n@pl.function\ndef f(a: pl.Scalar[pl.INDEX], b: pl.Scalar[pl.INDEX]):\n"
A, B, X, Y = (ir.Name(name) for name in "abxy")


def body(text: str, above: str = "") -> tuple[ir.Stmt, ...]:
    """The statements of a function with these lines, and `above` before it."""
    lines = "".join(f"    {line}\n" for line in text.split("\n"))
    return parse(HEAD.replace("\n\n", f"\n{above}\n") + lines).functions[0].body


def statement(text: str, above: str = "") -> ir.Stmt:
    (only,) = body(text, above)
    return only


def assigned(text: str, above: str = "") -> ir.Assign:
    stmt = statement(text, above)
    assert isinstance(stmt, ir.Assign)
    return stmt


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a ** b ** a", "a ** (b ** a)"),
        ("-a ** b", "-(a ** b)"),
        ("a ** -b", "a ** (-b)"),
        ("a * b // a % b", "((a * b) // a) % b"),
        ("a << b + a", "a << (b + a)"),
        ("a & b << a", "a & (b << a)"),
        ("a ^ b & a", "a ^ (b & a)"),
        ("a | b ^ a", "a | (b ^ a)"),
        ("a < b | a", "a < (b | a)"),
        ("not a == b", "not (a == b)"),
        ("a or not b and a", "a or ((not b) and a)"),
        ("a - -b", "a - (-b)"),
        ("~-a", "~(-a)"),
        ("-a[0]", "-(a[0])"),
    ],
)
def test_precedence_is_pythons(text: str, grouped: str) -> None:
    assert assigned(f"x = {text}") == assigned(f"x = {grouped}")


# ------------------------------------------------------------------------------------------ types

SHAPE = (ir.Int(64), ir.Name("N"))
RING = "ring = pl.MemRef(slots=2)\n"
PARITY = ir.Binary("%", A, ir.Int(2))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("pl.Scalar[pl.INT32]", ir.ScalarType(INT32)),
        ("pl.Array[8, pl.INT32]", ir.ArrayType((ir.Int(8),), INT32)),
        ("pl.Ptr", ir.OpaqueType("pl.Ptr")),
        ("pld.CommCtxType", ir.OpaqueType("pld.CommCtxType")),
        ("pl.Tuple[()]", ir.TupleType(())),
        ("pl.Tuple[pl.Ptr, pl.Ptr]", ir.TupleType((ir.OpaqueType("pl.Ptr"),) * 2)),
        ("pl.Tensor[[64, N], pl.FP32]", ir.TensorType(SHAPE, FP32)),
        ("pl.Tensor[[64, N], pl.FP32, pl.TensorView()]", ir.TensorType(SHAPE, FP32, ir.TensorView())),
        (
            "pl.Tensor[[64, N], pl.FP32, pl.DN]",
            ir.TensorType(SHAPE, FP32, ir.TensorView(layout=ir.TensorLayout.DN, marker=True)),
        ),
        (
            'pld.DistributedTensor[[64, N], pl.FP32, "window_buffer=w"]',
            ir.TensorType(SHAPE, FP32, distributed=True, window="window_buffer=w"),
        ),
        (
            "pl.Tile[[64, N], pl.FP32, pl.MemRef(m, a % 2, 512), pl.Mem.Vec, pl.TileView(pad=pl.PadValue.zero)]",
            ir.TileType(SHAPE, FP32, ir.MemRef("m", PARITY, 512), ir.Space.Vec, ir.TileView(pad=ir.Pad.zero)),
        ),
        (
            "pl.Tile[[64, N], pl.FP32, pl.TileView(valid_shape=[a, 8], compact=pl.CompactMode.normal), pl.Mem.Mat]",
            ir.TileType(SHAPE, FP32, None, ir.Space.Mat, ir.TileView(valid=(A, ir.Int(8)), compact=True)),
        ),
        (
            'pl.Tile[[64, N], pl.FP32, pl.MemRef("r", 0, 512, slots=2)[a % 2], pl.Mem.Vec]',
            ir.TileType(SHAPE, FP32, ir.MemRef("r", ir.Int(0), 512, 2, PARITY), ir.Space.Vec),
        ),
        (
            "pl.Tile[[64, N], pl.FP32, ring[1], pl.Mem.Vec]",
            ir.TileType(SHAPE, FP32, ir.MemRef("ring", slots=2, slot=ir.Int(1)), ir.Space.Vec),
        ),
    ],
)
def test_type(text: str, tree: ir.Type) -> None:
    assert assigned(f"x: {text} = a", RING).type == tree


@pytest.mark.parametrize("memo", [True, False])
def test_name_bound_in_the_function_stands_for_its_part(memo: bool) -> None:
    view_of = "    v{0} = pl.TensorView(stride=[{0}], layout=pl.TensorLayout.ND)\n"
    lines = "".join(f"{view_of.format(n)}    x{n}: pl.Tensor[[8], pl.FP32, v{n}] = a\n" for n in range(9))
    for number, stmt in enumerate(parse(HEAD + lines, memo=memo).functions[0].body[1::2]):
        view = ir.TensorView(stride=(ir.Int(number),), layout=ir.TensorLayout.ND)
        assert isinstance(stmt, ir.Assign) and stmt.type == ir.TensorType((ir.Int(8),), FP32, view)


def test_name_bound_in_a_function_ends_with_it() -> None:
    text = HEAD + "    v = pl.TensorView()\n\n@pl.function\ndef g(a: pl.Tensor[[8], pl.FP32, v]):\n    return\n"
    with pytest.raises(CompileError, match="`v` is not defined before"):
        parse(text)


# ------------------------------------------------------------------------------------- statements

ONE = ir.Assign(("x",), None, ir.Int(1))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x: pl.Scalar[pl.INT32] = 1", ir.Assign(("x",), ir.ScalarType(INT32), ir.Int(1))),
        ("x, y = self.g(a)", ir.Assign(("x", "y"), None, ir.Call("self.g", (A,)))),
        ("(x, y) = self.g(a)", ir.Assign(("x", "y"), None, ir.Call("self.g", (A,)))),
        ("x[:] = b", ir.Assign(("x",), None, ir.Call("setitem", (X, ir.Tuple(()), B)))),
        ("pl.system.bar_v()", ir.Evaluate(ir.Call("system.bar_v"))),
        ("pl.yield_(a, b)", ir.Yield((), None, (A, B))),
        ("x, y = pl.yield_(a, b)", ir.Yield(("x", "y"), None, (A, B))),
        ("x: pl.Ptr = pl.yield_(a)", ir.Yield(("x",), ir.OpaqueType("pl.Ptr"), (A,))),
        ("return", ir.Return()),
        ("return (a, b)", ir.Return((A, B))),
        ("...", ir.Jump("...")),
        ("if a: x = 1", ir.If(A, (ONE,))),
        ("if a:\n    x = 1\nelse:\n    pass", ir.If(A, (ONE,), ())),
        ("if a:\n    x = 1\nelif b:\n    x = 1\nelse:\n    x = 1", ir.If(A, (ONE,), (ir.If(B, (ONE,), (ONE,)),))),
        ("while a:\n    break", ir.While(A, (ir.Jump("break"),))),
        (
            "for (x, y,) in pl.while_(init_values=(a, b)):\n    pl.cond(x)\n    c, d = pl.yield_(x, y)",
            ir.While(X, (ir.Yield(("c", "d"), None, (X, Y)),), ("x", "y"), (A, B)),
        ),
        ("for i in pl.range(a):\n    continue", ir.For("range", "i", (A,), (ir.Jump("continue"),))),
        (
            "for i, (x,) in pl.range(0, a, 2, init_values=(b,), attrs={'k': True}):\n    y = pl.yield_(x)",
            ir.For(
                kind="range",
                variable="i",
                bounds=(ir.Int(0), A, ir.Int(2)),
                body=(ir.Yield(("y",), None, (X,)),),
                carried=("x",),
                initial=(B,),
                attrs=(("k", ir.Bool(True)),),
            ),
        ),
        ("for i in pl.pipeline(a, stage=2):\n    x = 1", ir.For("pipeline", "i", (A,), (ONE,), stage=2)),
        ("for i in pl.spmd(8):\n    pass", ir.Scope(ir.Call("spmd", (ir.Int(8),)), (), "i", True)),
        (
            "with pl.at(level=pl.Level.CORE_GROUP) as t:\n    x = 1",
            ir.Scope(ir.Call("at", (), (("level", ir.Symbol("Level.CORE_GROUP")),)), (ONE,), "t"),
        ),
        ("with pl.scope():\n    x = 1", ir.Scope(ir.Call("scope"), (ONE,))),
    ],
)
def test_statement(text: str, tree: ir.Stmt) -> None:
    assert statement(text) == tree


def test_header_and_attributes() -> None:
    module = parse("# pypto.program: P\n" + HEAD + '    pl.func_attr({"slot_num": 2})\n    return\n')
    assert module.header == "P"
    assert module.functions[0].attrs == (("slot_num", ir.Int(2)),)
    assert module.functions[0].body == (ir.Return(),)


def test_comments_directly_above() -> None:
    first, second = body("# why\n#  and how\nx = 1  # not this\ny = 1")
    assert first.comments == ("why", " and how")
    assert second.comments == ()


def test_docstrings_are_dropped() -> None:
    assert body('"""One.\n\nTwo."""\nx = 1') == (ONE,)


# ----------------------------------------------------------------------------------------- layout


@pytest.mark.parametrize("source", ALL)
@pytest.mark.parametrize(
    ("old", "new"),
    [("\n", "\r"), ("\n", " \n"), (")\n", ")  # note\n"), ("    ", "\t"), ("    ", "  "), (", ", ",\f ")],
)
def test_layout_means_nothing(source: str, old: str, new: str) -> None:
    assert parse(source.replace(old, new)) == parse(source)


@pytest.mark.parametrize("source", ALL)
def test_prefix_means_nothing(source: str) -> None:
    renamed = source.replace("pl.", "QQ.").replace("P.", "QQ.")
    for line in ("import pypto.language as pl", "from pypto import language as pl", "from pypto import language as P"):
        renamed = renamed.replace(line, "from pypto import language as QQ")
    assert parse(renamed) == parse(source)


def test_lines_may_be_joined_and_split() -> None:
    long = "x: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec] = pl.load(a, [0, 0], [64, 64])"
    split = "x: pl.Tile[\n  [64, 64],\n\n  pl.FP32, pl.Mem.Vec,\n] = \\\n pl.load(\n a, # first\n[0, 0], [64, 64],\n)"
    assert statement(split) == statement(long)


def test_columns_count_characters() -> None:
    call = assigned("x = pl.add('äöü😀', a + b)").value
    assert isinstance(call, ir.Call) and isinstance(call.args[1], ir.Binary)
    assert call.args[1].span == Span(5, 24, 5, 29)
