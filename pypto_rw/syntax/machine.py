"""The LALR machine of grammar/pyir.lark: built by Lark, its tables kept in the user's cache folder."""

from __future__ import annotations

import marshal
import os
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any

from pypto_rw.resources import folder
from pypto_rw.syntax.tokens import Token


class Unexpected(Exception):
    """`token` cannot follow here; `expected` are the token types that can."""

    def __init__(self, token: Token, expected: frozenset[str]) -> None:
        self.token = token
        self.expected = expected
        super().__init__(token.type)


class Machine:
    """Parse tables joined with the methods of `actions`, one a rule. Reusable, one parse at a time."""

    def __init__(self, actions: object) -> None:
        from lark import Tree
        from lark.parse_tree_builder import ParseTreeBuilder

        self._lark = _lark()
        # keep_all_tokens: the places of brackets and words become spans.
        builder: Any = ParseTreeBuilder(self._lark.rules, Tree)  # type: ignore[no-untyped-call]
        self._callbacks = builder.create_callback(actions)
        self._callbacks["READY"] = attrgetter("value")

    def parse(self, tokens: Iterable[Token], start: str) -> Any:
        """The value of rule `start` over `tokens`. Raises Unexpected, and what the actions raise."""
        from lark import Token as LarkToken
        from lark import UnexpectedToken
        from lark.parsers.lalr_parser_state import ParseConf, ParserState

        tables: Any = ParseConf(self._lark.parser.parser._parse_table, self._callbacks, start)
        no_lexer: Any = None
        state: ParserState[int] = ParserState(tables, no_lexer)
        feed = state.feed_token
        token: Any = None
        try:
            for token in tokens:
                feed(token)
            end = Token("$END", "", "", 1, 1, 1)
            if token is not None:
                end = Token("$END", "", "", token.end_line, token.end_column, token.end_column)
            token = end
            return feed(LarkToken("$END", ""), True)
        except UnexpectedToken as error:
            raise Unexpected(token, frozenset(error.expected)) from None


@cache
def _lark() -> Any:
    from lark import Lark, __version__
    from lark.lexer import Lexer

    class Passing(Lexer):
        """Stands where Lark wants a lexer; tokens come from pypto_rw.syntax.lexer."""

        __future_interface__ = 1

        def __init__(self, lexer_conf: object) -> None:
            pass

        def lex(self, lexer_state: object, parser_state: object) -> Any:
            return iter(())

    grammar = (folder("grammar") / "pyir.lark").read_text(encoding="utf-8")
    key = sha256(f"{__version__}\n{sys.version}\n{grammar}".encode()).hexdigest()
    path = _cache_file(key)
    stored = _stored(path)
    if stored is not None:
        try:
            data, memo = marshal.loads(stored)
            data["options"]["lexer"] = data["parser"]["lexer_conf"]["lexer_type"] = Passing
            return Lark._load_from_dict(data, memo)  # type: ignore[no-untyped-call]
        except (ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, TypeError, ValueError):
            pass  # written by something else under our name: build, and write it anew
    built = Lark(
        grammar,
        parser="lalr",
        lexer=Passing,
        start=["file", "line"],
        keep_all_tokens=True,
        maybe_placeholders=False,
    )
    _store(path, built)
    return built


def _cache_file(key: str) -> Path | None:
    root = os.environ.get("XDG_CACHE_HOME", "")
    try:
        home = Path(root) if os.path.isabs(root) else Path.home() / ".cache"
    except RuntimeError:  # no home folder
        return None
    return home / "pypto_rw" / f"pyir-{key[:32]}.tables"


def _stored(path: Path | None) -> bytes | None:
    """The content of the file, unless its checksum tells that it was cut or changed."""
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except (OSError, ValueError):
        return None
    return content[32:] if sha256(content[32:]).digest() == content[:32] else None


def _store(path: Path | None, lark: Any) -> None:
    if path is None:
        return
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = lark.memo_serialize([TerminalDef, Rule])
    data["options"]["lexer"] = data["parser"]["lexer_conf"]["lexer_type"] = None
    try:
        content = marshal.dumps((data, memo))
        path.parent.mkdir(parents=True, exist_ok=True)
        # A file of its own, then one rename: a second process sees the old file or the new one, whole.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(sha256(content).digest() + content)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
    except (OSError, ValueError):
        return  # no cache folder, no cache
