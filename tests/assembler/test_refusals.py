"""What the assembler would refuse is said at the author's line, and weighs as the command says."""

from __future__ import annotations

from pathlib import Path

import pytest

import pypto_rw
from pypto_rw.diagnostics import CompileError, Severity
from tests.conftest import Run
from tests.rulelines import without_rule_lines

KERNEL = """\
import pypto.language as pl

@pl.program
class Sum:
    @pl.function(type=pl.FunctionType.AIV)
    def sum(self, x: pl.Tensor[[16, 64], pl.INT8], y: pl.Out[pl.Tensor[[16, 64], pl.INT8]]):
        buf: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 2048)
        t: pl.Tile[[16, 64], pl.INT8, pl.MemRef(buf, pl.const(0, pl.INT64), 1024), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 64])
        s: pl.Tile[[16, 64], pl.INT8, pl.MemRef(buf, pl.const(1024, pl.INT64), 1024), pl.Mem.Vec] = pl.tile.add(t, t)
        pl.tile.store(s, [0, 0], y)
"""  # noqa: E501
GOOD = KERNEL.replace("INT8", "FP16").replace("1024", "2048").replace("Vec, 2048", "Vec, 4096")
REPORT = """\
k.pyir:9:101: {}[ptoas-element-type]: tile.add: t and s have element type INT8; pto.tadd takes INT16, UINT16, INT32, \
UINT32, FP16 or FP32 on a2a3
    9 | {}
      | {}
  help: convert to INT16 with pl.cast before the operation, and the result back after it; or compile for a5
  rule: instruction/tadd.egg:N tadd.elem
"""


def _report(severity: str) -> str:
    line = KERNEL.splitlines()[8]
    return REPORT.format(severity, line, " " * 100 + "^" * len("pl.tile.add(t, t)"))


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "k.pyir").write_text(KERNEL)
    return tmp_path


def test_lower_warns_and_prints(kernel: Path, pypto_rw_command: Run) -> None:
    result = pypto_rw_command("k.pyir", cwd=kernel)
    assert (result.returncode, without_rule_lines(result.stderr)) == (0, _report("warning"))
    silent = pypto_rw_command("k.pyir", "--no-assembler-checks", cwd=kernel)
    assert (silent.returncode, silent.stderr, silent.stdout) == (0, "", result.stdout)


@pytest.mark.parametrize("command", [("check",), ("lower", "-Werror")])
def test_check_and_werror_refuse(command: tuple[str, ...], kernel: Path, pypto_rw_command: Run) -> None:
    result = pypto_rw_command(*command, "k.pyir", cwd=kernel)
    assert (result.returncode, result.stdout, without_rule_lines(result.stderr)) == (1, "", _report("error"))


def test_check_without_the_assembler_is_content(kernel: Path, pypto_rw_command: Run) -> None:
    result = pypto_rw_command("check", "--no-assembler-checks", "k.pyir", cwd=kernel)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_api_returns_warnings_and_check_errors() -> None:
    lowered = pypto_rw.lower(KERNEL)
    assert [(d.code, without_rule_lines(d.rule), d.severity, d.span.line) for d in lowered.diagnostics] == [
        ("ptoas-element-type", "instruction/tadd.egg:N tadd.elem", Severity.warning, 9)
    ]
    assert pypto_rw.lower(KERNEL, assembler_checks=False).diagnostics == ()
    assert [(d.code, d.severity) for d in pypto_rw.check(KERNEL)] == [("ptoas-element-type", Severity.error)]
    assert pypto_rw.check(KERNEL, target="a5") == ()
    assert pypto_rw.check(GOOD) == ()


def test_verify_finds_in_the_text_what_lower_finds() -> None:
    lowered = pypto_rw.lower(KERNEL)
    found = [d for d in pypto_rw.verify(lowered.mlir) if d.severity is Severity.error]
    assert [(d.code, without_rule_lines(d.rule)) for d in found] == [
        ("ptoas-element-type", "instruction/tadd.egg:N tadd.elem")
    ]
    assert lowered.mlir.splitlines()[found[0].span.line - 1].lstrip().startswith("pto.tadd ")


def test_what_the_device_gets_wrong_is_refused() -> None:
    wrong = GOOD.replace("pl.tile.add(t, t)", "pl.tile.addc(t, t, t)")
    assert pypto_rw.check(wrong) == ()
    with pytest.raises(CompileError) as refused:
        pypto_rw.lower(wrong.replace("FP16", "BF16"))
    assert [(d.code, d.span.line) for d in refused.value.diagnostics] == [("device-element-type", 9)]


def test_tiles_on_one_address_and_beyond_the_memory_are_found_at_the_line() -> None:
    again = GOOD.replace("pl.const(2048, pl.INT64)", "pl.const(0, pl.INT64)").replace("store(s", "store(t")
    assert [(d.code, d.span.line) for d in pypto_rw.check(again)] == [("overlapping-live-tiles", 9)]
    beyond = GOOD.replace("pl.const(2048, pl.INT64)", "pl.const(196096, pl.INT64)")
    assert [(d.code, d.span.line) for d in pypto_rw.check(beyond)] == [("address-capacity", 9)]


def test_tiles_that_the_assembler_cannot_place_are_found_at_the_line() -> None:
    big = GOOD.replace("[16, 64]", "[800, 64]").replace("2048", "102400").replace("4096", "204800")
    assert [d.code for d in pypto_rw.check(big, planner="ptoas")] == ["ptoas-capacity"]
    assert [d.span.line for d in pypto_rw.check(big, planner="ptoas")] == [9]


def test_a_version_may_no_longer_have_a_rule() -> None:
    tile = "!pto.tile_buf<loc=vec, dtype=f32, rows={}, cols=64, v_row={}, v_col=64, blayout=row_major, " + (
        "slayout=none_box, fractal=512, pad={}>"
    )
    small, large = tile.format(16, 16, 0), tile.format(32, 32, 3)
    text = f"""\
module attributes {{pto.target_arch = "a2a3"}} {{
  func.func @f() attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
    %a = arith.constant 0 : i64
    %b = arith.constant 8192 : i64
    %x = pto.alloc_tile addr = %a : {small}
    %y = pto.alloc_tile addr = %b : {large}
    pto.tfillpad ins(%x : {small}) outs(%y : {large})
    return
  }}
}}
"""
    rules = [d.rule for d in pypto_rw.verify(text) if d.code.startswith("ptoas-")]
    assert [r.partition(" ")[2] for r in rules] == ["tfillpad.alloc-rows tfillpad.shape"]
    assert [d.rule for d in pypto_rw.verify(text, ptoas="0.60") if d.code.startswith("ptoas-")] == []
