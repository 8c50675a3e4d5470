"""The stored parse tables: used, replaced when damaged, done without where there is no place for them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pypto_rw import cache
from pypto_rw.syntax import machine, parse
from tests.syntax.kernels import DUMP


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder, and no tables in memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PYPTO_RW_CACHE", raising=False)
    machine.tables.cache_clear()
    yield tmp_path / "pypto_rw"
    machine.tables.cache_clear()


def again() -> str:
    machine.tables.cache_clear()
    return repr(parse(DUMP))


def stored(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_stored_tables_give_the_same_tree(folder: Path) -> None:
    built = again()
    before = stored(folder).stat().st_mtime_ns
    assert again() == built
    assert stored(folder).stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", [b"", b"junk", b"\0" * 5000])
def test_damaged_tables_are_built_anew(folder: Path, damage: bytes) -> None:
    built = again()
    whole = stored(folder).read_bytes()
    for content in (damage, whole[:-1], whole[:40], whole[:1000] + b"x" + whole[1001:]):
        stored(folder).write_bytes(content)
        assert again() == built
        assert stored(folder).read_bytes() != content
        assert again() == built


def test_tables_of_something_else_are_built_anew(folder: Path) -> None:
    built = again()
    values: tuple[Any, ...] = (7, (1, 2), ("another grammar", ([], [], {})))
    for value in values:
        cache.store(stored(folder).name, value)
        assert again() == built


def test_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    built = again()
    for value in (str(blocked), str(blocked / "below"), "relative", "", "/dev/null", "/\0"):
        if "\0" not in value:
            monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setenv("HOME", str(blocked))
        assert again() == built
    machine.tables.cache_clear()


def test_processes_at_once(tmp_path: Path) -> None:
    script = "from pypto_rw.syntax import parse; import sys; print(len(parse(sys.stdin.read()).functions))"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(4)
    ]
    for process in running:
        output, _ = process.communicate(DUMP)
        assert (process.returncode, output) == (0, "1\n")
    assert len(list((tmp_path / "pypto_rw").iterdir())) == 1


def test_lark_is_not_imported_where_the_tables_are_shipped(folder: Path) -> None:
    script = "import sys; from pypto_rw.syntax import parse; parse(sys.stdin.read()); print('lark' in sys.modules)"
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            input=DUMP,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert printed == ["False\n", "False\n"]
