"""`-j`: the same texts and findings as from one process, in the same order; and no text replaces another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, Run

NAMES = ("elementwise", "casts", "readme", "nested_loops", "reductions")
WRONG = (ROOT / "tests" / "kernels" / "readme.pyir").read_text().replace("tile.load", "tile.lood")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / f"{name}.pyir").write_text((ROOT / "tests" / "kernels" / f"{name}.pyir").read_text())
    (tmp_path / "wrong.pyir").write_text(WRONG)
    (tmp_path / "again.pyir").write_text(WRONG)
    return tmp_path


def test_two_processes_print_what_one_prints(folder: Path, pypto_rw_command: Run) -> None:
    files = [f"{name}.pyir" for name in NAMES]
    one = pypto_rw_command("lower", *files, cwd=folder)
    two = pypto_rw_command("lower", "-j", "2", *files, cwd=folder)
    assert one.returncode == 0
    assert (two.returncode, two.stdout, two.stderr) == (0, one.stdout, one.stderr)


@pytest.mark.parametrize("more", [[], ["--keep-going"], ["--diagnostics", "sarif"]])
def test_findings_come_in_the_order_of_the_files(folder: Path, pypto_rw_command: Run, more: list[str]) -> None:
    files = ["wrong.pyir", "casts.pyir", "missing.pyir", "again.pyir"]
    one = pypto_rw_command("lower", *files, *more, cwd=folder)
    two = pypto_rw_command("lower", "-j2", *files, *more, cwd=folder)
    assert one.returncode == 2
    assert (two.returncode, two.stdout, two.stderr) == (2, one.stdout, one.stderr)


def test_a_folder_holds_a_text_for_each_file(folder: Path, pypto_rw_command: Run) -> None:
    done = pypto_rw_command("lower", "-j2", *(f"{name}.pyir" for name in NAMES), "-o", "out", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(p.name for p in (folder / "out").iterdir()) == sorted(f"{name}.pto" for name in NAMES)


def test_two_files_of_one_name_are_refused(folder: Path, pypto_rw_command: Run) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "casts.pyir").write_text(WRONG)
    done = pypto_rw_command("lower", "casts.pyir", "other/casts.pyir", "-o", "out", cwd=folder)
    assert done.returncode == 2
    assert done.stderr == "pypto-rw: casts.pyir and other/casts.pyir would both become casts.pto in out\n"
    assert not (folder / "out").exists()


@pytest.mark.parametrize("more", [[], ["-j2"]])
def test_a_missing_file_keeps_no_other_from_being_printed(folder: Path, pypto_rw_command: Run, more: list[str]) -> None:
    plain = pypto_rw_command("lower", "casts.pyir", "readme.pyir", cwd=folder)
    files = ("missing.pyir", "casts.pyir", "readme.pyir")
    done = pypto_rw_command("lower", "--keep-going", *more, *files, cwd=folder)
    message = "pypto-rw: cannot read missing.pyir: No such file or directory\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, plain.stdout, message + plain.stderr)
    assert pypto_rw_command("lower", *more, *files, cwd=folder).stdout == ""
    pypto_rw_command("lower", "--keep-going", *more, *files, "-o", "out", cwd=folder)
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["casts.pto", "readme.pto"]
