"""Every example and refusal written in a rule file holds, on every target it names."""

from __future__ import annotations

import pytest

from pypto_rw.examples import Runner, examples
from pypto_rw.rewriting.rulebook import Rulebook

_BOOK = Rulebook()
_RUNNER = Runner(_BOOK)
_FILES = [n for n in _BOOK.names() if not n.startswith(("core/", "form/", "instruction/", "target/", "scalar/"))]


@pytest.mark.parametrize("name", _BOOK.names())
def test_examples_of(name: str) -> None:
    file = _BOOK.file(name)
    assert file is not None
    failed = [
        f"{file.path.name}:{outcome.example.line}: {outcome.target}: {outcome.message}"
        for example in examples(file)
        for outcome in _RUNNER.run(example)
        if outcome.message
    ]
    assert failed == []


@pytest.mark.parametrize("name", _FILES)
def test_an_op_file_declares_its_op_and_shows_it(name: str) -> None:
    file = _BOOK.file(name)
    assert file is not None
    assert [s.op for s in file.signatures] == [name.replace("/", ".")]
    assert file.text.startswith(f"; {name.replace('/', '.')} -- ")
    assert any(True for _ in examples(file)), "the file has no example"
