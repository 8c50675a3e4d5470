"""Whatever the text, the reader gives a module or a CompileError with a place inside the text."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_rw.diagnostics import CompileError
from pypto_rw.syntax import parse, write
from tests.syntax.kernels import ALL

HEAD = "import pypto.language as pl\n@pl.function\ndef f(a: pl.Scalar[pl.INT32]):\n"


def survives(source: str) -> None:
    try:
        module = parse(source, filename="fuzz.pyir")
    except CompileError as error:
        (diagnostic,) = error.diagnostics
        assert diagnostic.filename == "fuzz.pyir"
        assert diagnostic.message and "\n" not in diagnostic.message
        span = diagnostic.span
        lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert 1 <= span.line <= span.end_line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 2
        str(error).encode("utf-8")
    else:
        text = write(module)
        assert parse(text) == module
        assert write(parse(text)) == text


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(), st.binary().map(lambda b: b.decode("latin-1")), st.text("()[]{}:,='\"\\ \n\tapl.1#@")))
def test_random_text(source: str) -> None:
    survives(source)
    survives(HEAD + "    " + source)


_TEXT = (
    "( ) [ ] { } : , = == ' \" \\ # @ . .. -> ** - not if else for in def class return pl. pl.x pl.Tile[ 0 1e 0x "
    "\t \f \r \x00 \u2028 \ud800 “ é lambda break pl.yield_( pl.cond(a) None *a self ; :="
)
_PIECES = st.sampled_from(_TEXT.split(" ")) | st.sampled_from((" ", "\n", "\n    ", "\n        ", "\n\t"))


@st.composite
def _edited(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(ALL))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from((0, 0, 1, 2, 7, 60))))
        text = text[:start] + draw(_PIECES) + text[end:]
    return text


@settings(max_examples=300, deadline=None)
@given(_edited())
def test_edited_kernels(source: str) -> None:
    survives(source)


@pytest.mark.parametrize("source", ALL)
def test_cut_kernels(source: str) -> None:
    for length in range(0, len(source), 37):
        survives(source[:length])


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        HEAD + "    x = " + "(" * 5000 + "a" + ")" * 5000,
        HEAD + "    x = " + "f(" * 60 + "a" + ")" * 60,
        HEAD + "    x = " + "-" * 20_000 + "a",
        HEAD + "    x = " + "not " * 20_000 + "a",
        HEAD + "    x = " + "a + " * 20_000 + "a",
        HEAD + "    x = " + "a ** " * 20_000 + "a",
        HEAD + "    x = " + "a[0]" * 1 + "[0]" * 20_000,
        HEAD + "    x: " + "pl.Tuple[" * 20_000,
        HEAD + "    if a:\n        pass\n" + "    elif a:\n        pass\n" * 3000,
        HEAD + "".join("    " * n + "if a:\n" for n in range(1, 500)),
        HEAD + "    x = " + "9" * 50_000,
        HEAD + "    x = '" + "a" * 100_000,
        HEAD + "    '''" + "a\n" * 50_000,
        HEAD + "    x = a\\\n" * 3000,
        HEAD + "    " + "x, " * 20_000 + "= a",
        "\ufeff" + HEAD + "    return\n",
        HEAD.replace("\n", "\r\n") + "    return a\r\n",
        HEAD + "\treturn a\n",
        "\x00",
        "\ud800",
    ],
    ids=lambda source: repr(source[-24:]),
)
def test_extremes(source: str) -> None:
    started = time.process_time()
    survives(source)
    assert time.process_time() - started < 5


def test_the_collector_is_left_as_it_was() -> None:
    for source in (HEAD + "    return\n", "("):
        for enabled in (True, False):
            (gc.enable if enabled else gc.disable)()
            try:
                survives(source)
                assert gc.isenabled() is enabled
            finally:
                gc.enable()
