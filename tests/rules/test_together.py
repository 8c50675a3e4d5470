"""All rule files load into one engine: no two declare one name, and none uses another's name as a variable."""

from __future__ import annotations

import re

import pytest

from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook
from tests.conftest import ROOT


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_all_ops_load_together(target: str) -> None:
    book = Rulebook()
    engine = Engine(book, target=target, facts=("(addresses)", "(as-specified)"))
    ops = [s.op for s in book.ops()]
    assert len(ops) > 180
    for op in ops:
        assert engine.load_op(op), op


def test_inequality_is_with_terms_that_exist() -> None:
    """`(!= d (at n))` is silent while no `(at n)` was made; a file that says it makes the term itself."""
    for path in sorted((ROOT / "rules").rglob("*.egg")):
        text = path.read_text()
        for term in re.findall(r"\(!= [^()]+ (\((?:at|dyn|Scalar|Array|Ptr|View|Tile|Opaque) [^()]*\))", text):
            assert f") {term}) :" in text, f"{path.name}: no rule makes {term}"
