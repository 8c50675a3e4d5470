"""Words, statements and open calls of a kernel's text, also of one that does not parse.

Nothing is refused here: an unclosed bracket ends where a line starts with a word that only starts statements.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from typing import NamedTuple

from pypto_rw.diagnostics import Span

_TOKEN = re.compile(
    r"""(?P<comment>\#.*)|(?P<string>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|(?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*\.?)"""
    r"""|(?P<number>\d[\w.]*)|(?P<open>[\[({])|(?P<close>[\])}])|(?P<mark>->|:=|[=!<>]=|\S)"""
)
_BREAK = re.compile(r"\r\n|\r|\n")
_STARTS = frozenset({"def", "class", "return", "import", "from", "with", "while", "@"})
_NOT_NAMES = frozenset(keyword.kwlist)


class Word(NamedTuple):
    """A token: its kind, its text, and its 1-based place; `column` and `end` in characters."""

    kind: str
    text: str
    line: int
    column: int
    end: int

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.line, self.column, self.line, self.end)


class Definition(NamedTuple):
    """A name that a statement, a loop or a function head gives a value."""

    name: str
    span: Span
    kind: str  # value | parameter | function


class Head(NamedTuple):
    """A function's `def`: its name, and its lines from `start` to before `end`."""

    name: Word
    start: int
    end: int


class OpenCall(NamedTuple):
    """The innermost call that is open at a place: its callee, the keywords given in it, and how many commas precede."""

    callee: Word
    keywords: tuple[str, ...]
    position: int
    value_of: str | None  # the keyword whose value is being written


class Text:
    """A text as lines of words; brackets join lines to statements."""

    def __init__(self, source: str) -> None:
        self.lines = _BREAK.split(source)
        self.statements: list[list[Word]] = []
        self._read()
        self.functions = list(self._functions())
        self.definitions = list(self._definitions())

    def _read(self) -> None:
        depth, statement = 0, []  # type: int, list[Word]
        for number, line in enumerate(self.lines, 1):
            words = [
                Word(m.lastgroup or "mark", m[0], number, m.start() + 1, m.end() + 1) for m in _TOKEN.finditer(line)
            ]
            words = [w for w in words if w.kind != "comment"]
            if not words:
                continue
            if depth and words[0].text in _STARTS:
                depth = 0
            if not depth and statement:
                self.statements.append(statement)
                statement = []
            statement += words
            depth = max(0, depth + sum((w.kind == "open") - (w.kind == "close") for w in words))
        if statement:
            self.statements.append(statement)

    def word_at(self, line: int, column: int) -> Word | None:
        """The word, dots included, that covers a place or ends there."""
        return next((w for w in self._on(line) if w.kind == "word" and w.column <= column <= w.end), None)

    def _on(self, line: int) -> Iterator[Word]:
        return (w for statement in self.statements if _covers(statement, line) for w in statement if w.line == line)

    def inside_text(self, line: int, column: int) -> bool:
        """Whether a place is in a comment or in a string."""
        if not 0 < line <= len(self.lines):
            return False
        for m in _TOKEN.finditer(self.lines[line - 1]):
            if m.lastgroup in ("comment", "string") and m.start() + 1 < column:
                ended = m.lastgroup == "string" and len(m[0]) > 1 and m[0][-1] == m[0][0]
                if column <= m.end() or (column == m.end() + 1 and not ended):
                    return True
        return False

    # ------------------------------------------------------------------------------------------------- names

    def _functions(self) -> Iterator[Head]:
        heads = [(s[0], s[1]) for s in self.statements if s[0].text == "def" and len(s) > 1 and s[1].kind == "word"]
        for k, (start, name) in enumerate(heads):
            end = heads[k + 1][0].line if k + 1 < len(heads) else len(self.lines) + 1
            yield Head(name, start.line, end)

    def function_at(self, line: int) -> Head | None:
        """The function a line belongs to."""
        return next((f for f in self.functions if f.start <= line < f.end), None)

    def _definitions(self) -> Iterator[Definition]:
        for statement in self.statements:
            first = statement[0]
            if first.text == "def":
                yield from _parameters(statement)
            elif first.text in ("for", "with"):
                word = "in" if first.text == "for" else "as"
                cut = next((k for k, w in enumerate(statement) if w.text == word), len(statement))
                names = statement[1:cut] if word == "in" else statement[cut + 1 :]
                yield from (Definition(w.text, w.span, "value") for w in names if _is_name(w))
            else:
                targets = statement[: _assignment(statement)]
                yield from (Definition(w.text, w.span, "value") for w in targets if _is_name(w))

    def definition_of(self, name: str, line: int, column: int) -> Definition | None:
        """Where the value that `name` has at a place comes from: the last definition before it in its function, else
        the first one after it (a loop comes back), else the module's."""
        head = self.function_at(line)
        found = [d for d in self.definitions if d.name == name]
        if head is not None:
            own = [d for d in found if head.start <= d.span.line < head.end and d.kind != "function"]
            exact = [d for d in own if d.span.line == line and d.span.column <= column <= d.span.end_column]
            begin = self._start(line)
            before = [d for d in own if d.span.line < begin or (d.kind == "parameter" and d.span.line <= line)]
            if chosen := exact or before[-1:] or own[:1]:
                return chosen[0]
        outside = [d for d in found if self.function_at(d.span.line) is None or d.kind == "function"]
        return outside[0] if outside else None

    def _start(self, line: int) -> int:
        return next((s[0].line for s in self.statements if _covers(s, line)), line)

    def names_at(self, line: int) -> list[str]:
        """Names that have a value at a line, in order."""
        head = self.function_at(line)
        return list(
            dict.fromkeys(
                d.name
                for d in self.definitions
                if d.kind != "function" and (d.span.line < line if head is None else head.start <= d.span.line < line)
            )
        )

    # ------------------------------------------------------------------------------------------------- calls

    def call_at(self, line: int, column: int) -> OpenCall | None:
        """The innermost call whose parentheses are open at a place."""
        statement = next((s for s in self.statements if _covers(s, line)), None)
        if statement is None:  # an empty line below an open bracket belongs to the statement above
            above = [s for s in self.statements if s[0].line <= line]
            statement = above[-1] if above else []
        opened: list[tuple[int, Word | None]] = []
        before = [w for w in statement if (w.line, w.column) < (line, column)]
        for k, word in enumerate(before):
            if word.kind == "open":
                callee = before[k - 1] if k and word.text == "(" and before[k - 1].kind == "word" else None
                opened.append((k, callee))
            elif word.kind == "close" and opened:
                opened.pop()
        if not opened or opened[-1][1] is None:
            return None
        at, callee = opened[-1]
        if callee is None or (at > 1 and before[at - 2].text == "def"):
            return None
        inner = list(_flat(before[at + 1 :]))
        later = [w for w in statement if (w.line, w.column) >= (line, column)]
        pairs = zip([*inner, *_own(later)], [*inner, *_own(later)][1:], strict=False)
        keywords = tuple(a.text for a, b in pairs if a.kind == "word" and b.text == "=")
        commas = [k for k, w in enumerate(inner) if w.text == ","]
        last = inner[commas[-1] + 1 :] if commas else inner
        value_of = last[0].text if len(last) > 1 and last[1].text == "=" else None
        return OpenCall(callee, keywords, len(commas), value_of)


