"""Lines `@…`, `import …`, `class …:` and `def …:` that say nothing new, read without the parser.

A decorator is known by its whole line. A function's header is known when each annotation in it is; it is taken apart
as printers write it (`, ` between parameters, `: ` behind a name), and left to the parser in any other form."""

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


def head_of(
    text: str,
    body: str,
    number: int,
    lexicon: Lexicon,
    annotation: Callable[[str], tuple[str, ir.Type] | None],
) -> Token | None:
    """The token of the line `text` (`body` without its indentation), if nothing in it is new."""
    if text in lexicon.imports:
        return Token("READY", text, [None], number, 1, len(text) + 1)
    if body[-1] != ":" or "#" in body:
        return None
    start = len(text) - len(body) + 1
    end = Token("COLON", ":", ":", number, len(text), len(text) + 1)

    def name(word: str, at: int) -> Token | None:
        if not (word.isascii() and word.isidentifier()) or lexicon[word][0] != "NAME":
            return None
        return Token("NAME", word, word, number, at, at + len(word))

    if body.startswith("class "):
        own = name(body[6:-1], start + 6)
        begin = Token("CLASS", "class", "class", number, start, start + 5)
        return Token("CLASS_HEAD", body, ClassHead(begin, own, end), number, start, len(text) + 1) if own else None
    opened = body.find("(")
    own = name(body[4:opened], start + 4) if body.startswith("def ") and opened > 0 else None
    if own is None:
        return None
    closed = body.rfind(") -> ")
    returns = None
    if closed >= 0 and (result := annotation(body[closed + 5 : -1])) is not None and result[0] == "In":
        returns = result[1]
    elif body.endswith("):"):
        closed = len(body) - 2
    else:
        return None
    parameters = []
    at = start + opened + 1
    pieces = _NEXT.split(body[opened + 1 : closed]) if closed > opened + 1 else []
    for piece in pieces:
        word, colon, written = piece.partition(": ")
        token = name(word, at)
        found = annotation(written) if colon else None
        if token is None or (found is None and piece != "self"):
            return None
        known = None
        if found is not None:
            place = at + len(word) + 2
            known = Token("KNOWN", written, found, number, place, place + len(written))
        parameters.append(Parameter(token, known))
        at += len(piece) + 2
    begin = Token("DEF", "def", "def", number, start, start + 3)
    return Token("HEAD", body, Head(begin, own, parameters, returns, end), number, start, len(text) + 1)


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
