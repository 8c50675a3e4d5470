"""The fact files are what core/assembler.egg declares, and their conditions can be read."""

from __future__ import annotations

import re

import pytest

from pypto_rw.assembler.expression import holds
from pypto_rw.assembler.families import FAMILIES
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.rulefile import statements

_BOOK = Rulebook()
_NAMES = [n for n in _BOOK.names() if n.startswith("instruction/")]


def _file(name: str) -> RuleFile:
    found = _BOOK.file(name)
    assert found is not None
    return found


def _declared() -> dict[str, int]:
    text = _file("core/assembler").text
    return {m[1]: m[2].count("String") for m in re.finditer(r"^\(relation (\S+) \(([^)]*)\)\)", text, re.M)}


def test_every_kind_of_fact_is_declared_and_checked() -> None:
    other = {"instruction", "alias", "element-way", "assembler-memory", "lifted"}
    assert _declared().keys() == FAMILIES.keys() | other


@pytest.mark.parametrize("name", _NAMES)
def test_the_facts_of(name: str) -> None:
    text = _file(name).text
    declared = _declared()
    found = list(statements(text))
    # every line is a fact or a comment, and every fact is read
    assert len(found) == sum(1 for line in text.splitlines() if line.startswith("("))
    forms = {a[0] for head, a in found if head == "instruction"}
    for head, arguments in found:
        assert len(arguments) == declared[head], (head, arguments)
        assert arguments[0] in forms
        if head == "instruction":
            continue
        for target in arguments[1].split():
            assert re.fullmatch(r"(a2a3|a5)(@0\.(57|60))?", target)
    conditions = [a[4] for head, a in found if head in ("demand", "instruction") and a[4]]
    conditions += [m for head, a in found if head == "demand" for m in re.findall(r"\{([^{}]*)\}", a[6])]
    for condition in conditions:
        holds(condition, lambda name: None)  # ValueError for one that cannot be read


def test_the_facts_are_egglog() -> None:
    from egglog import bindings

    graph = bindings.EGraph()
    for name in ("core/assembler", *_NAMES, "target/assembler-memory", "target/ptoas-0.60"):
        graph.run_program(*graph.parse_program(_file(name).text, name))
