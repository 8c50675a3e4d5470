"""`pypto-rw reduce`: what is left of a kernel, whole texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pypto_rw import ir
from pypto_rw.reduction import reduced
from pypto_rw.syntax import parse, write
from tests.conftest import ROOT, Run

NESTED = (ROOT / "tests/kernels/nested_loops.pyir").read_text()
BAD = NESTED.replace("pl.tile.adds(t, pl.cast(pl.cast(inner, pl.INT32), pl.FP32))", "pl.tile.adds(t, inner)")
GOOD = """import pypto.language as pl

@pl.program
class NestedLoops:
    @pl.function(type=pl.FunctionType.AIV)
    def good(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 64])
        pl.store(t, [0, 0], y)
"""
LEFT = """import pypto.language as pl

@pl.program
class NestedLoops:
    @pl.function(type=pl.FunctionType.AIV)
    def nested_loops(self, x: pl.Tensor[[16, 64], pl.FP32], n: pl.Scalar[pl.INT32]):
        for j, (inner,) in pl.range(0, n, 1, init_values=(0,)):
            t: pl.Tile[[16, 64], pl.FP32, pl.MemRef("a", pl.const(0, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.load(x, [0, j], [16, 64])
            s: pl.Tile[[16, 64], pl.FP32, pl.MemRef("a", pl.const(0, pl.INT64), 4096), pl.Mem.Vec] = pl.tile.adds(t, inner)
            inner_next: pl.Scalar[pl.INDEX] = pl.yield_(inner)
"""  # noqa: E501 - a text as it is printed


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "k.pyir"
    path.write_text(BAD + "\n".join(GOOD.split("\n")[4:]))
    return path


def test_the_least_that_still_reports_a_code(kernel: Path, pypto_rw_command: Run) -> None:
    done = pypto_rw_command("reduce", "k.pyir", "--code", "index-scalar", cwd=kernel.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == LEFT
    told = pypto_rw_command("check", "-", "--diagnostics", "short", stdin=done.stdout)
    assert told.stderr.count("error[") == told.stderr.count("error[index-scalar]") == 1


def test_the_least_that_passes_a_command(kernel: Path, pypto_rw_command: Run) -> None:
    command = "grep -q 'pl.tile.store' {}"
    done = pypto_rw_command("reduce", "k.pyir", "--test", command, "-o", "least.pyir", cwd=kernel.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (kernel.parent / "least.pyir").read_text() == (
        "import pypto.language as pl\n\n@pl.program\nclass NestedLoops:\n    @pl.function(type=pl.FunctionType.AIV)\n"
        "    def nested_loops(self):\n        pl.tile.store()\n"
    )


def test_another_exit_code(kernel: Path, pypto_rw_command: Run) -> None:
    command = "test -s {} && exit 7"
    done = pypto_rw_command("reduce", "k.pyir", "--test", command, "--exit", "7", cwd=kernel.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "import pypto.language as pl\n\n@pl.program\nclass NestedLoops:\n    pass\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--test", "true"), "--test needs {} where the candidate's path goes, as in 'pypto-rw check {}'"),
        (("--code", "row-alignment"), "k.pyir is not interesting itself: nothing to reduce"),
        (("--test", "false {}"), "k.pyir is not interesting itself: nothing to reduce"),
        (("--test", "grep -q why {}"), "k.pyir is interesting only in its own layout: nothing to reduce"),
    ],
)
def test_what_cannot_be_reduced(arguments: tuple[str, ...], message: str, kernel: Path, pypto_rw_command: Run) -> None:
    kernel.write_text(f"{BAD}\n# why\n")
    done = pypto_rw_command("reduce", "k.pyir", *arguments, cwd=kernel.parent)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"pypto-rw: {message}\n")


def test_a_text_that_is_no_module(kernel: Path, pypto_rw_command: Run) -> None:
    kernel.write_text("import pypto.language as pl\nnothing\n")
    done = pypto_rw_command("reduce", "k.pyir", "--code", "syntax", cwd=kernel.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("pypto-rw: k.pyir is no module; a fault of syntax is where the message says\n")


def test_every_candidate_is_a_module_and_none_is_tried_twice() -> None:
    tried: list[str] = []

    def interesting(text: str) -> bool:
        tried.append(text)
        functions = parse(text).functions  # raises for a text that is no module
        return any(isinstance(s, ir.For) for f in functions for s in ir.statements(f.body))

    sizes: list[int] = []
    least = reduced(parse(NESTED), interesting, lambda text, _: sizes.append(len(text)))
    assert len(tried) == len(set(tried)) > 5
    assert sizes[-1] < sizes[0] and least == write(parse(least))
    assert least.count("for ") == 1
