"""The LALR machine of grammar/pyir.lark. Its tables are made of the grammar by `tables`, shipped as grammar/pyir.json,
and kept in the user's cache folder in a form that is read faster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from typing import Any

from pypto_rw import cache as stored
from pypto_rw.resources import folder
from pypto_rw.syntax.tokens import Token

# states: per state, by token type or rule name, the state to go to, or ~(number of the rule to reduce by).
# rules: name, number of symbols, which of them stand for several values, whether a single value passes unchanged.
# starts: first and last state by the name of the start rule.
Tables = tuple[list[dict[str, int]], list[tuple[str, int, tuple[bool, ...], bool]], dict[str, tuple[int, int]]]


class Unexpected(Exception):
    """`token` cannot follow `before` here; `expected` are the token types that can."""

    def __init__(self, token: Token, expected: frozenset[str], before: Token | None) -> None:
        self.token = token
        self.expected = expected
        self.before = before
        super().__init__(token.type)


class Machine:
    """Parse tables joined with the methods of `actions`, one a rule. Reusable, one parse at a time."""

    def __init__(self, actions: Any) -> None:
        self._states, _, self._starts = tables()
        kind: Any = type(actions)
        self._rules = _reductions(kind)
        self._actions = actions

    def parse(self, tokens: Iterable[Token], start: str) -> Any:
        """The value of rule `start` over `tokens`. Raises Unexpected, and what the actions raise."""
        first, last = self._starts[start]
        states: list[int] = [first]
        values: list[Any] = []
        table, rules, actions = self._states, self._rules, self._actions
        before: Token | None = None
        for token in chain(tokens, (None,)):
            token = token or _end(before)
            kind = token.type
            while True:  # reduce by rules until the token can be shifted, or the end is reached
                row = table[states[-1]]
                action = row.get(kind)
                if action is None:
                    raise Unexpected(token, frozenset(name for name in row if name.isupper()), before)
                if action >= 0:
                    states.append(action)
                    values.append(token.value if kind == "READY" else token)
                    break
                name, size, reduce = rules[~action]
                if size:
                    value = reduce(actions, values[-size:])
                    del states[-size:], values[-size:]
                else:
                    value = reduce(actions, [])
                states.append(table[states[-1]][name])
                values.append(value)
                if kind == "$END" and states[-1] == last:
                    return values[-1]
            before = token
        raise AssertionError("the last token ends the parse")


def _end(last: Token | None) -> Token:
    """The token behind the last one."""
    if last is None:
        return Token("$END", "", "", 1, 1, 1)
    return Token("$END", "", "", last.end_line, last.end_column, last.end_column)


# What a rule makes of its symbols' values, with the actions' methods.
_Reduce = Callable[[Any, list[Any]], Any]


@cache
def _reductions(actions: type[Any]) -> list[tuple[str, int, _Reduce]]:
    return [(name, size, _reduction(actions, name, several, single)) for name, size, several, single in tables()[1]]


def _reduction(actions: type[Any], name: str, several: tuple[bool, ...], single: bool) -> _Reduce:
    """A rule named `_x` passes its values on to the rule it stands in."""
    passes = name.startswith("_") or (single and not hasattr(actions, name))
    action: _Reduce = _as_they_are if passes else getattr(actions, name)
    if any(several):

        def spliced(self: Any, values: list[Any]) -> Any:
            # A list that grows symbol by symbol is extended, not copied: nothing else holds it.
            flat: list[Any] = values[0] if several[0] else [values[0]]
            for value, many in zip(values[1:], several[1:], strict=True):
                if many:
                    flat += value
                else:
                    flat.append(value)
            return flat[0] if single and len(flat) == 1 else action(self, flat)

        return spliced
    if single:
        return lambda self, values: values[0] if len(values) == 1 else action(self, values)
    return action


def _as_they_are(_: Any, values: list[Any]) -> list[Any]:
    return values


@cache
def tables() -> Tables:
    """The parse tables of the grammar."""
    grammar = grammar_text()
    name = f"grammar-{stored.digest(grammar)}"
    found = stored.load(name)
    if isinstance(found, tuple) and len(found) == 2 and found[0] == grammar:
        return found[1]  # type: ignore[no-any-return]
    made = _shipped(grammar)
    if made is None:
        from pypto_rw.syntax.tables import built

        made = built(grammar)
    stored.store(name, (grammar, made))
    return made


def grammar_text() -> str:
    """The text of grammar/pyir.lark."""
    with open(os.path.join(folder("grammar"), "pyir.lark"), encoding="utf-8") as file:
        return file.read()


def _shipped(grammar: str) -> Tables | None:
    """The tables in grammar/pyir.json; None where they are another grammar's."""
    import json  # only the first run of a user needs it

    try:
        with open(os.path.join(folder("grammar"), "pyir.json"), encoding="utf-8") as file:
            found = json.load(file)
    except OSError:
        return None
    if found["grammar"] != stored.digest(grammar):
        return None
    rules = [(name, size, tuple(several), single) for name, size, several, single in found["rules"]]
    return found["states"], rules, {name: (first, last) for name, (first, last) in found["starts"].items()}
