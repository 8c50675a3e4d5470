"""Tests in the comments of a kernel: `# RUN:`, `# CHECK:`, `# expected-error@+1 {{…}}`. By hand: `pypto-rw lit`.

    script    what a file says: its commands, checks and expected diagnostics
    pattern   one CHECK line as a regular expression
    filecheck a text against CHECK lines
    expect    diagnostics against `expected-…` lines
    run       the commands of a file
    bless     a file with its lines as they would have to be

As a pytest plugin (`pytest -p pypto_rw.lit`) it collects the `.pyir` files that have a RUN line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless`: rewrite the CHECK and expected lines of the files that fail."""
    parser.addoption("--bless", action="store_true", help="pypto_rw.lit: rewrite CHECK and expected lines that fail")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A test for each `.pyir` file with a RUN line."""
    if file_path.suffix != ".pyir":
        return None
    from pypto_rw.lit.collect import collected

    return collected(file_path, parent)
