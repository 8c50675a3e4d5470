"""Whole texts of the kernels in `tests/kernels`: one snapshot for each target and planner in a kernel's first lines.

A kernel may begin with `# target: a2a3 a5` (default a2a3) and `# planner: pypto ptoas` (default pypto).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import check, lower

ROOT = Path(__file__).parent.parent
KERNELS = sorted((ROOT / "tests" / "kernels").glob("*.pyir"))


def listed(text: str, option: str, default: str) -> list[str]:
    found = re.search(rf"^# {option}: (.*)$", text, re.M)
    return (found[1] if found else default).split()


CASES = [
    pytest.param(path, target, planner, id=f"{path.stem}-{target}-{planner}")
    for path in KERNELS
    for target in listed(path.read_text(encoding="utf-8"), "target", "a2a3")
    for planner in listed(path.read_text(encoding="utf-8"), "planner", "pypto")
]


@pytest.mark.parametrize(("path", "target", "planner"), CASES)
def test_text_of(path: Path, target: str, planner: str, snapshot: SnapshotAssertion) -> None:
    text = path.read_text(encoding="utf-8")
    assert lower(text, filename=path.name, target=target, planner=planner, loc=False).mlir == snapshot


def test_text_with_locations(snapshot: SnapshotAssertion) -> None:
    path = ROOT / "tests" / "kernels" / "if_tile.pyir"
    assert lower(path.read_text(encoding="utf-8"), filename=path.name).mlir == snapshot


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_locations_change_nothing_else(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    target = listed(text, "target", "a2a3")[0]
    with_places = lower(text, filename=path.name, target=target).mlir
    without = lower(text, filename=path.name, target=target, loc=False).mlir
    assert re.sub(r" loc\(\"[^\"]*\":\d+:\d+\)", "", with_places) == without


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_check_reports_no_more_than_the_kernel_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = check(text, filename=path.name, target=listed(text, "target", "a2a3")[0])
    assert [d.code for d in found] == listed(text, "reports", "")


def test_same_bytes_for_every_hash_seed_and_folder(tmp_path: Path) -> None:
    """Same input, same bytes: hash seeds 0, 1 and 42, and a run from another folder."""
    script = (
        "import sys, pathlib, pypto_rw\n"
        "for name in sys.argv[1:]:\n"
        "    text = pathlib.Path(name).read_text(encoding='utf-8')\n"
        "    target = 'a5' if '# target: a5' in text else 'a2a3'\n"
        "    for planner in ('pypto', 'ptoas'):\n"
        "        print(pypto_rw.lower(text, filename='kernel.pyir', target=target, planner=planner).mlir)\n"
    )
    chosen = ["if_tile", "loop_carries", "matmul_acc_init", "cross_core", "composite_dims", "scalar_operands"]
    paths = [str(ROOT / "tests" / "kernels" / f"{name}.pyir") for name in chosen]

    def output(seed: str, folder: Path) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", script, *paths]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True).stdout

    first = output("0", ROOT)
    assert first
    assert [output(seed, folder) == first for seed, folder in (("1", ROOT), ("42", ROOT), ("0", tmp_path))] == [
        True
    ] * 3
