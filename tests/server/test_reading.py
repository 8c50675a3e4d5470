"""What the server reads off a text by itself: names, calls and statements, whole or half written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_rw.options import Options
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.server.analysis import Analysis
from pypto_rw.server.catalogue import Catalogue
from pypto_rw.server.completion import complete
from pypto_rw.server.navigation import definition, symbols
from pypto_rw.server.scan import Text
from tests.server.test_protocol import KERNEL

CATALOGUE = Catalogue(Rulebook())


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("f(a, b=1, | )", ("f", ("b",), 2, None)),
        ("f(a, b=|", ("f", ("b",), 1, "b")),
        ("f(a, g(x, |), c=2)", ("g", (), 1, None)),
        ("f(a, g(x), |c=2)", ("f", ("c",), 2, None)),
        ("f([1, |2], 3)", None),
        ("f(a)\n|", None),
        ("t = pl.load(\n    x,\n    [0, 0],\n    |\n)", ("pl.load", (), 2, None)),
        ("def f(a, |b):", None),
        ("f(')', |", ("f", (), 1, None)),
        ("f(a, # g(\n  |", ("f", (), 1, None)),
    ],
)
def test_the_call_at_a_place(source: str, shown: tuple[str, tuple[str, ...], int, str | None] | None) -> None:
    before, _, after = source.partition("|")
    line, column = before.count("\n") + 1, len(before.split("\n")[-1]) + 1
    call = Text(before + after).call_at(line, column)
    assert (call and (call.callee.text, call.keywords, call.position, call.value_of)) == shown


def test_what_defines_a_name() -> None:
    text = Text(
        "N = pl.dynamic('N')\n"
        "def f(x: pl.Tensor[[4, 4], pl.FP32], n):\n"
        "    for i, (acc, low) in pl.range(4, init_values=(x, n)):\n"
        "        a, b = pl.yield_(acc,\n"
        "            low=1)\n"
        "    with pl.at(x) as core:\n"
        "        t: pl.Tile[[4, 4], pl.FP32] = pl.load(x, a=1)\n"
    )
    assert [(d.name, d.kind, d.span.line, d.span.column) for d in text.definitions] == [
        ("N", "value", 1, 1),
        ("f", "function", 2, 5),
        ("x", "parameter", 2, 7),
        ("n", "parameter", 2, 38),
        ("i", "value", 3, 9),
        ("acc", "value", 3, 13),
        ("low", "value", 3, 18),
        ("a", "value", 4, 9),
        ("b", "value", 4, 12),
        ("core", "value", 6, 22),
        ("t", "value", 7, 9),
    ]


def test_a_bracket_that_is_never_closed_ends_at_the_next_function() -> None:
    text = Text("def f(x):\n    y = pl.load(x, [0\ndef g(z):\n    w = z\n")
    assert [(s.name, s.selection.line) for s in symbols(text)] == [("f", 1), ("g", 3)]
    found = text.definition_of("z", 4, 9)
    assert found is not None and (found.name, found.kind, found.span.line, found.span.column) == (
        "z",
        "parameter",
        3,
        7,
    )


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(KERNEL)), st.integers(0, 40), st.sampled_from(["", "(", "pl.", "]", '"', "\n", "=", "é𝒳"]))
def test_no_half_written_text_is_too_much(at: int, cut: int, typed: str) -> None:
    before = KERNEL[:at] + typed
    source = before + KERNEL[at + cut :]
    line, column = before.count("\n") + 1, len(before.split("\n")[-1]) + 1
    text = Text(source)
    choices = complete(text, source, CATALOGUE, line, column)
    assert all(c.span.line == line and c.span.end_column == column for c in choices)
    targets = definition(text, _Unanalysed(source), CATALOGUE, line, column)
    assert all(
        t.path is not None or text.lines[t.span.line - 1][t.span.column - 1 : t.span.end_column - 1] for t in targets
    )
    assert all(s.span.line <= s.selection.line <= s.span.end_line for s in symbols(text))


class _Unanalysed(Analysis):
    """A text that nothing is compiled of."""

    def __init__(self, source: str) -> None:
        super().__init__(source, "kernel.pyir", Options())

    def op(self, line: int, column: int) -> str | None:
        return None
