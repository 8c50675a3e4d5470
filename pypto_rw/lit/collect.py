"""Test files as pytest's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pypto_rw.lit.bless import blessed
from pypto_rw.lit.run import run
from pypto_rw.lit.script import ScriptError, has_run_line, script


def collected(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The tests of a file; None for one without a RUN line."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not has_run_line(text):
        return None
    made: LitFile = LitFile.from_parent(parent, path=path)
    return made


class LitFile(pytest.File):
    """One test file: one test."""

    def collect(self) -> Iterator[pytest.Item]:
        """The test."""
        yield LitItem.from_parent(self, name="RUN")


class _Failed(Exception):
    """What a test file's failures say."""


class LitItem(pytest.Item):
    """All RUN lines of a file. It has no fixtures, but plugins ask every item for its `funcargs`."""

    def __init__(self, **known: Any) -> None:
        super().__init__(**known)
        self.funcargs: dict[str, object] = {}

    def runtest(self) -> None:
        """Run them; with `--bless` the file is rewritten first where it fails."""
        try:
            test = script(str(self.path), self.path.read_bytes().decode("utf-8"))
            if self.config.getoption("--bless") and any(r.failures for r in run(test)):
                text = blessed(test)
                self.path.write_bytes(text.encode("utf-8"))
                test = script(str(self.path), text)
            failures = [f for r in run(test) for f in r.failures]
        except ScriptError as error:
            raise _Failed(str(error)) from None
        if failures:
            raise _Failed("\n".join(f"{self.path}:{line}: {message}" for line, message in dict.fromkeys(failures)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """The failures, without a traceback through this file."""
        if isinstance(excinfo.value, _Failed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test is."""
        return self.path, 0, self.path.name
