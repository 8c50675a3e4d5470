"""Tokens of one line of `.pto` text. A type or attribute with its angle brackets is one token."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<value>%[\w.$]+)
      | (?P<symbol>@[\w.$]+)
      | (?P<label>\^\w+)
      | (?P<arrow>->)
      | (?P<number>0x[0-9A-Fa-f]+|-?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf\b|nan\b))
      | (?P<head>[!\#][A-Za-z][\w.]*)
      | (?P<word>[A-Za-z_][\w.]*)
      | (?P<angle>(?=<))
      | (?P<punct>[()\[\]{},:=])
      | (?P<bad>.)""",
    re.X | re.A,
)


class Token(NamedTuple):
    """`kind` is a group of the table above; line and column count from 1."""

    kind: str
    text: str
    line: int
    column: int


def tokens(text: str, line: int) -> list[Token]:
    """The tokens of `text`, the line numbered `line`; a character no token starts with has kind `bad`."""
    out: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:  # only a line break, which no line contains
            out.append(Token("bad", text[position], line, position + 1))
            return out
        kind, end = match.lastgroup or "bad", match.end()
        if kind in ("head", "word", "angle") and text.startswith("<", end):
            closed = _closing(text, end)
            if closed == 0:
                out.append(Token("bad", text[position:], line, position + 1))
                return out
            kind, end = ("typed" if kind == "word" else kind), closed
        if kind != "space":
            out.append(Token(kind, text[position:end], line, position + 1))
        position = end
    return out


def _closing(text: str, start: int) -> int:
    """Position after the `>` that closes the `<` at `start`; 0 where none does."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] == "<":
            depth += 1
        elif text[position] == ">":
            depth -= 1
            if depth == 0:
                return position + 1
    return 0
