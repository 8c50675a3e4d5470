"""Whole functions that were read before, at the same place of a text: taken as they are, without a look at their lines.

What a function is read into depends on its lines, on the line it begins in, on how deep it stands, on the prefixes of
the language, and on the file-level statements above it; that is its key. The statements are there as text, all lines
above the first `@…`: the parser has not seen the last one yet when a function is asked for. Only functions whose end
shows in the indentation of their lines are taken: below `@…` comes `def`, and then lines that are indented more."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from pypto_rw import ir, kept
from pypto_rw.diagnostics import Span


class Unchanged(NamedTuple):
    """A function, the functions it calls, and the number of the line behind it."""

    function: ir.Function
    calls: tuple[tuple[str, Span], ...]
    after: int


class Functions:
    """The functions of one file: asked at each line `@…`, told about the module in the end.

    `calls` are the calls of functions by their names that were met so far; those of a function taken are added."""

    def __init__(self, lines: list[str], prefixes: Hashable, calls: list[tuple[str, Span]]) -> None:
        self._lines = lines
        self._calls = calls
        self._prefixes = prefixes
        starts = [k for k, line in enumerate(lines) if "@" in line and line.lstrip(" \t\f")[0] == "@"]
        self._next = dict(zip(starts, (*starts[1:], len(lines)), strict=False))
        first = starts[0] if starts else 0
        self._above = tuple(lines[:first])
        # file-level statements below the first function: what comes after them depends on all that is above
        self._among = next((k for k in range(first, len(lines)) if _is_statement(lines[k])), len(lines))
        self._again: list[tuple[Hashable, int, int]] = []  # texts that were read before but not kept, and where

    def __call__(self, start: int, depth: int) -> Unchanged | None:
        """The function whose decorator is in the line of this index; `depth`: how many blocks are open."""
        end = self._next[start]
        while _says_nothing(self._lines[end - 1]):
            end -= 1
        above = self._above if start < self._among else tuple(self._lines[:start])
        key = (self._prefixes, above, start, depth, *self._lines[start:end])
        found: Unchanged | None = kept.read(key)
        if found is not None:
            self._calls += found.calls
            return found
        if kept.again(key):
            self._again.append((key, start, end))
        return None

    def learn(self, module: ir.Module) -> None:
        """Keep what has been read again, out of the whole module."""
        if not self._again:
            return
        by_line = {f.span.line: f for f in module.functions}
        for key, start, end in self._again:
            function = by_line.get(start + 2)
            if function is not None and _ends_by_indentation(self._lines[start:end]):
                own = tuple((name, span) for name, span in self._calls if start < span.line <= end)
                kept.keep(key, Unchanged(function, own, end), function, end - start)


def _is_statement(line: str) -> bool:
    """Whether a line that is not indented may be part of a statement, and not only of a function or class."""
    return line[:1] not in ("", " ", "\t", "\f", "@", "#", ")") and not line.startswith(("def ", "class "))


def _says_nothing(line: str) -> bool:
    body = line.lstrip(" \t\f")
    return not body or body[0] == "#"


def _ends_by_indentation(lines: list[str]) -> bool:
    """Whether a function, `@…` being the first of these lines, goes up to the last one and no further."""
    indent = lines[0][: lines[0].index("@")]
    if lines[-1].rstrip(" \t\f").endswith("\\") or not lines[1].startswith(f"{indent}def "):
        return False
    for line in lines:
        if "\t" in line or "\f" in line or "'''" in line or '"""' in line:
            return False
    return all(line.startswith((f"{indent} ", f"{indent})")) for line in lines[2:] if line.strip(" "))
