"""The verifier accepts what the compiler prints, and refuses each text broken in one way, under that way's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pypto_rw.diagnostics import Severity
from pypto_rw.verifier import verify

_LAYOUT = "blayout=row_major, slayout=none_box, fractal=512, pad=0"
TILE = f"!pto.tile_buf<loc=vec, dtype=f32, rows=16, cols=64, v_row=?, v_col=?, {_LAYOUT}>"
HALF = f"!pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=64, v_row=?, v_col=?, {_LAYOUT}>"
PART = "!pto.partition_tensor_view<16x64xf32>"

_HERE = Path(__file__).parent
TILES = (_HERE / "tiles.pto").read_text()
SCALARS = (_HERE / "scalars.pto").read_text()

Break = Callable[[str], str]


def swap(old: str, new: str) -> Break:
    """Replace the first `old`, which must be there."""

    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


def line(start: str, new: str) -> Break:
    """Replace the first line whose text starts with `start` by `new` (no line if empty)."""

    def change(text: str) -> str:
        lines = text.splitlines()
        at = next(i for i, x in enumerate(lines) if x.strip().startswith(start))
        lines[at : at + 1] = [new] if new else []
        return "\n".join(lines) + "\n"

    return change


def before(start: str, new: str) -> Break:
    """Put the line `new` before the first line that starts with `start`."""

    def change(text: str) -> str:
        lines = text.splitlines()
        at = next(i for i, x in enumerate(lines) if x.strip().startswith(start))
        lines.insert(at, new)
        return "\n".join(lines) + "\n"

    return change


WINDOW = TILE.replace("v_row=?, v_col=?", "v_row=16, v_col=64")
SUBVIEW = (
    f"  %w = pto.subview %x[%c0_index, %c0_index] sizes [16, 64] valid [%c16_index, %c64_index] : {TILE} -> {WINDOW}"
)
BROKEN_TILES: list[tuple[str, Break]] = [
    ("redefined-value", before("return", "  %x_pview = arith.addi %c1_index, %c1_index : index")),
    ("undefined-value", line("%y = pto.alloc_tile", "")),
    ("use-before-definition", before("%y = pto.alloc", f"  pto.texp ins(%x : {TILE}) outs(%y : {TILE})")),
    ("type-mismatch", swap(f"pto.texp ins(%x : {TILE})", f"pto.texp ins(%x : {HALF})")),
    ("type-mismatch", swap("valid_row = %c16_index", "valid_row = %c0_i64")),
    ("valid-extent-form", lambda text: text.replace("v_row=?, v_col=?", "v_row=16, v_col=64")),
    ("valid-extent-form", before("return", f"{SUBVIEW}\n  pto.set_validshape %w, %c1_index, %c1_index : {WINDOW}")),
    ("valid-exceeds-box", swap("valid_row = %c16_index", "valid_row = %c64_index")),
    ("duplicate-constant", swap("%c0_index = arith", "%c0_again = arith.constant 0 : index\n  %c0_index = arith")),
    ("constant-not-at-head", before("return", "  %late = arith.constant 5 : index")),
    ("invalid-constant", swap("arith.constant 4096 : i64", "arith.constant 4096.5 : i64")),
    ("invalid-constant", before("%c16_index", "  %cst = arith.constant inf : f32")),
    ("duplicate-function", lambda text: text[:-2] + "\n".join(text.splitlines()[1:]) + "\n"),
    ("unbalanced-braces", swap("  return\n  }\n}\n", "  return\n}\n")),
    ("unbalanced-braces", lambda text: text + "}\n"),
    ("module-skeleton", line("module", "")),
    ("module-skeleton", before("return", "  func.func private @inner()")),
    ("missing-return", line("return", "")),
    ("misplaced-terminator", before("return", "  return")),
    ("address-alignment", swap("arith.constant 4096 : i64", "arith.constant 4104 : i64")),
    ("address-capacity", swap("arith.constant 4096 : i64", "arith.constant 188384 : i64")),
    ("address-capacity", swap("arith.constant 4096 : i64", "arith.constant -4096 : i64")),
    ("missing-address", swap("addr = %c4096_i64 ", "")),
    ("overlapping-live-tiles", swap("arith.constant 4096 : i64", "arith.constant 2048 : i64")),
    ("overlapping-live-tiles", swap("%y = pto.alloc_tile addr = %c4096_i64", "%y = pto.alloc_tile addr = %c0_i64")),
    ("partition-out-of-bounds", swap("offsets = [%c0_index, %c0_index]", "offsets = [%c1_index, %c0_index]")),
    ("window-out-of-bounds", before("return", SUBVIEW.replace("%x[%c0_index", "%x[%c1_index"))),
    ("window-sizes", before("return", SUBVIEW.replace("sizes [16, 64]", "sizes [8, 64]"))),
    ("valid-extent-form", before("return", SUBVIEW.replace("[%c16_index", "[%c1_index"))),
    ("partition-sizes", swap("sizes = [%c16_index, %c64_index]", "sizes = [%c1_index, %c64_index]")),
    ("view-rank", swap("strides = [%c64_index, %c1_index]", "strides = [%c1_index]")),
    ("view-element", lambda text: text.replace("16x64xf32", "16x64xf16")),
    ("read-before-write", line("pto.texp", "")),
    ("wrong-target", swap('"a2a3"', '"a5"')),
    ("unknown-op", swap("pto.texp", "pto.texpp")),
    ("syntax", swap("valid_row", "valid_rows")),
    ("syntax", swap(" outs(%y :", " out(%y :")),
    ("syntax", swap("#pto.layout<nd>", "#pto.layout<md>")),
    ("syntax", swap("pto.kernel_kind =", "pto.kernel_sort =")),
    ("syntax", swap("pto.kernel_kind =", "pto.kernel_kind")),
    ("bad-type", swap("pad=0", "pad=9")),
    ("bad-type", swap("loc=vec, dtype=f32", "dtype=f32, loc=vec")),
]
SAME_UNSIGNED = """\
  %10 = arith.constant 7 : i16
  %c7_again = builtin.unrealized_conversion_cast %10 : i16 to ui16"""
BROKEN_SCALARS: list[tuple[str, Break]] = [
    ("not-dominating", swap("pto.store_scalar %7", "pto.store_scalar %1")),
    ("not-dominating", swap("muli %8, %8", "muli %8, %5")),
    ("use-before-definition", swap("addi %acc, %arg1", "addi %acc, %sum")),
    ("yield-arity", swap("scf.yield %1 : i32", "scf.yield %1, %1 : i32, i32")),
    ("yield-type", swap("scf.yield %1 : i32", "scf.yield %i : index")),
    ("missing-yield", line("scf.yield %9", "")),
    ("condition-arity", swap("scf.condition(%6) %5 : i32", "scf.condition(%6)")),
    ("condition-type", swap("scf.condition(%6) %5 : i32", "scf.condition(%6) %c0_index : index")),
    ("missing-condition", line("scf.condition", "")),
    ("block-arguments", swap("^bb0(%8 : i32):", "^bb0(%8 : i32, %10 : i32):")),
    ("carry-arity", swap("-> (i32) {", "-> (i32, i32) {")),
    ("result-arity", swap("%picked, %at = scf.if", "%picked, %at, %more = scf.if")),
    ("type-mismatch", swap("iter_args(%acc = %c0_i32)", "iter_args(%acc = %c0_index)")),
    ("type-mismatch", swap("scf.if %2", "scf.if %sum")),
    ("missing-do", lambda text: text[: text.index("  } do {")] + text[text.index("  }\n  pto.store") :]),
    ("misplaced-region", swap("  } else {", "  } do {")),
    ("operand-kind", swap("arith.addi %acc, %arg1", "arith.addf %acc, %arg1")),
    (
        "duplicate-constant",
        before("%c0_i32", SAME_UNSIGNED),
    ),
    ("unknown-function", swap("@tell(%arg0", "@say(%arg0")),
    ("call-signature", swap("@tell(%arg0, %7) : (!pto.ptr<i32>, i32)", "@tell(%7, %arg0) : (i32, !pto.ptr<i32>)")),
]


@pytest.mark.parametrize(("text", "target"), [(TILES, "a2a3"), (SCALARS, "a5")], ids=["tiles", "scalars"])
def test_a_printed_kernel_is_accepted(text: str, target: str) -> None:
    assert verify(text, target=target) == []


MILDER = {  # what an assembler takes all the same
    "constant-not-at-head": Severity.note,
    "duplicate-constant": Severity.note,
    "read-before-write": Severity.warning,
    "address-capacity": Severity.warning,
}


def _codes(text: str, target: str) -> list[str]:
    found = verify(text, target=target, filename="k.pto")
    for d in found:
        assert d.severity is MILDER.get(d.code, Severity.error)
        assert d.span and d.message and d.help and d.filename == "k.pto"
        assert d.span.line <= len(text.splitlines())
    return [d.code for d in found]


@pytest.mark.parametrize(("code", "broken"), BROKEN_TILES, ids=[f"{i}-{c}" for i, (c, _) in enumerate(BROKEN_TILES)])
def test_a_broken_tile_kernel_is_refused(code: str, broken: Break) -> None:
    assert set(_codes(broken(TILES), "a2a3")) == {code}


@pytest.mark.parametrize(
    ("code", "broken"), BROKEN_SCALARS, ids=[f"{i}-{c}" for i, (c, _) in enumerate(BROKEN_SCALARS)]
)
def test_a_broken_scalar_kernel_is_refused(code: str, broken: Break) -> None:
    assert set(_codes(broken(SCALARS), "a5")) == {code}


# What the reference prints and no assembler or device can take, or takes wrongly.
KNOWN_DEFECTS = {
    "control/if_one_branch_assign": {"type-mismatch"},  # an index value compared as i32
    "control/scalar_ops_index": {"bad-type"},  # a pointer to index
    "distributed/rstore_valid_i32": {"type-mismatch"},  # an i32 parameter as an index size
    "distributed/text_memref_plain_int": {"type-mismatch"},  # an index constant as an address
    "memory/const_float_specials": {"invalid-constant"},  # `inf`, `-inf`
    "memory/defect_carry_if_passthrough__dsa_rp": {"read-before-write"},  # merge buffer unwritten on one path
    "memory/defect_carry_if_passthrough__pypto": {"read-before-write"},
    "memory/defect_dsa_copy_merge__pypto": {"read-before-write"},
    "memory/ir_no_memref": {"undefined-value"},  # a tile without memory is never declared
    # Not defects: the case overrides what its planner says about addresses.
    "memory/opt_addresses_ptoas": {"unexpected-address"},
    "memory/opt_no_addresses_pypto": {"missing-address"},
}


def test_the_corpus_is_accepted_but_for_known_defects(corpus: Path) -> None:
    reported: dict[str, set[str]] = {}
    for path in sorted(corpus.rglob("expected*.pto")):
        case = next(p for p in path.parents if (p / "meta.json").exists())
        meta = json.loads((case / "meta.json").read_text())
        found = verify(path.read_text(), target=meta["target"], planner=meta["planner"])
        if found:
            reported.setdefault(case.relative_to(corpus).as_posix(), set()).update(d.code for d in found)
    assert reported == KNOWN_DEFECTS


def test_work_grows_with_the_text_alone() -> None:
    lines = TILES.splitlines()
    at = next(i for i, x in enumerate(lines) if x.strip().startswith("pto.texp"))
    long = "\n".join([*lines[:at], *([lines[at]] * 3000), *lines[at + 1 :]]) + "\n"
    assert verify(long) == []
