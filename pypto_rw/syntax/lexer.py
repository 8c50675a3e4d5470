"""Layout and tokens: physical lines -> tokens with NEWLINE, INDENT and DEDENT."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from pypto_rw.diagnostics import Span
from pypto_rw.syntax.tokens import Lexicon, Refusal, Token
from pypto_rw.syntax.unchanged import Unchanged

DEEPEST_BLOCK = 64
DEEPEST_BRACKET = 64
_TOKEN = re.compile(
    r"""(?P<space>[ \t\f]+)
      | (?P<string>[rRbBfFuU]{0,2}(?:\"\"\"|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
      | (?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
      | (?P<number>0[xX]\w*|\.?\d(?:[\w.]|(?<=[eE])[-+](?=\d))*)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<op>\.\.\.|->|(?:\*\*|//|>>|<<|[-+*/%&|^@])=|\*\*|//|>>|<<|[<>=!]=|:=|[-+*/%&|^~<>=:,@;.])
      | (?P<comment>\#.*)
      | (?P<bad>.)""",
    re.X | re.S,
)
_NUMBER = re.compile(
    r"(?P<int>0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|[1-9](?:_?\d)*|0(?:_?0)*)"
    r"|(?:\d(?:_?\d)*\.(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:[eE][-+]?\d+)?|\d(?:_?\d)*[eE][-+]?\d+",
    re.A,
)
_ANNOTATION_PART = re.compile(r"""[()\[\]{},]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_OPERATORS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "/", "//", "%", "<<", ">>", "&", "|", "^"), "OP"),
    **dict.fromkeys(("+=", "-=", "*=", "/=", "//=", "%=", "**=", "<<=", ">>=", "&=", "|=", "^="), "AUGMENTED"),
    "-": "MINUS",
    "+": "PLUS",
    "*": "STAR",
    "**": "POW",
    "~": "TILDE",
    "->": "ARROW",
    "...": "ELLIPSIS",
    "=": "EQUAL",
    ":": "COLON",
    ",": "COMMA",
    "@": "AT",
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    "{": "LBRACE",
    "}": "RBRACE",
}
_SIGNS = frozenset(("-", "+", "~", "not"))
_NO_STATEMENT = ("", " ", "\t", "\f", "#", "@")  # characters a line at the same indentation may go on with
CLOSER = {"(": ")", "[": "]", "{": "}"}
_SMART_QUOTES = "‘’‚‛“”„‟«»`´＂＇"
_UNSUPPORTED = {
    "lambda": "write the expression where it is used",
    "try": "there are no exceptions in a kernel; check with `if`",
    "except": "there are no exceptions in a kernel",
    "finally": "there are no exceptions in a kernel",
    "raise": "there are no exceptions in a kernel",
    "assert": "check before the kernel is called",
    "del": "names need no deletion",
    "global": "pass the value as a parameter",
    "nonlocal": "pass the value as a parameter",
    "async": "order is the order of the statements",
    "await": "order is the order of the statements",
    "yield": "loops and branches end in `pl.yield_(...)`",
    "is": "compare with `==`",
}


class Lexer:
    """Reads `lines` once, from the first to the last.

    `comments` collects the comment lines above a statement, by the statement's line. `ready` may read a whole one-line
    statement: (text, line number) -> statement or None; `annotation` the annotation of a parameter,
    `head` lines `@…` or `def …:`, as a token, and `function` all lines of a function: (index of its first one, open
    blocks) -> the function or None."""

    def __init__(
        self,
        lines: list[str],
        lexicon: Lexicon,
        comments: dict[int, tuple[str, ...]],
        ready: Callable[[str, int], object] | None = None,
        annotation: Callable[[str], object] | None = None,
        head: Callable[[list[str], str, int], Token | None] | None = None,
        function: Callable[[int, int], Unchanged | None] | None = None,
    ) -> None:
        self.lines = lines
        self.comments = comments
        self.brackets: list[Token] = []
        self._lexicon = lexicon
        self._ready = ready
        self._annotation = annotation
        self._head = head
        self._function = function
        self._line = 0  # index into `lines`
        self._start = 0  # that of the first line of the statement
        self._running: Iterator[Token] = iter(())
        self._tabs: bool | None = None

    def __iter__(self) -> Iterator[Token]:
        self._running = self._tokens()
        return self._running

    def statement(self) -> list[Token]:
        """The tokens of the statement that the last token belongs to, as far as they can be read."""
        again = Lexer(self.lines, self._lexicon, {})
        again._line = self._start
        text = self.lines[self._start]
        found: list[Token] = []
        with suppress(Refusal):
            found.extend(again._logical_line(len(text) - len(text.lstrip(" \t\f"))))
        return found

    def next_line(self) -> int:
        """Number of the next line with a statement, or of the last line."""
        for number in range(self._line, len(self.lines)):
            body = self.lines[number].strip(" \t\f")
            if body and not body.startswith("#"):
                return number + 1
        return len(self.lines)

    def drain(self) -> None:
        """Read to the end of the file. Raises Refusal for what is wrong there."""
        for _ in self._running:
            pass

    def _tokens(self) -> Iterator[Token]:
        lines, count, ready, head = self.lines, len(self.lines), self._ready, self._head
        function = self._function
        indents = [""]
        pending: list[str] = []
        unready = 0  # number of a line that `ready` has been asked about
        while self._line < count:
            number = self._line + 1
            text = lines[self._line]
            body = text.lstrip(" \t\f")
            if not body:
                self._line = number
                continue
            if body[0] == "#":
                pending.append(body)
                self._line = number
                continue
            indent = text[: len(text) - len(body)]
            if indent != indents[-1]:
                yield from self._layout(indent, indents, number)
            if pending:
                self.comments[number] = tuple(map(_comment, pending))
                pending.clear()
            if body[0] == "@" and function is not None and not self._tabs:
                taken = function(self._line, len(indents))
                if taken is not None:
                    self._tabs = False  # the lines of its body are indented with spaces
                    self._line = taken.after
                    yield Token("READY", text, [taken.function], number, len(indent) + 1, len(text) + 1)
                    continue
            if ready is not None:
                if body[0] in "@cdi" and head is not None and (token := head(lines, body, number)) is not None:
                    self._line, end = token.end_line, token.end_column
                    yield token
                    if token.type in ("HEAD", "CLASS_HEAD"):
                        yield Token("NEWLINE", "", "", token.end_line, end, end)
                    continue
                if unready != number and (statement := ready(text, number)) is not None:
                    statements = [statement]
                    while number < count and (following := lines[number]).startswith(indent):
                        if following[len(indent) : len(indent) + 1] in _NO_STATEMENT:
                            break
                        number += 1
                        if (statement := ready(following, number)) is None:
                            unready = number
                            number -= 1
                            break
                        statements.append(statement)
                        text = following
                    self._line = number
                    yield Token("READY", text, statements, number, len(indent) + 1, len(text) + 1)
                    continue
            self._start = self._line
            yield from self._logical_line(len(indent))
        for _ in indents[1:]:
            yield Token("DEDENT", "", "", count, 1, 1)

    def _layout(self, indent: str, indents: list[str], number: int) -> Iterator[Token]:
        place = Span(number, 1, number, len(indent) + 1)
        plain = indent.replace("\f", "")
        if plain:
            tabs = "\t" in plain
            if (tabs and " " in plain) or (self._tabs is not None and tabs != self._tabs):
                found = "both tabs and spaces" if tabs and " " in plain else "tabs" if tabs else "spaces"
                raise Refusal(
                    "tab-space-mix",
                    f"this line is indented with {found}, but the lines of a file must all be indented the same way",
                    place,
                    "indent with four spaces",
                )
            self._tabs = tabs
        if len(plain) > len(indents[-1]):
            if len(indents) > DEEPEST_BLOCK:
                raise Refusal(
                    "too-deep",
                    f"blocks are nested more than {DEEPEST_BLOCK} deep here",
                    place,
                    "move the inner part to a function",
                )
            indents.append(plain)
            yield Token("INDENT", indent, indent, number, 1, len(indent) + 1)
            return
        while len(plain) < len(indents[-1]):
            indents.pop()
            yield Token("DEDENT", "", "", number, len(indent) + 1, len(indent) + 1)
        if len(plain) != len(indents[-1]):
            raise Refusal(
                "unindent-mismatch",
                f"this line is indented by {len(plain)}, which is no enclosing block's indentation",
                place,
                f"indent by {len(indents[-1])} to continue the enclosing block",
            )

    def _logical_line(self, position: int) -> Iterator[Token]:
        """Tokens of the statement that starts here, brackets and `\\` continuing it over several lines."""
        brackets, lexicon = self.brackets, self._lexicon
        last, end = self._line + 1, position + 1  # where the last token ends
        signs = 0
        header = self._annotation is not None and self.lines[self._line].startswith("def ", position)
        while True:
            text = self.lines[self._line]
            number = self._line + 1
            size = len(text)
            while position < size:
                match = _TOKEN.match(text, position)
                assert match is not None  # `bad` matches anything
                kind, word = match.lastgroup, match.group()
                start, position = position, match.end()
                if kind == "space" or kind == "comment":
                    continue
                column, last, end = start + 1, number, position + 1
                signs = signs + 1 if word in _SIGNS else 0
                if signs > DEEPEST_BRACKET:
                    place = Span(number, column, number, end)
                    raise Refusal("too-deep", f"more than {DEEPEST_BRACKET} signs in a row", place)
                if kind == "name":
                    type_, value = lexicon[word]
                    if type_ == "KEYWORD":
                        raise _unsupported(word, number, column)
                    if not word.isascii() and not word.replace(".", "").isidentifier():
                        raise _bad_character(text, start, number)
                    yield Token(type_, word, value, number, column, end)
                elif kind == "number":
                    yield _number(word, number, column, end)
                elif kind == "open":
                    token = Token(_OPERATORS[word], word, word, number, column, end)
                    if len(brackets) >= DEEPEST_BRACKET:
                        raise Refusal(
                            "too-deep", f"brackets are nested more than {DEEPEST_BRACKET} deep here", token.span
                        )
                    brackets.append(token)
                    yield token
                elif kind == "close":
                    token = Token(_OPERATORS[word], word, word, number, column, end)
                    self._close(token)
                    yield token
                elif kind == "op":
                    if word in (";", ":=", "@=", "."):
                        raise _bad_operator(word, number, column)
                    yield Token(_OPERATORS[word], word, word, number, column, end)
                    if header and word == ":" and len(brackets) == 1:
                        known = self._known(text, position, number)
                        if known is not None:
                            yield known
                            position = known.end_column - 1
                            last, end = number, position + 1
                elif kind == "string":
                    yield from self._string(word, start)
                    text, number = self.lines[self._line], self._line + 1
                    position, size = self._after, len(text)
                    last, end = number, position + 1
                elif word == "\\" and not text[position:].strip(" \t\f"):
                    if self._line + 1 >= len(self.lines):
                        raise Refusal("continuation", "the file ends after `\\`", Span(number, column, number, end))
                    self._line += 1
                    break
                else:
                    raise _bad_character(text, start, number)
            else:
                self._line += 1
                if not brackets:
                    yield Token("NEWLINE", "", "", last, end, end)
                    return
                if self._line >= len(self.lines):
                    raise unclosed(brackets[-1])
            position = 0

    def _known(self, text: str, position: int, number: int) -> Token | None:
        """The annotation that begins here, if it is known and ends on its line."""
        position += len(text) - position - len(text[position:].lstrip(" \t"))
        depth = 0
        for match in _ANNOTATION_PART.finditer(text, position):
            word = match[0]
            if depth == 0 and word in ",)":
                written = text[position : match.start()].rstrip(" \t")
                assert self._annotation is not None
                found = self._annotation(written) if written else None
                if found is None:
                    return None
                return Token("KNOWN", written, found, number, position + 1, position + len(written) + 1)
            depth += (word in "([{") - (word in ")]}")
        return None

    def _close(self, token: Token) -> None:
        if not self.brackets:
            raise Refusal(
                "extra-bracket",
                f"`{token.text}` closes nothing: no bracket is open here",
                token.span,
                f"remove the `{token.text}`",
            )
        opened = self.brackets.pop()
        wanted = CLOSER[opened.text]
        if token.text != wanted:
            raise Refusal(
                "mismatched-bracket",
                f"`{token.text}` does not close the `{opened.text}` opened at {opened.line}:{opened.column}, "
                f"which needs `{wanted}`",
                token.span,
                f"write `{wanted}` here, or close the `{opened.text}` before",
            )

    _after = 0  # column index behind the string `_string` gave last

    def _string(self, word: str, start: int) -> Iterator[Token]:
        number = self._line + 1
        quote = word[-1]
        prefix = word[: word.index(quote)].lower()
        place = Span(number, start + 1, number, start + len(word) + 1)
        if prefix.strip("ru"):
            what = "an f-string" if "f" in prefix else "a bytes literal"
            raise Refusal("unsupported-syntax", f"{what} is not part of the language", place, "write a plain string")
        if word.endswith(quote * 3) and len(word) == len(prefix) + 3:
            line, found = self._line, start + len(word)
            parts: list[str] = []
            while True:
                text = self.lines[line]
                stop = text.find(quote * 3, found)
                if stop >= 0:
                    parts.append(text[found:stop])
                    break
                parts.append(text[found:])
                line, found = line + 1, 0
                if line >= len(self.lines):
                    raise Refusal(
                        "unterminated-string",
                        f"this string is never closed: `{quote * 3}` is missing",
                        place,
                        f"close it with `{quote * 3}`",
                    )
            self._line, self._after = line, stop + 3
            content = "\n".join(parts)
        else:
            self._after = start + len(word)
            content = word[len(prefix) + 1 : -1]
        if "\\" in content and "r" not in prefix:
            content = _ESCAPE.sub(_unescape, content)
        token = Token("STRING", word, content, number, start + 1, self._after + 1)
        token.end_line = self._line + 1
        yield token


_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|([\s\S]))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        value = int(code, 16)
        return chr(value) if value < 0x110000 else match[0]
    if match[4]:
        return chr(int(match[4], 8))
    char = match[5]
    if char in "\\'\"":
        return char
    return _ESCAPES.get(char, match[0])


def _comment(text: str) -> str:
    # The printer writes `# ` before a comment that does not start with `#`.
    return text[2:].rstrip() if text.startswith("# ") and not text[2:].startswith("#") else text[1:] and text.rstrip()


def _number(word: str, line: int, column: int, end: int) -> Token:
    match = _NUMBER.fullmatch(word)
    if match is None:
        digits = word.lstrip("0")
        help_ = f"write {digits}" if digits.isdecimal() else "numbers are written 42, 0x2A, 0.5 or 1e-6"
        raise Refusal("invalid-number", f"`{word}` is not a number", Span(line, column, line, end), help_)
    if match["int"] is None:
        return Token("FLOAT", word, word, line, column, end)
    plain = word.replace("_", "").lower()
    # Python's own limit on decimal digits would raise.
    value = int(plain, 0) if len(plain) < 100 else 2**64
    if value >= 2**64:
        raise Refusal("number-range", f"`{word[:24]}` does not fit in 64 bits", Span(line, column, line, end))
    return Token("INT", word, value, line, column, end)


def unclosed(opened: Token) -> Refusal:
    """The bracket `opened` has no counterpart."""
    return Refusal(
        "unclosed-bracket",
        f"this `{opened.text}` is never closed",
        opened.span,
        f"write the `{CLOSER[opened.text]}` that belongs to it",
    )


def _unsupported(word: str, line: int, column: int) -> Refusal:
    if "." in word:
        place = Span(line, column, line, column + len(word))
        return Refusal("keyword-as-name", f"a part of `{word}` is a keyword of Python", place, "write `_` after it")
    return Refusal(
        "unsupported-syntax",
        f"`{word}` is Python, but not part of the kernel language",
        Span(line, column, line, column + len(word)),
        _UNSUPPORTED.get(word, ""),
    )


def _bad_operator(word: str, line: int, column: int) -> Refusal:
    message, help_ = {
        ";": ("`;` is not part of the language", "write one statement a line"),
        ":=": ("`:=` is not part of the language", "assign on a line of its own, with `=`"),
        "@=": ("`@=` is not part of the language", "write pl.matmul(a, b)"),
        ".": ("`.` stands alone here; a name is needed on both sides, without spaces", ""),
    }[word]
    return Refusal("unsupported-syntax", message, Span(line, column, line, column + len(word)), help_)


def _bad_character(text: str, index: int, line: int) -> Refusal:
    char = text[index]
    place = Span(line, index + 1, line, index + 2)
    if char in "'\"":
        return Refusal(
            "unterminated-string",
            f"this string is not closed on its line: `{char}` is missing",
            Span(line, index + 1, line, len(text) + 1),
            f"close it with `{char}`",
        )
    if char in _SMART_QUOTES:
        return Refusal(
            "smart-quote",
            f"`{char}` is a typographic quote; strings stand in ' or \"",
            place,
            "replace it by a plain quote",
        )
    if char == "\\":
        return Refusal("continuation", "`\\` continues a line only as its last character", place)
    if char == "!":
        return Refusal("bad-character", "`!` is not part of the language", place, "write `not`")
    shown = f"`{char}` (U+{ord(char):04X})" if char.isprintable() else f"the character U+{ord(char):04X}"
    return Refusal("bad-character", f"{shown} is not part of the language", place)
