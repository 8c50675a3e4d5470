"""The stand-in assembler as an executable, and the system's C++ compiler over stub headers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
DEVICE = ("-D__aicore__=",)
MODES = (DEVICE, ("-D__CPU_SIM",), ("-D__COSTMODEL", *DEVICE))
Compiles = Callable[[Path], None]


def functions(text: str) -> dict[str, str]:
    """The functions of a program's text, by name; "" is what stands before them."""
    parts = re.split(r"^(?=    @pl\.function)", text, flags=re.MULTILINE)
    names = [m[1] if (m := re.search(r"^    def (\w+)", part, re.MULTILINE)) else "" for part in parts]
    return dict(zip(names, parts, strict=True))


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in assembler."""
    program = tmp_path_factory.mktemp("assembler") / "ptoas"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {HERE / "standin.py"} "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture(scope="session")
def parses() -> Compiles:
    """Every C++ file below a folder must parse, kernels for device, simulation and cost model."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")

    def check(folder: Path) -> None:
        for file in sorted(folder.rglob("*.cpp")):
            kind = file.relative_to(folder).as_posix()
            if "ptoas/" in kind:
                continue
            for mode in MODES if "kernels/" in kind else ((),):
                command = [compiler, "-std=c++17", "-fsyntax-only", "-w", *mode, "-I", str(HERE / "stubs"), str(file)]
                result = subprocess.run(command, capture_output=True, text=True, check=False)
                assert result.returncode == 0, f"{kind} {mode}\n{result.stderr}"

    return check
