"""Shared by all tests: the console command as a subprocess, and where the development corpus is, if anywhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pypto_rw import kept

ROOT = Path(__file__).resolve().parent.parent
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def pypto_rw_command() -> Run:
    """Run `pypto-rw ARGS` and give its result."""

    def run(*arguments: str, stdin: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pypto_rw", *arguments], input=stdin, capture_output=True, text=True, cwd=cwd
        )

    return run


@pytest.fixture(autouse=True)
def nothing_is_kept() -> None:
    """No function is known from a test before."""
    kept.forget()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kernels", type=int, default=30, help="how many random kernels the planners must plan (2000)")


@pytest.fixture
def corpus() -> Path:
    """The conformance corpus of the development checkout; the test is skipped where it is not there."""
    found = ROOT.parent / "shared" / "corpus"
    if not found.is_dir():
        pytest.skip("no conformance corpus beside the repository")
    return found
