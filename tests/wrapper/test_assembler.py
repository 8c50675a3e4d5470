"""The assembler: found, called as documented, and every way it can fail told in one report with the kernel's name."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import pypto_rw
from pypto_rw.wrapper import BuildError, NotFound, assembler, locate
from tests.conftest import Run
from tests.wrapper.conftest import PROGRAMS, functions

LOOPS = (PROGRAMS / "loops.pyir").read_text()
HALVED = (PROGRAMS / "halved.pyir").read_text()


@pytest.mark.parametrize("order", ["crash", "garble", "nothing", "empty", "foreign", "hang"])
def test_a_faulty_assembler(
    order: str, tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("PTOAS_STANDIN", order)
    if order == "hang":
        monkeypatch.setattr(assembler, "TIME_LIMIT", 0.5)
    started = time.monotonic()
    with pytest.raises(BuildError) as caught:
        pypto_rw.build(LOOPS, tmp_path, filename="loops.pyir", ptoas=standin)
    assert time.monotonic() - started < 30
    assert str(caught.value).replace(str(tmp_path), "OUT") == snapshot
    assert sorted(caught.value.files) == ["kernel_config.py", "orchestration/run.cpp"]
    assert sorted(p.name for p in (tmp_path / "ptoas").iterdir()) == ["step.pto"]


def test_what_an_assembler_screams_is_cut_and_readable(
    tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTOAS_STANDIN", "noise")
    with pytest.raises(BuildError):
        pypto_rw.build(LOOPS, tmp_path, ptoas=standin)
    report = (tmp_path / "report/codegen_errors.txt").read_text()
    assert len(report) < 200_000
    assert all(c.isprintable() or c in "\n\t" for c in report)


def test_one_unit_of_two_fails(
    tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    orders = tmp_path / "orders"
    orders.mkdir()
    (orders / "pair.fail").write_text(f"note: of {tmp_path}\npair.pto:3:1: error: no\nnote: see above\n")
    (orders / "step.cpp").write_text('extern "C" __global__ AICORE void step(float* a, int64_t r, float* b) {}\n')
    monkeypatch.setenv("PTOAS_STANDIN", str(orders))
    out = tmp_path / "out"
    with pytest.raises(BuildError) as caught:
        pypto_rw.build(HALVED + functions(LOOPS)["step"], out, ptoas=standin)
    assert str(caught.value).replace(str(tmp_path), "OUT") == snapshot
    assert (out / "report/codegen_errors.txt").read_text().replace(str(tmp_path), "OUT") == snapshot
    assert sorted(caught.value.files) == ["kernel_config.py", "kernels/aiv/step.cpp", "orchestration/run.cpp"]


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({}, "--enable-insert-sync --pto-level=level3 --pto-arch a3"),
        ({"planner": "ptoas"}, "--enable-insert-sync --pto-level=level2 --pto-arch a3"),
        ({"target": "a5"}, "--enable-insert-sync --pto-level=level3 --pto-arch a5"),
        (
            {"dump_ptoas_passes": True},
            "--enable-insert-sync --pto-level=level3 --mlir-print-ir-after-all --mlir-print-ir-module-scope "
            "--mlir-print-ir-tree-dir=OUT/ptoas_passes/step --pto-arch a3",
        ),
    ],
)
def test_the_call(
    options: dict[str, object], flags: str, tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTOAS_STANDIN_LOG", str(tmp_path / "log"))
    pypto_rw.build(LOOPS, tmp_path / "out", ptoas=standin, **options)  # type: ignore[arg-type]  # options of each kind
    first, *_ = (tmp_path / "log").read_text().split()
    work = str(Path(first).parent.parent)
    said = (tmp_path / "log").read_text().replace(work, "OUT")
    assert said == f"OUT/ptoas/step.pto -o OUT/ptoas/step.cpp {flags}\n"


def test_where_it_is_looked_for(tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(standin.parent))
    monkeypatch.delenv("PTOAS_ROOT", raising=False)
    assert locate() == standin
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    monkeypatch.setenv("PTOAS_ROOT", str(root))
    with pytest.raises(NotFound) as caught:  # set, it is the only place
        locate()
    places = f"{root}/ptoas, {root}/ptoas.sh, {root}/bin/ptoas"
    assert str(caught.value) == f"no assembler under PTOAS_ROOT={root}: none of {places} is an executable file"
    for place in ("bin/ptoas", "ptoas.sh", "ptoas"):
        (root / place).write_text("#!/bin/sh\n")
        assert not os.access(root / place, os.X_OK)
        (root / place).chmod(0o755)
        assert locate() == root / place
    assert locate(standin) == locate(standin.parent) == standin
    with pytest.raises(NotFound) as caught:
        locate(tmp_path / "nowhere")
    assert str(caught.value) == f"no assembler at {tmp_path}/nowhere: it is no executable file"


def test_without_an_assembler(tmp_path: Path, pypto_rw_command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PTOAS_ROOT", raising=False)
    result = pypto_rw_command("build", str(PROGRAMS / "loops.pyir"), "-o", str(tmp_path / "out"))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "pypto-rw: no assembler: ptoas is not on PATH and PTOAS_ROOT is not set; set PTOAS_ROOT to its folder, "
        "give --ptoas PATH, or build without it (--skip-ptoas)\n"
    )
    assert not (tmp_path / "out").exists()


def test_layout_without_the_assembler(tmp_path: Path) -> None:
    built = pypto_rw.build(LOOPS, tmp_path / "loops", skip_ptoas=True)
    assert list(built.files) == ["kernels/aiv/step.pto", "orchestration/run.cpp"]
    assert built.files["kernels/aiv/step.pto"] == pypto_rw.lower(LOOPS, functions=["step"]).mlir
    built = pypto_rw.build(HALVED, tmp_path / "halved", skip_ptoas=True)
    assert list(built.files) == ["kernels/pair.pto", "orchestration/run.cpp"]
    parts = functions((PROGRAMS / "several.pyir").read_text())
    only_external = "".join(parts[name] for name in ("", "by_hand", "two"))
    built = pypto_rw.build(only_external, tmp_path / "external", skip_ptoas=True)
    assert list(built.files) == ["orchestration/two.cpp", "kernel_config.py"]


def test_workers(tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTO_CODEGEN_MAX_WORKERS", "many")
    built = pypto_rw.build(LOOPS, tmp_path / "a", ptoas=standin)
    (warning,) = built.diagnostics
    assert warning.message.startswith("PYPTO_CODEGEN_MAX_WORKERS='many' is no positive number;")
    monkeypatch.setenv("PYPTO_CODEGEN_MAX_WORKERS", "1")
    one = pypto_rw.build(LOOPS, tmp_path / "b", ptoas=standin)
    assert (one.files, one.diagnostics) == (built.files, ())
