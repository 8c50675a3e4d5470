"""Whole texts of `programs/`: kernel sources, orchestrations, manifests. A program may begin `# target: a5`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import pypto_rw
from tests.wrapper.conftest import PROGRAMS, Compiles

NAMES = sorted(p.stem for p in PROGRAMS.glob("*.pyir"))


def _built(name: str, out: Path, ptoas: Path, *, reference: bool = False) -> dict[str, str]:
    source = (PROGRAMS / f"{name}.pyir").read_text()
    target = "a5" if source.startswith("# target: a5") else "a2a3"
    filename = out.parent / f"{name}.pyir"
    return pypto_rw.build(source, out, filename=str(filename), target=target, ptoas=ptoas, reference=reference).files


def _shown(files: dict[str, str], folder: Path) -> str:
    texts = (f"==== {path}\n{text.replace(str(folder), '<FOLDER>')}" for path, text in files.items())
    return "\n".join(texts)


@pytest.mark.parametrize("name", NAMES)
def test_files_of(name: str, tmp_path: Path, standin: Path, parses: Compiles, snapshot: SnapshotAssertion) -> None:
    files = _built(name, tmp_path / "out", standin)
    assert _shown(files, tmp_path) == snapshot
    assert {p: (tmp_path / "out" / p).read_text() for p in files} == files
    parses(tmp_path / "out")


@pytest.mark.parametrize("name", ["halved", "grid"])
def test_reference_form_of(
    name: str, tmp_path: Path, standin: Path, parses: Compiles, snapshot: SnapshotAssertion
) -> None:
    files = _built(name, tmp_path / "out", standin, reference=True)
    assert _shown({p: t for p, t in files.items() if p.startswith("kernels/")}, tmp_path) == snapshot
    parses(tmp_path / "out")


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_is_called_with_what_its_pto_takes(name: str, tmp_path: Path, standin: Path) -> None:
    files = _built(name, tmp_path / "out", standin, reference=True)
    for path, text in files.items():
        m = re.search(r"(.*)kernels/\w+/(\w+)\.cpp$", path)
        if m is None:
            continue
        call = re.findall(rf"^    {m[2]}\((.*)\);$", text, re.MULTILINE)[-1]
        unit = next(p for p in (tmp_path / "out" / m[1] / "ptoas").glob("*.pto") if f"@{m[2]}(" in p.read_text())
        taken = re.search(rf"func\.func @{m[2]}\((.*?)\)(?: attributes .*)? {{$", unit.read_text(), re.MULTILINE)
        assert taken is not None
        assert len(call.split(", ")) == len(taken[1].split(", ")), path
