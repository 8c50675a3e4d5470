"""All rule files load into one engine: no two declare one name, and none uses another's name as a variable."""

from __future__ import annotations

import pytest

from pypto_rw.engine import Engine
from pypto_rw.rulebook import Rulebook


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_all_ops_load_together(target: str) -> None:
    book = Rulebook()
    engine = Engine(book, target=target, facts=("(addresses)", "(as-specified)"))
    ops = [s.op for s in book.ops()]
    assert len(ops) > 180
    for op in ops:
        assert engine.load_op(op), op
