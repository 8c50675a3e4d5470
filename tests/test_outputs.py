"""Where a product goes: files whole, links and devices kept, the kernel never written over, stdout's faults told."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pypto_rw.rewriting.shelf import state
from tests.conftest import ROOT, Run

KERNEL = ROOT / "tests" / "kernels" / "readme.pyir"


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path, pypto_rw_command: Run) -> None:
    expected = pypto_rw_command("lower", str(KERNEL)).stdout
    (tmp_path / "real.pto").write_text("old")
    (tmp_path / "link.pto").symlink_to("real.pto")
    done = pypto_rw_command("lower", str(KERNEL), "-o", str(tmp_path / "link.pto"))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "link.pto").is_symlink()
    assert (tmp_path / "real.pto").read_text() == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.pto", "real.pto"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to(tmp_path: Path, pypto_rw_command: Run) -> None:
    expected = pypto_rw_command("lower", str(KERNEL)).stdout
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    done = pypto_rw_command("lower", str(KERNEL), "-o", str(pipe))
    reader.join(10)
    assert (done.returncode, read) == (0, [expected])
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("output", ["k.pyir", "./k.pyir", "link"])
def test_a_kernel_is_not_written_over(tmp_path: Path, pypto_rw_command: Run, output: str) -> None:
    shutil.copy(KERNEL, tmp_path / "k.pyir")
    (tmp_path / "link").symlink_to("k.pyir")
    done = pypto_rw_command("lower", "k.pyir", "-o", output, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"pypto-rw: {output} is the kernel itself; name another output\n"
    assert (tmp_path / "k.pyir").read_text() == KERNEL.read_text()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
@pytest.mark.parametrize("command", [["lower"], ["trace"], ["memory"], ["fmt"], ["explain"]])
def test_a_full_stdout_is_told(command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pypto_rw", *command, str(KERNEL)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
    assert (done.returncode, done.stderr) == (2, "pypto-rw: cannot write to stdout: No space left on device\n")


def test_a_closed_stdout_is_told() -> None:
    command = f"{sys.executable} -m pypto_rw {KERNEL} >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (2, "pypto-rw: cannot write to stdout: it is closed\n")


def test_folders_of_rules_share_nothing_that_is_kept(
    tmp_path: Path, pypto_rw_command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`my/tile/exp.egg` is the op's file below `my`, and no op's file below `my/tile`."""
    monkeypatch.setenv("PYPTO_RW_CACHE", str(tmp_path / "cache"))
    (tmp_path / "my" / "tile").mkdir(parents=True)
    own = (ROOT / "rules" / "tile" / "muls.egg").read_text().replace("pto.tmuls", "pto.tadds")
    (tmp_path / "my" / "tile" / "muls.egg").write_text(own)
    plain = pypto_rw_command("lower", str(KERNEL)).stdout
    assert pypto_rw_command("lower", str(KERNEL), "--rules", str(tmp_path / "my")).stdout != plain
    assert pypto_rw_command("lower", str(KERNEL), "--rules", str(tmp_path / "my" / "tile")).stdout == plain


def test_a_rule_file_is_looked_at_whatever_its_folder_is_called(tmp_path: Path) -> None:
    """The compiler leaves folders of its own package out; a user's folder may have any of their names."""
    rule = tmp_path / "trace" / "own.egg"
    rule.parent.mkdir()
    rule.write_text("; one")
    before = state([str(tmp_path)])
    rule.write_text("; another")
    assert state([str(tmp_path)]) != before
