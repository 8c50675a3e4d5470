"""Every refusal has a way out: its own, or that of its code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.ways import WAYS
from tests.conftest import ROOT


def _without(path: Path) -> list[str]:
    """Codes of the refusals that a file raises without a way out."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused":
            helped = len(node.args) > 3 or any(k.arg == "help" for k in node.keywords)
            if not helped and node.args and isinstance(node.args[0], ast.Constant):
                found.append(str(node.args[0].value))
    return found


@pytest.mark.parametrize("path", sorted(p.relative_to(ROOT) for p in (ROOT / "pypto_rw").rglob("*.py")), ids=str)
def test_a_refusal_of_the_compiler(path: Path) -> None:
    assert [code for code in _without(ROOT / path) if not WAYS.get(code)] == []


def test_a_refusal_of_a_rule() -> None:
    book = Rulebook()
    bare = []
    for name in book.names():
        file = book.file(name)
        assert file is not None
        for rule in ruletext.rules(file.text):
            actions = rule.form.parts[2].parts if rule.form.head == "rule" else ()
            bare += [rule.name for a in actions if a.head == "refuse" and a.parts[-1].text == '""']
    assert bare == []
