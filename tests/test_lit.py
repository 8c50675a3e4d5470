"""The driver of tests in comments: what it accepts, how it fails, what `--bless` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pypto_rw.lit.filecheck import filecheck
from pypto_rw.lit.script import Check
from tests.conftest import ROOT, Run

SCALE = (ROOT / "tests/lit/scale.pyir").read_text()
TEXT = "func @f {\n  a = one  x\n  b = two\n  use a, b\n}\nfunc @g {\n  c = one y\n  use c\n}\n"


def _checks(*lines: str) -> list[Check]:
    """`NEXT: text` and `: text` are CHECK lines."""
    parts = [line.partition(":") for line in lines]
    return [Check(k, "CHECK", f"-{kind}" if kind else "", text.strip()) for k, (kind, _, text) in enumerate(parts, 1)]


@pytest.mark.parametrize(
    "lines",
    [
        (": a = one x", "NEXT: b = two", "NEXT: use a, b"),
        (": a = one", "SAME: x"),
        ("LABEL: func @f", "NOT: c =", "LABEL: func @g", ": c ="),
        ("DAG: b = two", "DAG: a = one", ": use"),
        (": [[A:[a-z]]] = one x", ": [[B:[a-z]]] = two", "NEXT: use [[A]], [[B]]"),
        (": {{[ab]}} = two", "NOT: a = one"),
        ("NOT: three",),
        ("DAG: [[X:[a-z]]] = one", "DAG: [[Y:[a-z]]] = two", ": use [[X]], [[Y]]"),
    ],
)
def test_what_holds(lines: tuple[str, ...]) -> None:
    assert filecheck(_checks(*lines), TEXT) is None


@pytest.mark.parametrize(
    ("lines", "line", "message", "nearest"),
    [
        ((": b = two", ": a = one"), 2, "is not found", 7),
        ((": a = one", "NEXT: use"), 2, "is not the next line", 3),
        ((": a = one", "SAME: z"), 2, "is not on the same line", 2),
        (("NOT: two", ": use"), 1, "is there", 3),
        (("LABEL: func @f", ": c =", "LABEL: func @g"), 2, "is not found", 0),
        ((": [[A:a]] = one", ": use [[A]], [[A]]"), 2, "is not found", 4),
        ((": use [[Z]]",), 1, "[[Z]] has not matched anything yet; write [[Z:regex]] the first time", 0),
        ((": {{(}}",), 1, "it is no regular expression: missing ), unterminated subpattern at position 0", 0),
        (("DAG: a = one", "DAG: a = one x"), 2, "is not found", 2),
    ],
)
def test_what_fails(lines: tuple[str, ...], line: int, message: str, nearest: int) -> None:
    failed = filecheck(_checks(*lines), TEXT)
    assert failed is not None
    assert (failed.check.line, failed.message, failed.nearest) == (line, message, nearest)


def test_a_failure_names_the_check_line_and_the_nearest_line(tmp_path: Path, pypto_rw_command: Run) -> None:
    (tmp_path / "k.pyir").write_text(SCALE.replace("pto.tmuls ins([[T]]", "pto.tadds ins([[T]]"))
    done = pypto_rw_command("lit", "k.pyir", cwd=tmp_path)
    number = SCALE.split("\n").index("# CHECK-NEXT: pto.tmuls ins([[T]], %[[HALF]] : {{.*}}, f32)") + 1
    tile = (
        "!pto.tile_buf<loc=vec, dtype=f32, rows=16, cols=64, v_row=?, v_col=?, blayout=row_major, slayout=none_box, "
        "fractal=512, pad=0>"
    )
    assert (done.returncode, done.stdout) == (1, "1 file, 1 failed\n")
    assert done.stderr.split("\n")[:3] == [
        f"k.pyir:{number}: CHECK-NEXT is not the next line: pto.tadds ins([[T]], %[[HALF]] : {{{{.*}}}}, f32)",
        "  searched from line 15 of the output",
        f"  nearest, line 15: pto.tmuls ins(%t, %cst_5 : {tile}, f32) outs(%s : {tile})",
    ]


def test_bless_mends_what_fails_and_keeps_the_rest(tmp_path: Path, pypto_rw_command: Run) -> None:
    file = tmp_path / "k.pyir"
    file.write_text(SCALE.replace("CHECK-NEXT: = pto.alloc_tile addr", "CHECK-NEXT: = pto.alloc_tyle addr"))
    assert pypto_rw_command("lit", "k.pyir", cwd=tmp_path).returncode == 1
    blessed = pypto_rw_command("lit", "--bless", ".", cwd=tmp_path)
    assert (blessed.returncode, blessed.stderr) == (0, "")
    told = blessed.stdout.splitlines()
    assert [line[:28] for line in told] == [
        "--- ./k.pyir",
        "+++ ./k.pyir",
        told[2],  # which line
        "-# CHECK-NEXT: = pto.alloc_t",
        "+# CHECK-NEXT: %s = pto.allo",
        "1 file, 0 failed",
    ]
    new, old = file.read_text().split("\n"), SCALE.split("\n")
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert [a for a, _ in changed] == ["# CHECK-NEXT: = pto.alloc_tile addr = %c0_i64"]
    assert changed[0][1].startswith("# CHECK-NEXT: %s = pto.alloc_tile addr = %c0_i64 valid_row = %c16_index ")
    assert pypto_rw_command("lit", "k.pyir", cwd=tmp_path).returncode == 0


def test_bless_writes_all_lines_where_there_is_none(tmp_path: Path, pypto_rw_command: Run) -> None:
    kernel = (ROOT / "tests/kernels/readme.pyir").read_text()
    file = tmp_path / "k.pyir"
    file.write_text(f"# RUN: pypto-rw %s --no-loc | FileCheck %s\n{kernel}")
    none = pypto_rw_command("lit", "k.pyir", cwd=tmp_path)
    assert (none.returncode, none.stderr) == (1, "k.pyir:1: there is no line CHECK:\n")
    assert pypto_rw_command("lit", "k.pyir", "--bless", cwd=tmp_path).returncode == 0
    printed = pypto_rw_command("k.pyir", "--no-loc", cwd=tmp_path).stdout.rstrip("\n").split("\n")
    expected = [f"# CHECK{'-NEXT' if k else ''}: {line.strip()}" for k, line in enumerate(printed)]
    assert file.read_text().split("\n\n")[-1].rstrip("\n").split("\n") == expected


def test_expected_diagnostics(tmp_path: Path, pypto_rw_command: Run) -> None:
    good = (ROOT / "tests/lit/refused.pyir").read_text()
    file = tmp_path / "k.pyir"

    def told(text: str) -> tuple[int, str]:
        file.write_text(text)
        done = pypto_rw_command("lit", "k.pyir", cwd=tmp_path)
        return done.returncode, done.stderr

    comment = next(line for line in good.split("\n") if "expected-error" in line)
    at = good.split("\n").index(comment) + 1
    finding = "[unknown-op] there is no operation pl.mull"
    assert told(good) == (0, "")
    for where in ("@+1", "@below"):
        assert told(good.replace(comment, f"# expected-error{where} {{{{no operation}}}}")) == (0, "")
    assert told(good.replace(comment, "# expected-error@+1 {{no such thing}}")) == (
        1,
        f"k.pyir:{at}: no error {{{{no such thing}}}} at line {at + 1}; line {at + 1} has the error {finding}\n"
        f"k.pyir:{at + 1}: unexpected error {finding}\n",
    )
    assert told(good.replace(comment, "# expected-warning@+1 {{no operation}}"))[0] == 1
    assert told(good.replace(comment, "# expected-error@next {{no operation}}")) == (
        1,
        f"k.pyir:{at}: cannot read @next; write @+1, @-1, @above or @below\n",
    )


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("rm -rf %s", "a RUN line is `[not] pypto-rw … [2>&1] [| FileCheck %s]`; got: rm -rf %s"),
        ("pypto-rw %s | FileCheck --color", "FileCheck takes %s, --check-prefix= and --check-prefixes=; got --color"),
        ("not pypto-rw check %s", "exit code 0 of a command that must fail"),
        ("pypto-rw check 'x", "cannot read the RUN line: No closing quotation"),
    ],
)
def test_a_command_that_is_none(run: str, message: str, tmp_path: Path, pypto_rw_command: Run) -> None:
    kernel = (ROOT / "tests/kernels/readme.pyir").read_text()
    (tmp_path / "k.pyir").write_text(f"# RUN: {run}\n{kernel}# CHECK: module\n")
    done = pypto_rw_command("lit", "k.pyir", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"k.pyir:1: {message}\n")


def test_an_unknown_kind_of_line(tmp_path: Path, pypto_rw_command: Run) -> None:
    kernel = (ROOT / "tests/kernels/readme.pyir").read_text()
    (tmp_path / "k.pyir").write_text(f"# RUN: pypto-rw %s | FileCheck %s\n{kernel}# CHECK-NXT: module\n")
    done = pypto_rw_command("lit", "k.pyir", cwd=tmp_path)
    line = kernel.count("\n") + 2
    known = "CHECK, CHECK-NEXT, CHECK-SAME, CHECK-NOT, CHECK-DAG, CHECK-LABEL"
    assert done.stderr == f"k.pyir:{line}: there is no CHECK-NXT; known are {known}\n"


def test_paths_without_tests_are_a_usage_fault(tmp_path: Path, pypto_rw_command: Run) -> None:
    (tmp_path / "k.pyir").write_text("# nothing\n")
    for path in ("k.pyir", ".", "missing.pyir"):
        assert pypto_rw_command("lit", path, cwd=tmp_path).returncode == 2


def test_it_is_a_plugin_of_pytest(tmp_path: Path) -> None:
    kernel = (ROOT / "tests/kernels/readme.pyir").read_text()
    (tmp_path / "good.pyir").write_text(f"# RUN: pypto-rw %s | FileCheck %s\n{kernel}# CHECK: module\n")
    (tmp_path / "bad.pyir").write_text(f"# RUN: pypto-rw %s | FileCheck %s\n{kernel}# CHECK: modul attributes\n")
    (tmp_path / "none.pyir").write_text(kernel)

    def pytest_run(*arguments: str) -> list[str]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "pypto_rw.lit", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.stdout.split("\n")

    failed = pytest_run()
    assert any(line.startswith("1 failed, 1 passed") for line in failed)
    at = kernel.count("\n") + 2
    assert f"{tmp_path}/bad.pyir:{at}: CHECK is not found: modul attributes" in failed
    assert '  nearest, line 1: module attributes {pto.target_arch = "a2a3"} {' in failed
    assert any(line.startswith("2 passed") for line in pytest_run("--bless"))
    assert any(line.startswith("2 passed") for line in pytest_run())


CONTINUED = (
    "# RUN: pypto-rw check %s\n\nimport pypto.language as pl\n\n@pl.program\nclass K:\n"
    "    @pl.function(type=pl.FunctionType.InCore)\n"
    "    def k(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):\n"
    "        t = pl.load(x, [0, 0], [16, 64])\n"
    "        s = \\\n            pl.mull(t, \\\n                0.5)\n"
    "        # expected-error@below {{stale}}\n"
    "        r = pl.addd(t, t)\n"
    "        pl.store(t, [0, 0], y)\n"
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_bless_splits_no_continued_line_and_keeps_the_line_ends(
    end: str, tmp_path: Path, pypto_rw_command: Run
) -> None:
    file = tmp_path / "k.pyir"
    file.write_bytes(CONTINUED.replace("\n", end).encode())
    assert pypto_rw_command("lit", "k.pyir", "--bless", cwd=tmp_path).returncode == 0
    assert pypto_rw_command("lit", "k.pyir", cwd=tmp_path).returncode == 0
    error = "        # expected-error"
    wanted = CONTINUED.replace("        # expected-error@below {{stale}}\n", "").replace(
        "        s =", f"{error}@+2 {{{{[unknown-op] there is no operation pl.mull}}}}\n        s ="
    )
    wanted = wanted.replace(
        "        r =", f"{error}@below {{{{[unknown-op] there is no operation pl.addd}}}}\n        r ="
    )
    assert file.read_bytes() == wanted.replace("\n", end).encode()


@pytest.mark.parametrize("plugin", [True, False])
def test_bless_keeps_the_line_ends_of_check_lines(plugin: bool, tmp_path: Path, pypto_rw_command: Run) -> None:
    """One CHECK line is mended, and all lines are written where there is none."""
    kernel = (ROOT / "tests/kernels/readme.pyir").read_text()
    run = "# RUN: pypto-rw %s --no-loc | FileCheck %s"
    file = tmp_path / "k.pyir"
    file.write_bytes(
        f"{run}\n{run} --check-prefix=ALL\n# CHECK: modul attributes\n{kernel}".replace("\n", "\r\n").encode()
    )
    if plugin:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "pypto_rw.lit", "-p", "no:cacheprovider", "--bless"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    else:
        pypto_rw_command("lit", "k.pyir", "--bless", cwd=tmp_path)
    written = file.read_bytes()
    assert written.count(b"\r\n") == written.count(b"\n") > kernel.count("\n") + 10
    assert pypto_rw_command("lit", "k.pyir", cwd=tmp_path).returncode == 0
