"""What the reader makes of a text: trees, places, shared representations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError, Span
from pypto_rw.syntax import parse, write
from tests.syntax.kernels import ALL, AUTHORED, BARE, DUMP

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
HEAD = "import pypto.language as pl\n@pl.function\ndef f(a: pl.Scalar[pl.INT32]):\n"


def body(text: str) -> tuple[ir.Stmt, ...]:
    return parse(HEAD + text).functions[0].body


def value(text: str) -> ir.Expr:
    (stmt,) = body(f"    x = {text}\n")
    assert isinstance(stmt, ir.Assign)
    return stmt.value


A, B, C = (ir.Name(name) for name in "abc")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("-3", ir.Int(-3)),
        ("- 3", ir.Int(-3)),
        ("-(3)", ir.Unary("-", ir.Int(3))),
        ("--3", ir.Unary("-", ir.Int(-3))),
        ("-pl.const(3, pl.INDEX)", ir.Unary("-", ir.Int(3))),
        ("0x10", ir.Int(16)),
        ("pl.const(-7, pl.INT32)", ir.Int(-7, ir.DType.INT32)),
        ("a - b - c", ir.Binary("-", ir.Binary("-", A, B), C)),
        ("a - (b - c)", ir.Binary("-", A, ir.Binary("-", B, C))),
        ("a + b * c", ir.Binary("+", A, ir.Binary("*", B, C))),
        ("a ** b ** c", ir.Binary("**", A, ir.Binary("**", B, C))),
        ("-a ** b", ir.Unary("-", ir.Binary("**", A, B))),
        ("a ** -b", ir.Binary("**", A, ir.Unary("-", B))),
        ("not a == b and c", ir.Binary("and", ir.Unary("not", ir.Binary("==", A, B)), C)),
        ("a or b and c", ir.Binary("or", A, ir.Binary("and", B, C))),
        ("a | b ^ c & a", ir.Binary("|", A, ir.Binary("^", B, ir.Binary("&", C, A)))),
        ("a << b + c", ir.Binary("<<", A, ir.Binary("+", B, C))),
        ("(a < b) == (b < c)", ir.Binary("==", ir.Binary("<", A, B), ir.Binary("<", B, C))),
        ("abs(a)", ir.Unary("abs", A)),
        ("pl.abs(a)", ir.Call("abs", (A,))),
        ("pl.min(a, b)", ir.Binary("min", A, B)),
        ("pl.cast(a, pl.FP16)", ir.Cast(A, ir.DType.FP16)),
        ("pl.cast(a, pl.FP16, mode='rint')", ir.Call("cast", (A, ir.Symbol("FP16")), (("mode", ir.Str("rint")),))),
        ("pl.tile.and_(a, b)", ir.Call("tile.and", (A, B))),
        ("pld.tile.get(a)", ir.Call("pld.tile.get", (A,))),
        ("a[0]", ir.Item(A, 0)),
        ("a[b]", ir.Call("array.get_element", (A, B))),
        ("[a, 1]", ir.Tuple((A, ir.Int(1)))),
        ("(a,)", ir.Tuple((A,))),
        ("'it''s \\'\\n\\x41'", ir.Str("its '\nA")),
        ("pl.f(a, attrs={'k': [b]})", ir.Call("f", (A,), (), (("k", ir.Tuple((B,))),))),
    ],
)  # fmt: skip
def test_expressions(text: str, tree: ir.Expr) -> None:
    assert value(text) == tree


@pytest.mark.parametrize("text", ["0.5", "-0.0", "1e-07", "inf", "-inf", "nan", "pl.const(2, pl.FP16)", ".5", "1_0.0"])
def test_floats(text: str) -> None:
    constant = value(text)
    assert isinstance(constant, ir.Float) and len(constant.bits) == 8
    assert (constant.dtype is ir.DType.FP16) == ("FP16" in text)
    assert constant != value("7.25")


def test_places() -> None:
    text = HEAD + (
        "    if a > 0:\n"
        "        x: pl.Tile[[16, 16], pl.FP32] = pl.tile.add(a, pl.cast(\n"
        "            -a, pl.FP16)\n"
        "        )   # note\n"
    )
    function = parse(text).functions[0]
    assert function.span == Span(3, 1, 3, 31)
    assert function.params[0].span == Span(3, 7, 3, 29)
    (branch,) = function.body
    assert isinstance(branch, ir.If) and isinstance(branch.condition, ir.Binary)
    assert branch.span == Span(4, 5, 4, 14)
    assert branch.condition.span == Span(4, 8, 4, 13)
    (stmt,) = branch.body
    assert isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Call)
    assert stmt.span == Span(5, 9, 7, 10)
    assert stmt.value.span == Span(5, 41, 7, 10)
    cast = stmt.value.args[1]
    assert isinstance(cast, ir.Cast) and isinstance(cast.operand, ir.Unary)
    assert cast.span == Span(5, 56, 6, 25)
    assert cast.operand.span == Span(6, 13, 6, 15)


def test_authored() -> None:
    module = parse(AUTHORED)
    assert (module.name, module.prefix, module.dynamic) == ("Scale", "pl", (("N", "N"),))
    assert [constant.targets for constant in module.constants] == [("BLOCK",), ("ring",), ("COLUMNS",)]
    function = module.functions[0]
    assert function.self_ and function.kind == "InCore"
    loop = function.body[0]
    assert isinstance(loop, ir.For) and loop.comments == ("one block of rows at a time",)
    load = loop.body[0]
    assert isinstance(load, ir.Assign) and isinstance(load.type, ir.TileType)
    assert load.type.memref is not None
    assert (load.type.memref.base, load.type.memref.slots) == ("ring", 2)
    branch = loop.body[1]
    assert isinstance(branch, ir.If) and branch.orelse is not None
    assert isinstance(branch.orelse[0], ir.If) and branch.orelse[0].elif_


def test_dump_prints_its_bytes() -> None:
    assert write(parse(DUMP)) == DUMP


def test_bare_functions() -> None:
    module = parse(BARE)
    assert (module.name, module.prefix) == (None, "P")
    assert [function.name for function in module.functions] == ["host", "helper"]
    assert module.functions[1].body == (ir.Jump("..."),)
    scope, spmd, loop, *_ = module.functions[0].body
    assert isinstance(scope, ir.Scope) and (scope.name, scope.loop) == ("task", False)
    assert isinstance(scope.body[0], ir.Assign)
    assert scope.body[0].value == ir.Call("setitem", (B, ir.Tuple(()), ir.Call("add", (A, A))))
    assert isinstance(spmd, ir.Scope) and (spmd.name, spmd.loop) == ("core", True)
    assert isinstance(loop, ir.While) and loop.condition == ir.Bool(True)


@pytest.mark.parametrize("source", ALL)
def test_writing_and_reading_again(source: str) -> None:
    module = parse(source)
    assert parse(write(module)) == module
    assert write(parse(write(module))) == write(module)


@pytest.mark.parametrize(
    "layout", [str, lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t, lambda t: t + "\n\n \n"]
)
def test_line_ends_and_marks_change_nothing(layout: type[str]) -> None:
    for source in ALL:
        assert parse(layout(source)) == parse(source)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the repository")
def test_corpus_dumps_print_their_bytes() -> None:
    # Some dumps end in a line feed and some do not; ours end in one.
    for name in ("input", "early", "aliased"):
        for path in sorted(CORPUS.glob(f"*/*/{name}.pyir")):
            source = path.read_text(encoding="utf-8")
            assert write(parse(source)) == source.rstrip("\n") + "\n", path


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the repository")
def test_corpus_authored() -> None:
    for path in sorted(CORPUS.glob("*/*/authored.pyir")):
        source = path.read_text(encoding="utf-8")
        try:
            module = parse(source)
        except CompileError:
            assert json.loads((path.parent / "meta.json").read_text())["refused_at"] == "parse", path
        else:
            assert parse(write(module)) == module, path