def _covers(statement: list[Word], line: int) -> bool:
    return statement[0].line <= line <= statement[-1].line


def _is_name(word: Word) -> bool:
    return word.kind == "word" and "." not in word.text and word.text not in _NOT_NAMES


def _flat(words: list[Word]) -> Iterator[Word]:
    """The words that are in no bracket of their own."""
    depth = 0
    for word in words:
        depth -= word.kind == "close"
        if depth == 0:
            yield word
        depth += word.kind == "open"


def _own(words: list[Word]) -> Iterator[Word]:
    """The words after a place that belong to the bracket open there."""
    depth = 0
    for word in words:
        if word.kind == "close":
            if depth == 0:
                return
            depth -= 1
        elif depth == 0:
            yield word
        depth += word.kind == "open"


def _assignment(statement: list[Word]) -> int:
    """How many words are targets: those before the `:` of an annotation or the `=`; 0 where nothing is assigned."""
    depth = 0
    targets: int | None = None
    for k, word in enumerate(statement):
        depth += (word.kind == "open") - (word.kind == "close")
        if depth:
            continue
        if word.text == ":" and targets is None:
            targets = k
        elif word.text == "=":
            return k if targets is None else targets
    return 0


def _parameters(statement: list[Word]) -> Iterator[Definition]:
    name = statement[1] if len(statement) > 1 else None
    if name is None or name.kind != "word":
        return
    yield Definition(name.text, name.span, "function")
    depth = 0
    for k, word in enumerate(statement[2:], 2):
        if depth == 1 and _is_name(word) and statement[k - 1].text in ("(", ",") and word.text != "self":
            yield Definition(word.text, word.span, "parameter")
        depth += (word.kind == "open") - (word.kind == "close")
        if depth == 0:
            return
