"""The output folder: killed builds, builds at the same time, what earlier builds left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pypto_rw
from pypto_rw.wrapper.directory import RECORD
from tests.conftest import ROOT
from tests.wrapper.conftest import PROGRAMS

OLD, NEW = PROGRAMS / "halved.pyir", PROGRAMS / "grid.pyir"
_KILLED = """
import os, signal, sys
import pypto_rw
steps = int(sys.argv[4])
def counted(step):
    def wrapped(*args, **kwargs):
        global steps
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*args, **kwargs)
    return wrapped
for name in ("replace", "unlink", "mkdir", "rmdir", "chmod"):
    setattr(os, name, counted(getattr(os, name)))
pypto_rw.build(open(sys.argv[1]).read(), sys.argv[2], filename=sys.argv[1], ptoas=sys.argv[3])
print("done")
"""


def _texts(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _clean(program: Path, out: Path, ptoas: Path) -> dict[str, bytes]:
    pypto_rw.build(program.read_text(), out, filename=str(program), ptoas=ptoas)
    return _texts(out)


def test_a_build_killed_at_any_step_is_completed_by_the_next(tmp_path: Path, standin: Path) -> None:
    old, new = _clean(OLD, tmp_path / "old", standin), _clean(NEW, tmp_path / "new", standin)
    out = tmp_path / "out"
    for steps in range(0, 200, 3):
        _clean(OLD, out, standin)
        command = [sys.executable, "-c", _KILLED, str(NEW), str(out), str(standin), str(steps)]
        run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        if run.stdout == "done\n":
            break
        assert (run.returncode, run.stderr) == (-9, "")
        left = {p: t for p, t in _texts(out).items() if not p.startswith(".pypto-rw-")}
        assert all(t in (old.get(p), new.get(p)) for p, t in left.items())  # whole, of one build or the other
        if "kernel_config.py" in left:
            assert left in [{p: t for p, t in whole.items() if p != RECORD} for whole in (old, new)]
        assert _clean(NEW, out, standin) == new
    else:
        pytest.fail("it never came to an end")
    assert _texts(out) == new


def test_a_kill_while_the_assembler_runs(tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = _clean(NEW, tmp_path / "new", standin)
    out = tmp_path / "out"
    monkeypatch.setenv("PTOAS_STANDIN", "hang")
    log = tmp_path / "log"
    monkeypatch.setenv("PTOAS_STANDIN_LOG", str(log))
    command = [sys.executable, "-m", "pypto_rw", "build", str(NEW), "-o", str(out), "--ptoas", str(standin)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        while not log.exists():
            time.sleep(0.01)
        process.kill()
    monkeypatch.delenv("PTOAS_STANDIN")
    assert _clean(NEW, out, standin) == new


def test_an_interrupt_ends_the_assembler_too(tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOAS_STANDIN", "hang")
    pid = tmp_path / "pid"
    monkeypatch.setenv("PTOAS_STANDIN_PID", str(pid))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pypto_rw", "build", str(NEW), "-o", str(out), "--ptoas", str(standin)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        while not pid.exists() or not pid.read_text().endswith("\n"):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert list(out.iterdir()) == []


def test_builds_at_the_same_time_leave_one_of_them(
    tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {p: _clean(p, tmp_path / p.stem, standin) for p in (OLD, NEW)}
    monkeypatch.setenv("PTOAS_STANDIN", "slow")
    out = tmp_path / "out"
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "pypto_rw", "build", str(p), "-o", str(out), "--ptoas", str(standin)], cwd=ROOT
        )
        for p in (OLD, NEW, OLD, NEW)
    ]
    assert [r.wait(60) for r in running] == [0, 0, 0, 0]
    assert _texts(out) in wanted.values()


def test_only_what_builds_made_is_removed(tmp_path: Path, standin: Path) -> None:
    new = _clean(NEW, tmp_path / "new", standin)
    out = tmp_path / "out"
    mine = out / "kernels/aiv/mine.cpp"
    mine.parent.mkdir(parents=True)
    mine.write_text("// mine\n")
    _clean(PROGRAMS / "several.pyir", out, standin)
    assert (out / "next_levels").is_dir()
    assert _clean(NEW, out, standin) == {**new, "kernels/aiv/mine.cpp": b"// mine\n"}


def test_a_record_that_leads_out_of_the_folder_removes_nothing(tmp_path: Path, standin: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("keep\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / RECORD).write_text(f"../outside.txt\n{outside}\nkernels/../../outside.txt\n")
    _clean(NEW, out, standin)
    assert outside.read_text() == "keep\n"


def test_an_output_that_is_a_file(tmp_path: Path, standin: Path) -> None:
    (tmp_path / "out").write_text("mine\n")
    with pytest.raises(FileExistsError):
        pypto_rw.build(NEW.read_text(), tmp_path / "out", ptoas=standin)
    assert (tmp_path / "out").read_text() == "mine\n"
