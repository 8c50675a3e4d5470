"""What the comments of a test file say."""

from __future__ import annotations

import re

from pypto_rw.records import dataclass

KINDS = ("", "-NEXT", "-SAME", "-NOT", "-DAG", "-LABEL")
_RUN = re.compile(r"(?:#|//)\s*RUN:\s*(.*)")
_CHECK = re.compile(r"\s*(?:#|//)\s*([A-Z][A-Z0-9_]*?)((?:-[A-Z]+)*):(.*)")
_EXPECTED = re.compile(r"(?:#|//)\s*expected-(error|warning|note)(?:@([^\s{]+))?\s*\{\{(.*?)\}\}")
_COMMENT = re.compile(r"\s*(?:#|//)")


class ScriptError(Exception):
    """A test file that cannot be run; the message has its path and line."""


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK line: its own line number, the kind after the prefix (`-NEXT`, …), the pattern."""

    line: int
    prefix: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Expected:
    """An `expected-…` comment: its own line number, the severity, the line it is about, what the finding must say."""

    line: int
    severity: str
    about: int
    text: str


@dataclass(frozen=True, slots=True)
class Script:
    """A test file. `runs`: line and command; a command that ends in a backslash goes on in the next RUN line."""

    path: str
    text: str
    runs: tuple[tuple[int, str], ...]
    expected: tuple[Expected, ...]

    def checks(self, prefixes: tuple[str, ...]) -> list[Check]:
        """The CHECK lines with one of the prefixes. Raises ScriptError for a kind there is not."""
        found = []
        for number, line in enumerate(self.text.split("\n"), 1):
            m = _CHECK.match(line)
            if m and m[1] in prefixes:
                if m[2] not in KINDS:
                    known = ", ".join(f"{m[1]}{k}" for k in KINDS)
                    raise ScriptError(f"{self.path}:{number}: there is no {m[1]}{m[2]}; known are {known}")
                found.append(Check(number, m[1], m[2], m[3].strip()))
        return found


def has_run_line(text: str) -> bool:
    """Whether a text is a test."""
    return _RUN.search(text) is not None


def script(path: str, text: str) -> Script:
    """What a file says. Raises ScriptError."""
    lines = text.split("\n")
    runs: list[tuple[int, str]] = []
    expected = []
    for number, line in enumerate(lines, 1):
        if m := _RUN.search(line):
            if runs and runs[-1][1].endswith("\\"):
                runs[-1] = (runs[-1][0], f"{runs[-1][1][:-1]} {m[1].strip()}")
            else:
                runs.append((number, m[1].strip()))
        for m in _EXPECTED.finditer(line):
            about = _about(path, lines, number, m[2])
            expected.append(Expected(number, m[1], about, m[3].strip()))
    return Script(path, text, tuple(runs), tuple(expected))


def is_expected(line: str) -> bool:
    """Whether a line is a comment with an expected diagnostic and nothing else."""
    return bool(_COMMENT.match(line)) and _EXPECTED.search(line) is not None


def _about(path: str, lines: list[str], number: int, where: str | None) -> int:
    """The line that `@+1`, `@-2`, `@above`, `@below` or nothing means; other expected lines between do not count."""
    if where is None:
        return number
    if where in ("above", "below"):
        step = 1 if where == "below" else -1
        number += step
        while 0 < number <= len(lines) and is_expected(lines[number - 1]):
            number += step
        return number
    if re.fullmatch(r"[+-]\d+", where):
        return number + int(where)
    raise ScriptError(f"{path}:{number}: cannot read @{where}; write @+1, @-1, @above or @below")
