"""`pypto-rw build`: streams, exit codes, options; and what a build is with the pieces replaced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pypto_rw
from pypto_rw.commands import build as command
from pypto_rw.wrapper import Runtime
from tests.conftest import ROOT, Run
from tests.wrapper.conftest import PROGRAMS, Compiles

LOOPS = PROGRAMS / "loops.pyir"


def test_a_build_says_nothing_and_exits_0(tmp_path: Path, pypto_rw_command: Run, standin: Path) -> None:
    out = tmp_path / "out"
    result = pypto_rw_command(
        "build",
        str(LOOPS),
        "-o",
        str(out),
        "--ptoas",
        str(standin),
        "--runtime",
        "host_build_graph",
        "--planner",
        "ptoas",
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert '\t"runtime": "host_build_graph",\n' in (out / "kernel_config.py").read_text()
    assert (out / "ptoas/step.pto").read_text() == pypto_rw.lower(
        LOOPS.read_text(), filename=str(LOOPS), planner="ptoas", functions=["step"]
    ).mlir


def test_stdin_and_no_locations(tmp_path: Path, pypto_rw_command: Run) -> None:
    args = ("build", "-", "-o", str(tmp_path), "--skip-ptoas", "--no-loc")
    assert pypto_rw_command(*args, stdin=LOOPS.read_text()).returncode == 0
    want = pypto_rw.lower(LOOPS.read_text(), loc=False, functions=["step"]).mlir
    assert (tmp_path / "kernels/aiv/step.pto").read_text() == want


@pytest.mark.parametrize("word", ["0", "False", " no", "OFF"])
def test_locations_can_be_off_in_the_environment(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTO_EMIT_PTO_LOC", word)
    files = pypto_rw.build(LOOPS.read_text(), tmp_path, skip_ptoas=True).files
    assert files["kernels/aiv/step.pto"] == pypto_rw.lower(LOOPS.read_text(), loc=False, functions=["step"]).mlir


def test_a_refusal_shows_its_line_and_the_report(tmp_path: Path, pypto_rw_command: Run) -> None:
    bad = tmp_path / "bad.pyir"
    bad.write_text(LOOPS.read_text().replace("self.step(x, e__ssa_v0, y,", "self.step(x, e__ssa_v0 + 1, y,"))
    out = tmp_path / "out"
    result = pypto_rw_command("build", str(bad), "-o", str(out), "--skip-ptoas")
    assert (result.returncode, result.stdout) == (1, "")
    line = bad.read_text().splitlines()[25]
    table = (out / "report/codegen_errors.txt").read_text().split("  [run]")[0]
    assert result.stderr == (
        f"{bad}:26:21: error[task-argument]: 'step' is launched with e__ssa_v0 + 1, which is neither a variable nor "
        f"a recognized constant\n   26 | {line}\n      | {' ' * 20}{'^' * (len(line) - 20)}\n"
        f"  help: assign the expression to a variable first\n{table}"
        f"  Full details: {out}/report/codegen_errors.txt\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.pyir", "-o", "x"], "pypto-rw: cannot read nowhere.pyir: No such file or directory\n"),
        (
            [str(LOOPS), "-o", "x", "--skip-ptoas", "--runtime", "fast"],
            "pypto-rw: unknown runtime 'fast'; known: tensormap_and_ringbuffer, host_build_graph\n",
        ),
        ([str(LOOPS), "-o", str(LOOPS), "--skip-ptoas"], f"pypto-rw: cannot write {LOOPS}: File exists\n"),
        (
            [str(LOOPS), "-o", "x", "--ptoas", "/nowhere"],
            "pypto-rw: no assembler at /nowhere: it is no executable file\n",
        ),
    ],
)
def test_usage(arguments: list[str], said: str, tmp_path: Path, pypto_rw_command: Run) -> None:
    arguments = [str(tmp_path / a) if a == "x" else a for a in arguments]
    result = pypto_rw_command("build", *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", said)
    assert not (tmp_path / "x").exists()


def test_progress_is_for_more_than_a_handful(capsys: pytest.CaptureFixture[str]) -> None:
    for total in (5, 6):
        for done in (1, total):
            command._progress(done, total, f"k{done}")
    assert capsys.readouterr().err == "\r\x1b[K[1/6] k1\r\x1b[K[6/6] k6\n"


def test_runtimes_have_one_name_each_way() -> None:
    assert {r.value: Runtime.named(r.value) for r in Runtime} == {
        "tensormap_and_ringbuffer": Runtime.TENSORMAP_AND_RINGBUFFER,
        "host_build_graph": Runtime.HOST_BUILD_GRAPH,
    }


DEFERRED = """\
import pypto.language as pl

@pl.program
class Later:
    @pl.function(type=pl.FunctionType.AIV)
    def later(self, n: pl.Scalar[pl.INT32], w: pld.DistributedTensor[[4], pl.INT32], w_ctx: pld.CommCtxType):
        pl.func_attr({"deferred_completion_waiter": True})
        pld.system.defer_wait(w, [1], n, cmp=1)
    @pl.function(type=pl.FunctionType.Orchestration, auto_scope=False)
    def run(self, n: pl.Scalar[pl.INT32], w: pld.DistributedTensor[[4], pl.INT32], w_ctx: pld.CommCtxType):
        with pl.scope():
            self.later(n, w, w_ctx)
"""


def test_deferred_completion(tmp_path: Path, standin: Path, parses: Compiles) -> None:
    files = pypto_rw.build(DEFERRED, tmp_path, ptoas=standin).files
    entry = files["kernels/aiv/later.cpp"].split("#endif\n")[-1]
    assert entry == (
        "    __gm__ ChipTensor* w_tensor = reinterpret_cast<__gm__ ChipTensor*>(args[0]);\n"
        "    __gm__ int32_t* w = reinterpret_cast<__gm__ int32_t*>(w_tensor->buffer.addr) + w_tensor->start_offset;\n"
        "    union { uint64_t u64; int32_t val; } n_conv;\n"
        "    n_conv.u64 = args[1];\n"
        "    int32_t n = n_conv.val;\n"
        "    __gm__ int64_t* w_ctx = reinterpret_cast<__gm__ int64_t*>(args[2]);\n"
        "    later(w, n, w_ctx, args);\n"
        "}\n"
    )
    parses(tmp_path)


def test_nothing_of_a_build_is_imported_by_the_other_commands() -> None:
    code = "import sys, pypto_rw, pypto_rw.cli; print([m for m in sys.modules if 'wrapper' in m and 'pypto' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert found.stdout == "[]\n"


def test_a_program_of_kernels_only(tmp_path: Path, standin: Path) -> None:
    source = (ROOT / "tests/kernels/readme.pyir").read_text()
    built = pypto_rw.build(source, tmp_path, ptoas=standin)
    assert list(built.files) == ["kernels/aiv/scale.cpp"]
    assert [d.message for d in built.diagnostics] == [
        "the program has no orchestration, so there is no manifest; kernel sources only"
    ]
