"""Lines `@…`, `import …`, `class …:` and `def …:` that say nothing new, read without the parser.

A decorator is known by its whole line. A function's header is known when each annotation in it is; it is taken apart
as printers and formatters write it (all on one line, or each parameter on a line of its own), and left to the parser in
any other form."""

from __future__ import annotations

import re
from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.records import dataclass, replace
from pypto_rw.syntax.parts import Part, between
from pypto_rw.syntax.tokens import Lexicon, Token

_NEXT = re.compile(r", (?=[^\W\d]\w*: )")


@dataclass(slots=True)
class Parameter:
    """A parameter as it is written; its annotation is a KNOWN token where it was read before."""

    name: Token
    annotation: Part | Token | None


@dataclass(slots=True)
class Head:
    """`def name(parameters) -> returns:`; what it returns is a type where that was read before."""

    word: Token
    name: Token
    parameters: list[Parameter]
    returns: Part | ir.Type | None
    colon: Token


@dataclass(slots=True)
class ClassHead:
    """`class name:`."""

    word: Token
    name: Token
    colon: Token


# What the annotation of a parameter says, if it is known.
_Known = Callable[[str], "tuple[str, ir.Type] | None"]


def head_of(lines: list[str], body: str, number: int, lexicon: Lexicon, annotation: _Known) -> Token | None:
    """The token of the header that begins in the line `number` (`body` without its indentation), if nothing in it is
    new. Its end tells where the header ends."""
    text = lines[number - 1]
    if text in lexicon.imports:
        return Token("READY", text, [None], number, 1, len(text) + 1)
    if "#" in body:
        return None
    reader = _Reader(lexicon, annotation)
    start = len(text) - len(body) + 1
    if body.startswith("def "):
        return reader.several(lines, body, number, start) if body[-1] == "(" else reader.single(body, number, start)
    own = reader.name(body[6:-1], number, start + 6) if body.startswith("class ") and body[-1] == ":" else None
    if own is None:
        return None
    begin = Token("CLASS", "class", "class", number, start, start + 5)
    return Token("CLASS_HEAD", body, ClassHead(begin, own, _colon(len(text) + 1, number)), number, start, len(text) + 1)


def _colon(end: int, number: int) -> Token:
    return Token("COLON", ":", ":", number, end - 1, end)


class _Reader:
    """Takes `def …:` apart."""

    def __init__(self, lexicon: Lexicon, annotation: _Known) -> None:
        self._lexicon, self._annotation = lexicon, annotation

    def name(self, word: str, number: int, column: int) -> Token | None:
        """A name, if it is one that a person may give."""
        if not (word.isascii() and word.isidentifier()) or self._lexicon[word][0] != "NAME":
            return None
        return Token("NAME", word, word, number, column, column + len(word))

    def single(self, body: str, number: int, start: int) -> Token | None:
        """A header on one line."""
        opened = body.find("(")
        closed = body.rfind(") -> ")
        if closed < 0:
            closed = len(body) - 2
        returns = self._returns(body[closed:])
        if returns is None or opened < 0:
            return None
        parameters = []
        column = start + opened + 1
        for piece in _NEXT.split(body[opened + 1 : closed]) if closed > opened + 1 else []:
            parameter = self._parameter(piece, number, column)
            if parameter is None:
                return None
            parameters.append(parameter)
            column += len(piece) + 2
        colon = _colon(start + len(body), number)
        return self._head(body[:opened], number, start, parameters, returns[0], colon)

    def several(self, lines: list[str], body: str, number: int, start: int) -> Token | None:
        """A header with each parameter on a line of its own, and the last line of it beginning with `)`."""
        parameters: list[Parameter] = []
        for at in range(number, len(lines)):
            text = lines[at]
            piece = text.lstrip(" ")
            if piece[:1] == ")":
                returns = self._returns(piece)
                if returns is None:
                    return None
                return self._head(body[:-1], number, start, parameters, returns[0], _colon(len(text) + 1, at + 1))
            comma = piece[-1:] == ","
            parameter = self._parameter(piece[:-1] if comma else piece, at + 1, len(text) - len(piece) + 1)
            if parameter is None or not (comma or lines[at + 1 : at + 2] == [] or lines[at + 1].lstrip(" ")[:1] == ")"):
                return None
            parameters.append(parameter)
        return None

    def _returns(self, end: str) -> tuple[ir.Type | None] | None:
        """What a function gives whose header ends so: a type, or nothing; None where it is not known."""
        if end == "):":
            return (None,)
        found = self._annotation(end[5:-1]) if end.startswith(") -> ") and end[-1] == ":" else None
        return (found[1],) if found is not None and found[0] == "In" else None

    def _parameter(self, piece: str, number: int, column: int) -> Parameter | None:
        word, colon, written = piece.partition(": ")
        token = self.name(word, number, column)
        found = self._annotation(written) if colon else None
        if token is None or (found is None and piece != "self"):
            return None
        if found is None:
            return Parameter(token, None)
        place = column + len(word) + 2
        return Parameter(token, Token("KNOWN", written, found, number, place, place + len(written)))

    def _head(
        self, before: str, number: int, start: int, parameters: list[Parameter], returns: ir.Type | None, colon: Token
    ) -> Token | None:
        """The token of a header; `before` is what stands before its first bracket, `colon` its last token."""
        own = self.name(before[4:], number, start + 4)
        if own is None:
            return None
        begin = Token("DEF", "def", "def", number, start, start + 3)
        token = Token("HEAD", before, Head(begin, own, parameters, returns, colon), number, start, colon.end_column)
        token.end_line = colon.end_line
        return token


def movable(part: Part) -> bool:
    """Whether `moved` can place the expression: nothing inside it says where it stands."""
    node = part.node
    if not isinstance(node, ir.Call):
        return isinstance(node, ir.Symbol)
    return not node.args and not node.attrs and all(isinstance(v, ir.Symbol | ir.Int) for _, v in node.kwargs)


def moved(part: Part, line: int) -> Part:
    """The expression of one line, as if it stood in the line `line`."""
    first, last = (Token(t.type, t.text, t.value, line, t.column, t.end_column) for t in (part.first, part.last))
    node = replace(part.node, span=between(first, last)) if isinstance(part.node, ir.Call) else part.node
    return Part(node, first, last, part.depth)
