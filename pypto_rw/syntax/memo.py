"""Line-template memo: lines that differ in names and integers only are parsed once.

A one-line statement is split into pieces.  Variable names and plain integers are holes; the rest, with a
mark for each hole, is the template.  A new template is parsed with stand-ins in its holes, and the tree
becomes a maker: a function from the texts of the holes, and the column of every piece, to the statement.
What a line means must then not depend on what is in its holes; lines where it could (subscripts of a name, slots)
are left to the parser. A name of a number or of a dynamic dimension is no hole: what it stands for is part of the
template. Lines with other file-level names are left to the parser too."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.records import fields, is_dataclass, replace
from pypto_rw.syntax.heads import head_of, movable, moved
from pypto_rw.syntax.parts import Part
from pypto_rw.syntax.tokens import Lexicon, Token
from pypto_rw.syntax.unchanged import Functions, Unchanged

# Direction and type of a parameter.
Annotation = tuple[str, ir.Type]

# (texts of the holes, column index where each piece starts, line number) -> node
_Make = Callable[[list[str], list[int], int], Any]

_PIECE = (
    r"""([a-zA-Z_][\w.]*(?:[(\[]|=(?!=)|[ \t]+[(\[])?|\d[\w.]*(?:(?<=[eE])[-+]\d[\w.]*)*"""
    r"""|'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"|\.\d[\w.]*(?:(?<=[eE])[-+]\d[\w.]*)*)"""
)
_IN_ASCII = re.compile(_PIECE, re.A).split  # twice as fast
_IN_UNICODE = re.compile(_PIECE.replace("a-zA-Z_", r"^\W\d")).split
# A line that may give a name to a type or a part of one, in this line or in those that continue it.
_BINDS = re.compile(r"\s*[^\W\d]\w*\s*=\s*(?:\(\s*)*(?:\w+\.[A-Z]|\w*\Z|\\)|.*\\\Z")
_PLAIN = re.compile(r"(?:0|[1-9][0-9]{0,17})\Z")
_NAME, _INTEGER, _NEVER, _MEANING = "\x01", "\x02", "\x03", "\x04"
MARKS = _NAME + _INTEGER + _NEVER + _MEANING
"""Characters a text may not contain if its lines are to be looked up here."""
# Stand-ins: nothing a person or a printer writes, and no value that a check could object to.
_STAND_IN = "zz__hole_{}__zz"
_FIRST_INTEGER = 700_000_000_000_000_001
_LITERAL_WORDS = frozenset(
    ["and", "or", "xor", "not", "True", "False", "inf", "nan", "return", "tuple", "tuple[", "abs("]
)
# A keyword with blanks behind it, which looks like any other name: after a bracket, where no assignment begins.
_KEYWORD = re.compile(rf"\(.*(?<=[(,])\s*{_NAME}\s+=(?!=)")
_BARE = re.compile(r"(?<![\w.])[^\W\d]\w*(?![\w.])")
_CALLS = re.compile(r"(?<![\w.])[^\W\d]\w*\s*\(")
_WORTHWHILE = 4
_NEVER_CALLED = frozenset(("func_attr(", "cond(", "dynamic("))
_ONE_LINE = (ir.Assign, ir.Evaluate, ir.Yield, ir.Return)
_TYPES = (ir.TensorType, ir.TileType, ir.ScalarType, ir.ArrayType, ir.TupleType)


_Said = tuple[str, tuple[tuple[str, str | None], ...]]  # a text, and what the file-level names in it stand for
_MOST_KINDS = 64  # sets of file-level names that are remembered


class Templates:
    """What is known of lines, whatever file they stand in: the makers, and what they share.

    `parse_line` parses one line, without indentation, alone but for the file-level names given: None if it is not one
    statement that stands for itself. `share` makes equal types one object."""

    def __init__(
        self,
        lexicon: Lexicon,
        parse_line: Callable[[str, dict[str, Part]], object],
        share: dict[ir.Type, ir.Type],
    ) -> None:
        self.lexicon = lexicon
        self.makers: dict[str, _Make] = {}
        self._kinds: dict[tuple[tuple[str, str | None], ...], _Kinds] = {}
        self.share = share
        self.files = 0  # how many have been read
        self._parse_line = parse_line
        self._met: dict[str, tuple[int, int]] = {}  # of a template without a maker: in which file, how often there
        self._names = _Names()
        self._integers = _Integers()
        self._types: list[dict[tuple[str, ...], ir.Type]] = []
        self.annotations: dict[_Said, Annotation] = {}  # of parameters
        self.decorators: dict[_Said, Part] = {}  # lines `@…`

    @property
    def size(self) -> int:
        """How many things are remembered."""
        words = sum(map(len, self._kinds.values())) + len(self.lexicon) + len(self._names) + len(self._integers)
        words += len(self.annotations) + len(self.decorators)
        return words + len(self.makers) + len(self._met) + len(self.share) + sum(map(len, self._types))

    def kinds(self, meanings: dict[str, str | None]) -> _Kinds:
        """Kinds of pieces where the file-level names stand for that; None for what is not told."""
        known = tuple(meanings.items())
        found = self._kinds.get(known)
        if found is None:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.clear()
            found = self._kinds[known] = _Kinds(self.lexicon, meanings)
        return found

    def learned(self, key: str, pieces: list[str], kinds: list[str], constants: dict[str, Part]) -> _Make | None:
        """The maker of a template without one; None while it is not worth a parse more, or where there is none."""
        file, times = self._met.get(key, (self.files, 0))
        if times > _WORTHWHILE:
            return None
        seen_before = file != self.files
        times += 1
        if (times < _WORTHWHILE and not seen_before) or _NEVER in key or _KEYWORD.search(key):
            self._met[key] = (self.files, times)
            return None
        make = self._learn(pieces, kinds, constants)
        if make is None:
            self._met[key] = (self.files, _WORTHWHILE + 1)
        else:
            self.makers[key] = make
        return make

    def _learn(self, pieces: list[str], kinds: list[str], constants: dict[str, Part]) -> _Make | None:
        filled = pieces[:]
        names: dict[str, int] = {}
        integers: dict[int, int] = {}
        for index, kind in enumerate(kinds):
            place = 2 * index + 1
            if kind == _NAME:
                filled[place] = _STAND_IN.format(index)
                names[filled[place]] = place
            elif kind == _INTEGER:
                value = _FIRST_INTEGER + index
                filled[place] = str(value)
                integers[value] = place
        line = "".join(filled)
        body = line.lstrip(" \t\f")
        statement = self._parse_line(body, constants)
        if not isinstance(statement, _ONE_LINE) or _names_a_record(statement):
            return None
        builder = _Builder(
            names=names,
            integers=integers,
            columns=list(accumulate(map(len, filled), initial=1 + len(body) - len(line))),
            share=self.share,
            types=self._types,
            interned_names=self._names,
            interned_integers=self._integers,
        )
        make = builder.maker(statement)
        # A stand-in that the tree does not show was put to some use that other values may not be good for.
        return make if builder.found == {*names.values(), *integers.values()} else None


class Memo:
    """Reads the whole lines of one file: a call gives the statement, or None where the parser has to look itself.

    `constants` are the file-level names, which grow while the file is read; `functions` the file's functions."""

    def __init__(
        self,
        templates: Templates,
        constants: dict[str, Part],
        comments: dict[int, tuple[str, ...]],
        functions: Functions,
    ) -> None:
        templates.files += 1
        self._functions = functions
        self._templates = templates
        self._comments = comments
        self._wait = False
        self._constants = constants
        self._seen: dict[str, Part] = {}
        self._meanings: dict[str, str | None] = {}
        self._kinds = templates.kinds({})

    def __call__(self, text: str, number: int) -> ir.Stmt | None:
        if text[0] not in " \t" or "#" in text or "\\" in text or self._wait:
            # The parser knows the names of a line only when it sees the next one.
            self._wait = _BINDS.match(text) is not None
            return None
        if self._constants != self._seen:
            self._look()
        pieces = _IN_ASCII(text) if text.isascii() else _IN_UNICODE(text)
        template = pieces[:]
        template[1::2] = kinds = list(map(self._kinds.__getitem__, pieces[1::2]))
        key = "".join(template)
        make = self._templates.makers.get(key) or self._templates.learned(key, pieces, kinds, self._constants)
        if make is None:
            self._wait = _BINDS.match(text) is not None
            return None
        statement: ir.Stmt = make(pieces, list(accumulate(map(len, pieces), initial=1)), number)
        comments = self._comments.get(number)
        return statement if comments is None else replace(statement, comments=comments)

    def head(self, lines: list[str], body: str, number: int) -> Token | None:
        """The token for a line `@…`, `import …`, `class …:`, or for lines `def …:`, if all of it is known.

        `body` is the line `number` without indentation."""
        if self._wait:
            return None
        if body[0] != "@":
            return head_of(lines, body, number, self._templates.lexicon, self.annotation)
        text = lines[number - 1]
        said = self._said(text)
        found = self._templates.decorators.get(said) if said is not None else None
        if found is None:
            return None
        return Token("DECORATOR", text, moved(found, number), number, len(text) - len(body) + 1, len(text) + 1)

    def function(self, start: int, depth: int) -> Unchanged | None:
        """The function whose decorator is in the line of this index, inside so many blocks, if it is kept."""
        return None if self._wait else self._functions(start, depth)

    def learn_decorator(self, text: str, part: Part) -> None:
        """Remember what a line `@…` says."""
        said = self._said(text)
        if said is not None and movable(part) and not _CALLS.search(text) and "\\" not in text:
            self._templates.decorators[said] = part

    def annotation(self, text: str) -> Annotation | None:
        """What the annotation of a parameter says, if it is known."""
        said = self._said(text)
        return self._templates.annotations.get(said) if said is not None else None

    def learn_annotation(self, text: str, annotation: Annotation) -> None:
        """Remember what an annotation says."""
        said = self._said(text)
        if said is not None and not _CALLS.search(text):
            self._templates.annotations[said] = annotation

    def _said(self, text: str) -> _Said | None:
        """A text with what the file-level names in it stand for; None where that is not told."""
        if self._constants != self._seen:
            self._look()
        if not self._meanings:
            return text, ()
        names = [n for n in _BARE.findall(text) if n in self._meanings]
        meanings = tuple([(n, self._meanings[n]) for n in names])
        return (text, meanings) if all(m is not None for _, m in meanings) else None

    def _look(self) -> None:
        """A name that was a hole may stand for something from here on."""
        self._seen = dict(self._constants)
        self._meanings = {name: _meaning(part) for name, part in self._seen.items()}
        self._kinds = self._templates.kinds(self._meanings)


def _meaning(part: Part) -> str | None:
    """What a file-level name stands for, if that is a number or a dynamic dimension."""
    match part.node:
        case ir.Int() | ir.Float():
            return repr(part.node)
        case ir.Call("dynamic", (ir.Str(symbol),), (), ()):
            return f"dynamic {symbol!r}"
        case _:
            return None


def _names_a_record(statement: object) -> bool:
    """The lines that follow may use the name in their types: the parser has to see it."""
    match statement:
        case ir.Assign(value=ir.TypeExpr() | ir.Call("MemRef" | "TensorView" | "TileView")):
            return True
        case _:
            return False


class _Kinds(dict[str, str]):
    """Piece -> what stands for it in a template: a mark for a hole, or the piece itself."""

    def __init__(self, lexicon: Lexicon, meanings: dict[str, str | None]) -> None:
        super().__init__()
        self._lexicon = lexicon
        self._meanings = meanings

    def __missing__(self, piece: str) -> str:
        kind = self[piece] = self._kind(piece)
        return kind

    def _kind(self, piece: str) -> str:
        if piece[0] in "'\".0123456789":
            return _INTEGER if _PLAIN.match(piece) else piece
        if piece in _LITERAL_WORDS:
            return piece
        if "." in piece:
            return _NEVER if "".join(piece.rpartition(".")[2].split()) in _NEVER_CALLED else piece
        if piece[-1] == "=":
            return _NEVER if piece == "slots=" else piece
        if piece[-1] in "([" or not piece.isascii() or self._lexicon[piece][0] != "NAME":
            return _NEVER
        if piece not in self._meanings:
            return _NAME
        meaning = self._meanings[piece]
        return f"{piece}{_MEANING}{meaning}{_MEANING}" if meaning is not None else _NEVER


class _Names(dict[str, ir.Name]):
    def __missing__(self, text: str) -> ir.Name:
        name = self[text] = ir.Name(text)
        return name


class _Integers(dict[str, ir.Int]):
    def __missing__(self, text: str) -> ir.Int:
        constant = self[text] = ir.Int(int(text))
        return constant


class _Builder:
    """Turns the tree of a template into its maker. `found` are the holes the tree shows."""

    def __init__(
        self,
        *,
        names: dict[str, int],
        integers: dict[int, int],
        columns: list[int],
        share: dict[ir.Type, ir.Type],
        types: list[dict[tuple[str, ...], ir.Type]],
        interned_names: _Names,
        interned_integers: _Integers,
    ) -> None:
        self.found: set[int] = set()
        self._names = names
        self._integers = integers
        self._columns = {column: piece for piece, column in reversed(list(enumerate(columns)))}
        self._starts = columns
        self._share = share
        self._types = types
        self._interned_names = interned_names
        self._interned_integers = interned_integers

    def maker(self, node: object) -> _Make:
        """The maker of `node`, whether it has holes or not."""
        make = self._make(node)
        return make if make is not None else lambda pieces, columns, line: node

    def _make(self, node: object) -> _Make | None:
        """The maker of `node`; None if it is the same for every line of the template."""
        match node:
            case str():
                return self._text(node)
            case bool() | float() | None:
                return None
            case int():
                return self._integer(node)
            case Span():
                return self._span(node) if node else None
            case tuple():
                return self._tuple(node)
            case ir.Name() if node.id in self._names:
                return self._name(self._names[node.id])
            case ir.Int(value, ir.DType.INDEX) if value in self._integers:
                return self._constant(self._integers[value])
        if not is_dataclass(node):
            return None
        make = self._record(node)
        return self._type(node, make) if make is not None and isinstance(node, _TYPES) else make

    def _text(self, text: str) -> _Make | None:
        place = self._names.get(text)
        if place is None:
            return None
        self.found.add(place)
        return lambda pieces, columns, line: pieces[place]

    def _integer(self, value: int) -> _Make | None:
        place = self._integers.get(abs(value))
        if place is None:
            return None
        self.found.add(place)
        if value < 0:
            return lambda pieces, columns, line: -int(pieces[place])
        return lambda pieces, columns, line: int(pieces[place])

    def _name(self, place: int) -> _Make:
        self.found.add(place)
        interned = self._interned_names
        return lambda pieces, columns, line: interned[pieces[place]]

    def _constant(self, place: int) -> _Make:
        self.found.add(place)
        interned = self._interned_integers
        return lambda pieces, columns, line: interned[pieces[place]]

    def _span(self, span: Span) -> _Make:
        start, shift = self._position(span.column)
        end, tail = self._position(span.end_column)
        if shift == tail == 0:
            return lambda pieces, columns, line: Span(line, columns[start], line, columns[end])
        return lambda pieces, columns, line: Span(line, columns[start] + shift, line, columns[end] + tail)

    def _position(self, column: int) -> tuple[int, int]:
        """The piece that a column falls into, and how far behind its start."""
        exact = self._columns.get(column)
        if exact is not None:
            return exact, 0
        piece = max(index for index, start in enumerate(self._starts) if start <= column)
        return piece, column - self._starts[piece]

    def _tuple(self, items: tuple[object, ...]) -> _Make | None:
        makes = [self._make(item) for item in items]
        varying = [(index, make) for index, make in enumerate(makes) if make is not None]
        if not varying:
            return None
        if len(varying) == len(items):
            every = [make for _, make in varying]
            return lambda pieces, columns, line: tuple([make(pieces, columns, line) for make in every])

        def fill(pieces: list[str], columns: list[int], line: int) -> tuple[object, ...]:
            filled = [*items]
            for index, make in varying:
                filled[index] = make(pieces, columns, line)
            return tuple(filled)

        return fill

    def _record(self, node: Any) -> _Make | None:
        kind = type(node)
        values = [getattr(node, field.name) for field in fields(node)]
        makes = [self._make(value) for value in values]
        varying = [(index, make) for index, make in enumerate(makes) if make is not None]
        if not varying:
            return None

        def fill(pieces: list[str], columns: list[int], line: int) -> object:
            filled = values[:]
            for index, make in varying:
                filled[index] = make(pieces, columns, line)
            return kind(*filled)

        return fill

    def _type(self, node: object, make: _Make) -> _Make:
        # Annotations repeat far more than lines do: look the whole type up by the holes it has.
        mine = _Builder(
            names=self._names,
            integers=self._integers,
            columns=self._starts,
            share=self._share,
            types=self._types,
            interned_names=self._interned_names,
            interned_integers=self._interned_integers,
        )
        mine._record(node)
        first, last = min(mine.found), max(mine.found) + 1
        known: dict[tuple[str, ...], ir.Type] = {}
        self._types.append(known)
        share = self._share

        def find(pieces: list[str], columns: list[int], line: int) -> ir.Type:
            key = tuple(pieces[first:last:2])
            type_ = known.get(key)
            if type_ is None:
                made: ir.Type = make(pieces, columns, line)
                type_ = known[key] = share.setdefault(made, made)
            return type_

        return find
