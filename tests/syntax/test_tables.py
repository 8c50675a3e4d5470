"""The parse tables that are shipped are those of the grammar; another grammar's are made anew."""

from __future__ import annotations

import pytest

from pypto_rw import lower
from pypto_rw.syntax import machine, tables
from tests.bench.kernels import KERNELS
from tests.conftest import ROOT


def test_the_shipped_tables_are_those_of_the_grammar() -> None:
    """`python -m pypto_rw.syntax.tables > grammar/pyir.json` makes them so."""
    assert (ROOT / "grammar" / "pyir.json").read_text() == tables.shipped(machine.grammar_text())


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The grammars of which tables are made, in a process that knows none."""
    made: list[str] = []
    plain = tables.built

    def built(grammar: str) -> machine.Tables:
        made.append(grammar)
        return plain(grammar)

    monkeypatch.setenv("PYPTO_RW_CACHE", "")
    monkeypatch.setattr(tables, "built", built)
    machine.tables.cache_clear()
    machine._reductions.cache_clear()
    return made


def test_shipped_tables_are_read(counted: list[str]) -> None:
    found = machine.tables()
    assert counted == []
    assert found == tables.built(machine.grammar_text())
    assert lower(KERNELS["allocated"](10)).mlir


def test_tables_of_another_grammar_are_not(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    other = machine.grammar_text() + "\n// changed\n"
    monkeypatch.setattr(machine, "grammar_text", lambda: other)
    machine.tables()
    machine.tables.cache_clear()
    assert counted == [other]
