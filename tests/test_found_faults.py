"""Faults that were found by trying to break the compiler, one test each."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from pypto_rw import CompileError, check, lower
from pypto_rw.diagnostics import Severity
from pypto_rw.lowering.described import described
from pypto_rw.syntax import parse
from tests.conftest import ROOT, Run
from tests.front.authored import kernel

TENSORS = "x: <32x256 FP32>, y: Out <32x256 FP32>, n: INDEX"


def text(source: str, **options: str) -> list[str]:
    """Lines of the text without types."""
    return [line.split(" : ")[0].strip() for line in lower(source, loc=False, **options).mlir.splitlines()]  # type: ignore[arg-type]


def codes(source: str) -> list[tuple[str, int]]:
    return [(d.code, d.span.line) for d in check(source)]


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
def test_another_name_of_a_moving_window_is_the_window(planner: str) -> None:
    body = "t = pl.load(x, [0, 0], [2, 8])\ns = pl.slice(t, [1, 8], [n, 0])\nu = s\npl.store(u, [0, 0], y)"
    lines = text(kernel(TENSORS, body), planner=planner)
    assert [line for line in lines if line.startswith("pto.tstore")] == ["pto.tstore ins(%slice_view"]


@pytest.mark.parametrize(
    "rest",
    [
        "u = pl.reshape(s, [8, 1])\npl.store(u, [0, 0], y)",
        "u = pl.tile.transpose_view(s)\npl.store(u, [0, 0], y)",
        "u = s\nfor i in pl.range(4):\n    u = pl.add(u, 1.0)\npl.store(u, [0, 0], y)",
        "if n > 0:\n    u = pl.slice(t, [1, 8], [n, 0])\nelse:\n    u = pl.slice(t, [1, 8], [0, 0])\n"
        "pl.store(u, [0, 0], y)",
    ],
)
def test_a_moving_window_is_no_tile_with_a_place(rest: str) -> None:
    body = f"t = pl.load(x, [0, 0], [2, 8])\ns = pl.slice(t, [1, 8], [n, 0])\n{rest}"
    assert [code for code, _ in codes(kernel(TENSORS, body))] == ["view-of-window"]


def test_a_store_of_two_axes_reaches_as_far_as_its_tile() -> None:
    tensors = "x: <32x64 FP32>, y: Out <32x64 FP32>"
    body = "t = pl.load(x, [0, 0], [32, 64])\npl.store(t, [16, 0], y, [16, 64])"
    assert [code for code, _ in codes(kernel(tensors, body))] == ["past-end"]


def test_a_slice_that_asks_for_more_than_is_valid() -> None:
    body = "t = pl.load(x, [0, 0], [16, 64], [16, 9])\ns = pl.slice(t, [16, 32], [0, 0], [16, 16])\n"
    lines = text(kernel(TENSORS, body + "pl.store(s, [0, 0], y)"))
    window = "%y_pview = pto.partition_view %y_view, offsets = [%c0_index, %c0_index], sizes = [%c16_index, %c9_index]"
    assert [line for line in lines if line.startswith("%y_pview")] == [window]


DECORATOR = "@pl.function(type=pl.FunctionType.AIV)\n"
IMPORT = "import pypto.language as pl\n"


def test_a_call_with_a_blank_before_its_bracket_is_no_template() -> None:
    calls = "".join(f"    {name} = h (n)\n" for name in "abcd")
    called = f"{DECORATOR}def h(n: pl.Scalar[pl.INT32]):\n    return n\n"
    parse(f"{IMPORT}{called}{DECORATOR}def g(n: pl.Scalar[pl.INT32]):\n{calls}")
    other = f"{IMPORT}{DECORATOR}def f(n: pl.Scalar[pl.INT32]):\n    k = abs (n)\n"
    assert repr(parse(other)) == repr(parse(other, memo=False))


def test_a_call_in_an_annotation_is_not_remembered() -> None:
    use = f"{DECORATOR}def k(x: pl.Tensor[[M (1), 64], pl.FP32]):\n    return\n"
    with contextlib.suppress(CompileError):
        parse(f"{IMPORT}{DECORATOR}def M(n: pl.Scalar[pl.INT32]):\n    return n\n{use}")
    with pytest.raises(CompileError) as refused:
        parse(IMPORT + use)
    assert [d.code for d in refused.value.diagnostics] == ["unknown-function"]


def test_links_that_lead_nowhere_or_back_are_no_rules(tmp_path: Path, pypto_rw_command: Run) -> None:
    (tmp_path / "tile").mkdir()
    (tmp_path / "tile" / ".#muls.egg").symlink_to("user@host.1:2")
    (tmp_path / "self").symlink_to(".")
    file = str(ROOT / "tests" / "kernels" / "readme.pyir")
    plain = pypto_rw_command("lower", file).stdout
    done = pypto_rw_command("lower", file, "--rules", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, plain, "")
    assert pypto_rw_command("rules", "list", "tile.muls", "--rules", str(tmp_path)).returncode == 0


def test_an_option_is_written_out(pypto_rw_command: Run) -> None:
    done = pypto_rw_command("lower", "--wat", "k.pyir")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "pypto-rw: unrecognized arguments: --wat")


@pytest.mark.parametrize("constants", ["N = 16\nN = 8", "M, N = 8, 16"])
def test_a_constant_is_one(constants: str) -> None:
    source = kernel("x: <16x64 FP32>, y: Out <16x64 FP32>", "t = pl.load(x, [0, 0], [N, 64])\npl.store(t, [0, 0], y)")
    head, rest = source.split("\n", 1)
    assert [code for code, _ in codes(f"{head}\n{constants}\n{rest}")] == ["module-constant"]


def test_a_tile_that_a_branch_reads_before_it_yields_it() -> None:
    body = (
        "t = pl.load(x, [0, 0], [2, 8])\n"
        "if n > 0:\n    u = pl.exp(t)\n    pl.store(u, [2, 0], y)\n"
        "else:\n    u = pl.neg(t)\n    v = pl.add(u, u)\n    pl.store(v, [4, 0], y)\n"
        "pl.store(u, [0, 0], y)"
    )
    source = kernel(TENSORS, body)
    assert [check(source, planner=planner) for planner in ("pypto", "dsa_rp", "ptoas")] == [(), (), ()]
    mlir = lower(source, loc=False, planner="ptoas").mlir
    found = re.findall(r"pto\.t(exp|neg|add|store) ins\((%\w+)(?:, (%\w+))? :.* outs\((%\w+) :", mlir)
    handle = found[0][-1]  # of what both branches yield
    assert [(op, *names[: 2 if op == "add" else 1]) for op, *names in found] == [
        ("exp", "%t"),
        ("store", handle),
        ("neg", "%t"),
        ("add", handle, handle),
        ("store", "%v"),
        ("store", handle),
    ]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("t = pl.load(x, [0, 0], [16, 64], [0, 64])\npl.store(t, [0, 0], y)", 8),
        ("t = pl.load(x, [0, 0], [16, 64], [16, 0])\npl.store(t, [0, 0], y)", 8),
        ("t = pl.load(x, [32, 0], [16, 64], clamp=True)\npl.store(t, [0, 0], y)", 9),
        ("t = pl.load(x, [0, 0], [16, 64])\nw = pl.slice(t, [8, 64], [8, 0], [0, 64])\npl.store(w, [0, 0], y)", 10),
        ("t = pl.load(x, [0, 0], [16, 64])\nw = pl.tile.set_validshape(t, 0, 64)\npl.store(w, [0, 0], y)", 10),
    ],
)
def test_an_empty_window_of_a_tensor_is_told_by_check_and_lower(body: str, line: int) -> None:
    source = kernel(TENSORS, body)
    told = [(d.code, d.span.line) for d in lower(source).diagnostics]
    assert told == codes(source) == [("ptoas-partition", line)]


@pytest.mark.parametrize(
    ("last", "column"), [("return foo", 16), ("return r, foo", 19), ("return foo + 1", 16), ("return (r, foo)", 20)]
)
def test_a_name_that_nothing_defines_is_not_returned(last: str, column: int) -> None:
    body = f"t = pl.load(x, [0, 0], [16, 64])\nr = pl.store(t, [0, 0], y)\n{last}"
    found = check(kernel(TENSORS, body))
    assert [(d.code, d.span.line, d.span.column) for d in found] == [("undefined-name", 10, column)]


def test_a_return_of_a_refused_statement_is_no_second_error() -> None:
    body = "t = pl.load(x, [0, 0], [16, 64])\nr = pl.store(t, [0, 500], y)\nreturn r"
    assert codes(kernel(TENSORS, body)) == [("past-end", 9)]


def test_a_fraction_beside_integers_is_told_in_the_authors_words() -> None:
    integers = "x: <32x64 INT32>, y: Out <32x64 INT32>"
    body = "t = pl.load(x, [0, 0], [16, 64])\nu = pl.add(t, 1.5)\npl.store(u, [0, 0], y)"
    (found,) = check(kernel(integers, body))
    assert found.severity is Severity.note
    assert found.message == (
        "tile.adds: pto.tadds: an integer scalar with a float tile, or the reverse, is converted on the device; the "
        "assembler does not look (the constant has element type FP32; u has element type INT32)"
    )


@pytest.mark.parametrize(
    ("call", "way"),
    [
        ("sub(t, v)", "write pl.row_expand_sub(tile, column)"),
        ("sub(v, t)", "repeat the column first: pl.row_expand(tile, column)"),
        ("add(v, t)", "write pl.row_expand_add(tile, column)"),
        ("mul(t, v)", "write pl.row_expand_mul(tile, column)"),
        ("div(t, v)", "write pl.row_expand_div(tile, column)"),
        ("maximum(t, v)", "write pl.row_expand_max(tile, column)"),
        ("minimum(t, v)", "write pl.row_expand_min(tile, column)"),
        ("tile.fmod(t, v)", "repeat the column first: pl.row_expand(tile, column)"),
    ],
)
def test_a_column_beside_a_tile_is_refused_in_the_authors_shapes(call: str, way: str) -> None:
    tensors = "x: <32x128 FP32>, c: <32x1 FP32>, y: Out <32x128 FP32>"
    body = f"t = pl.load(x, [0, 0], [32, 128])\nv = pl.load(c, [0, 0], [32, 1])\nu = pl.{call}\npl.store(u, [0, 0], y)"
    (found,) = check(kernel(tensors, body))
    op = f"tile.{call.partition('(')[0].removeprefix('tile.')}"
    assert (found.code, found.span.line, found.help) == ("column", 10, way)
    assert found.message == f"{op}: a tile [32, 128] and a column [32, 1] are not combined element by element"


@pytest.mark.parametrize(
    "rest",
    [
        "for i in pl.range(4):\n    u = pl.add(u, 1.0)\n    u = pl.mul(u, 2.0)",
        "if n > 3:\n    u = pl.add(u, 1.0)\nelse:\n    u = pl.mul(u, 2.0)",
        "for i, (a,) in pl.range(4, init_values=(u,)):\n    b = pl.add(a, 1.0)\n    u = pl.yield_(b)",
        "for (a, k) in pl.while_(init_values=(u, 0)):\n    pl.cond(k < 4)\n    b = pl.add(a, 1.0)\n"
        "    u, e = pl.yield_(b, k + 1)",
        "w = u\nu = pl.exp(w)",
    ],
)
def test_what_follows_from_a_refusal_is_not_told(rest: str) -> None:
    body = f"t = pl.load(x, [0, 0], [32, 128])\nu = pl.expp(t)\n{rest}\npl.store(u, [0, 0], y)"
    assert codes(kernel(TENSORS, body)) == [("unknown-op", 9)]


def test_a_fault_of_its_own_beside_a_refused_value_is_told() -> None:
    body = "t = pl.load(x, [0, 0], [32, 128])\nu = pl.expp(t)\nfor i in pl.range(4):\n    u = pl.add(u, 1.0)\n"
    body += "    v = pl.expp(t)"
    assert codes(kernel(TENSORS, body)) == [("unknown-op", 9), ("unknown-op", 12)]


def test_types_in_a_message_are_as_they_are_written() -> None:
    view = "(View (row_major) (none_box) 512 (pad-zero) 0)"
    tile = f"(Tile 16 64 (dyn 3 0 16) (at 64) (FP32) (Vec) {view})"
    tensor = "(Tensor (vec-of (at 4) (dyn 0 0 9)) (vec-of (at 4) (dyn 0 0 9)) (FP16) (ND) (vec-empty))"
    assert described("tile.x", [tile, tensor, "(Scalar (INT32))"], ["(Part (vec-of (at 1)) (FP32))"]) == (
        "tile.x of pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[_, 64], pad=pl.PadValue.zero)], "
        "pl.Tensor[[4, _], pl.FP16], pl.Scalar[pl.INT32] into (Part (vec-of (at 1)) (FP32))"
    )


@pytest.mark.parametrize(
    "body",
    [
        "if n > 0:\n    w = 3\nelse:\n    c = 5\nt = pl.load(x, [c, 0], [4, 64])\npl.store(t, [0, 0], y)",
        "for i in pl.range(n):\n    c = 5\nt = pl.load(x, [c, 0], [4, 64])\npl.store(t, [0, 0], y)",
        "while n > 0:\n    c = 5\nt = pl.load(x, [c, 0], [4, 64])\npl.store(t, [0, 0], y)",
    ],
)
def test_a_constant_of_a_block_that_may_not_run_ends_with_it(body: str) -> None:
    assert [code for code, _ in codes(kernel(TENSORS, body))] == ["undefined-name"]


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
def test_a_branch_in_which_nothing_is_left(planner: str) -> None:
    body = "t = pl.load(x, [0, 0], [4, 64])\nif n > 0:\n    w = 3\npl.store(t, [0, 0], y)"
    lines = text(kernel(TENSORS, body), planner=planner)
    at = lines.index("scf.if %0 {")
    assert [line.split("(")[0] for line in lines[at : at + 4]] == [
        "scf.if %0 {",
        "}",
        "%y_pview = pto.partition_view %y_view, offsets = [%c0_index, %c0_index], sizes = [%c4_index, %c64_index]",
        "pto.tstore ins",
    ]
