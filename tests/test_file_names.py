"""Kernels in files whose names are not UTF-8: every product and every form of findings, none of them half written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.front.authored import kernel

NAME = os.fsdecode(b"k\xff.pyir")
BODY = "t = pl.load(x, [0, 0], [16, 64])\npl.store(t, [0, 0], y)"
GOOD = kernel("x: <16x64 FP32>, y: Out <16x64 FP32>", BODY, kind="AIV")
BAD = GOOD.replace("store(t", "store(q")
FOUND = "9:18: error[undefined-name]: cannot materialize symbol q: it has no definition"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder that takes such names."""
    try:
        (tmp_path / NAME).write_text(GOOD)
    except OSError:
        pytest.skip("the file system takes names in UTF-8 only")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """`pypto-rw ARGS` on a terminal that takes UTF-8 and nothing else."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8:strict"}
    command = [sys.executable, "-m", "pypto_rw", *arguments]
    return subprocess.run(command, capture_output=True, cwd=folder, env=environment)


def test_the_text_names_the_file_byte_for_byte_and_is_utf_8(folder: Path) -> None:
    done = run(folder, "lower", NAME, "-o", "k.pto", "--depfile", "k.d")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    lines = (folder / "k.pto").read_text().splitlines()
    assert [line.rpartition(" loc(")[2] for line in lines if "pto.tload" in line] == ['"k\\FF.pyir":8:13)']
    assert run(folder, "lower", NAME).stdout == (folder / "k.pto").read_bytes()
    assert run(folder, "verify", "k.pto").returncode == 0
    assert (folder / "k.d").read_bytes().splitlines()[:2] == [b"k.pto: \\", b"  k\xff.pyir \\"]


@pytest.mark.parametrize(
    "arguments", [["trace", "-o", "out"], ["memory", "--html", "out"], ["build", "--skip-ptoas", "-o", "out"]]
)
def test_pages_and_folders_are_written(folder: Path, arguments: list[str]) -> None:
    assert run(folder, *arguments, NAME).returncode == 0
    assert (folder / "out").exists()
    assert sorted(os.listdir(folder)) == sorted([NAME, "out"])


def test_a_report_names_the_file(folder: Path) -> None:
    (folder / NAME).write_text(GOOD.replace("AIV", "InCore"))
    assert run(folder, "build", "--skip-ptoas", "-o", "out", NAME).returncode == 1
    assert b"\nk\xff.pyir:7:5: error[core-type]: " in (folder / "out" / "report" / "codegen_errors.txt").read_bytes()


@pytest.mark.parametrize("arguments", [["lower"], ["trace"], ["memory"], ["explain"], ["fmt"]])
def test_stdout_takes_the_name(folder: Path, arguments: list[str]) -> None:
    done = run(folder, *arguments, NAME)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("to_file", [True, False])
@pytest.mark.parametrize("form", ["text", "short", "json", "sarif"])
def test_findings_are_told(folder: Path, form: str, to_file: bool) -> None:
    (folder / NAME).write_text(BAD)
    done = run(folder, "check", NAME, "--diagnostics", form, *(["--diagnostics-file", "out"] if to_file else []))
    assert (done.returncode, done.stdout) == (1, b"")
    told = (folder / "out").read_bytes() if to_file else done.stderr
    if form in ("text", "short"):
        name = b"k\xff.pyir" if to_file else b"k\\udcff.pyir"  # stderr shows what it cannot say
        assert told.splitlines()[0] == name + b":" + FOUND.encode()
    elif form == "json":
        assert json.loads(told.decode("utf-8"))["file"] == "k\\xff.pyir"
    else:
        (result,) = json.loads(told.decode("utf-8"))["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "k%FF.pyir"
