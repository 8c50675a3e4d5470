"""What a compilation does, in counts that no machine changes: a slower way shows here before anyone waits for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pypto_rw import api, lower
from pypto_rw.rewriting import egraph
from pypto_rw.syntax import lexer, reader
from tests.bench.kernels import KERNELS


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts from here on, in a process that knows nothing."""
    found: Counter[str] = Counter()

    def count(owner: Any, method: str, name: str, size: Callable[..., int] = lambda *_: 1) -> None:
        original = getattr(owner, method)

        def counted(self: Any, *arguments: Any) -> Any:
            found[name] += size(*arguments)
            return original(self, *arguments)

        monkeypatch.setattr(owner, method, counted)

    plain = lexer.Lexer._logical_line

    def line(self: lexer.Lexer, position: int) -> Iterator[Any]:
        found["lines parsed"] += 1
        yield from plain(self, position)

    monkeypatch.setenv("PYPTO_RW_CACHE", "")
    monkeypatch.setattr(api, "_engines", {})
    monkeypatch.setattr(reader, "_idle", {})
    monkeypatch.setattr(lexer.Lexer, "_logical_line", line)
    count(egraph.EGraph, "_rewrite", "shapes", lambda types, shapes: len(shapes))
    count(egraph.EGraph, "ask", "questions", lambda types, shapes: len(shapes))
    count(egraph.EGraph, "_asked", "times asked")
    count(egraph.EGraph, "_declare", "rule files")
    count(egraph.EGraph, "_saturate", "rulesets run")
    count(egraph.EGraph, "_include_text", "terms written out", lambda text: text.count("(set "))
    count(egraph.EGraph, "_fill", "rows of numbers", lambda pattern, table: len(pattern.rows))
    return found


# At most: lines the parser reads, shapes and questions the rules are given, rule files they are in, rounds they take.
LIMITS = {
    "allocated": (26, 25, 0, 30, 16),
    "unrolled": (26, 7, 0, 30, 16),
    "loops": (154, 8, 0, 30, 16),
    "functions": (48, 25, 0, 30, 16),
    "distinct": (14, 301, 0, 25, 19),
    "authored": (25, 7, 7, 36, 60),
    "various": (25, 269, 461, 36, 145),
}
NAMES = ("lines parsed", "shapes", "questions", "rule files", "rulesets run")


@pytest.mark.parametrize("name", KERNELS)
def test_a_first_compilation(name: str, counts: Counter[str]) -> None:
    lower(KERNELS[name](200))
    assert {n: counts[n] for n, most in zip(NAMES, LIMITS[name], strict=True) if counts[n] > most} == {}
    assert counts["shapes"] > 0
    assert counts["lines parsed"] > 0


@pytest.mark.parametrize("name", ["allocated", "unrolled", "functions", "authored"])
def test_ten_times_the_statements_are_no_more_shapes(name: str, counts: Counter[str]) -> None:
    lower(KERNELS[name](200))
    small = dict(counts)
    counts.clear()
    lower(KERNELS[name](2000))
    assert counts["shapes"] + counts["questions"] <= small["shapes"] + small.get("questions", 0)
    assert counts["rule files"] == 0


def test_six_times_the_shapes_are_no_more_rounds_and_no_more_text(counts: Counter[str]) -> None:
    lower(KERNELS["distinct"](200))
    small = dict(counts)
    counts.clear()
    api._engines.clear()
    lower(KERNELS["distinct"](1300))
    assert counts["shapes"] >= 6 * small["shapes"]
    assert counts["rows of numbers"] >= counts["shapes"]  # and those of their types
    for same in ("rulesets run", "terms written out", "lines parsed"):
        assert counts[same] <= small[same], same


def test_many_questions_are_asked_together(counts: Counter[str]) -> None:
    lower(KERNELS["various"](150))
    small = dict(counts)
    counts.clear()
    api._engines.clear()
    lower(KERNELS["various"](1500))
    assert counts["questions"] >= 9 * small["questions"]
    for same in ("times asked", "rulesets run", "lines parsed"):
        assert counts[same] <= small[same], same


@pytest.mark.parametrize("name", KERNELS)
def test_a_second_compilation_asks_no_rule(name: str, counts: Counter[str]) -> None:
    source = KERNELS[name](200)
    lower(source)
    counts.clear()
    lower(source)
    assert set(counts) <= {"lines parsed"}
