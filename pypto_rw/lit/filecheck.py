"""A text against CHECK lines, as LLVM's FileCheck does it: the part that tests of texts need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from pypto_rw.lit.pattern import compiled, example, plain
from pypto_rw.lit.script import Check
from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """A CHECK line that does not hold. `at` is the line of the output where the search began, `nearest` the one most
    like the CHECK line (from 1; 0: none), `offered` what of that line could have matched."""

    check: Check
    message: str
    at: int
    nearest: int = 0
    offered: str = ""


def filecheck(checks: Sequence[Check], text: str) -> Failure | None:
    """The first CHECK line that the text does not fulfil."""
    return _Matcher(plain(text)).run(checks)


class _Matcher:
    def __init__(self, text: str) -> None:
        self.text = text
        self.values: dict[str, str] = {}
        self.check: Check | None = None

    def run(self, checks: Sequence[Check]) -> Failure | None:
        """Labels first: they divide the text, so that one fault does not hide the next function's."""
        try:
            at = 0
            blocks: list[tuple[list[Check], int, int]] = []
            inside: list[Check] = []
            start = 0
            for check in checks:
                if check.kind == "-LABEL":
                    m = self._search(check, at, len(self.text))
                    blocks.append((inside, start, m.start()))
                    inside, start, at = [], m.end(), m.end()
                else:
                    inside.append(check)
            for part, begin, end in [*blocks, (inside, start, len(self.text))]:
                self._block(part, begin, end)
        except _Stop as stop:
            return stop.failure
        return None

    def _block(self, checks: list[Check], at: int, end: int) -> None:
        nots: list[Check] = []
        found: list[tuple[int, int]] = []  # what the present run of DAG lines matched
        first = at
        for check in checks:
            if check.kind == "-NOT":
                nots.append(check)
                continue
            if check.kind == "-DAG":
                if not found or nots:
                    first, found = at, []
                m = self._free(check, first, end, found)
            else:
                found = []
                m = self._next(check, at, end)
            if check.kind != "-DAG" or m.start() >= at:
                self._absent(nots, at, m.start())
            nots = []
            found = [*found, m.span()] if check.kind == "-DAG" else found
            at = max(at, m.end())
            self.values.update({k: v for k, v in m.groupdict().items() if v is not None})
        self._absent(nots, at, end)

    def _next(self, check: Check, at: int, end: int) -> re.Match[str]:
        line_end = self.text.find("\n", at, end)
        line_end = end if line_end < 0 else line_end
        if check.kind == "-SAME":
            return self._search(check, at, line_end, "is not on the same line")
        if check.kind == "-NEXT":
            following = self.text.find("\n", line_end + 1, end)
            return self._search(
                check, min(line_end + 1, end), end if following < 0 else following, "is not the next line"
            )
        return self._search(check, at, end)

    def _free(self, check: Check, at: int, end: int, taken: list[tuple[int, int]]) -> re.Match[str]:
        """A match from `at` on that no other DAG line of the run has."""
        while True:
            m = self._search(check, at, end)
            clash = next((t for t in taken if m.start() < t[1] and t[0] < m.end()), None)
            if clash is None:
                return m
            at = max(clash[1], m.start() + 1)

    def _absent(self, nots: list[Check], at: int, end: int) -> None:
        for check in nots:
            if m := self._pattern(check, at).search(self.text, at, end):
                raise _Stop(Failure(check, "is there", self._line(at), self._line(m.start())))

    def _search(self, check: Check, at: int, end: int, message: str = "is not found") -> re.Match[str]:
        m = self._pattern(check, at).search(self.text, at, end)
        if m is None:
            nearest = self._nearest(check, at)
            offered = self.text.split("\n")[nearest - 1] if nearest else ""
            if check.kind == "-SAME":
                offered = self.text[at:end]
            raise _Stop(Failure(check, message, self._line(at), nearest, offered.strip()))
        return m

    def _pattern(self, check: Check, at: int) -> re.Pattern[str]:
        try:
            return compiled(check.text, self.values)
        except ValueError as error:
            raise _Stop(Failure(check, str(error), self._line(at))) from None

    def _line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def _nearest(self, check: Check, at: int) -> int:
        """The line that was searched, for NEXT and SAME; else the most similar one from here on, or at all."""
        lines = self.text.split("\n")
        here = self._line(at)
        if check.kind in ("-NEXT", "-SAME"):
            return here if lines[here - 1].strip() else 0
        wanted = example(check.text, self.values)
        for candidates in (range(here, len(lines) + 1), range(1, here)):
            rated = [(_similar(wanted, lines[n - 1].strip()), -n) for n in candidates if lines[n - 1].strip()]
            if rated and max(rated)[0] > 0.5:
                return -max(rated)[1]
        return 0


def _similar(a: str, b: str) -> float:
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() > 0.5 and matcher.quick_ratio() > 0.5 else 0.0


class _Stop(Exception):
    def __init__(self, failure: Failure) -> None:
        self.failure = failure
