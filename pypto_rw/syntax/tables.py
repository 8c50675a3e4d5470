"""The parse tables of a grammar, made by Lark, which takes a fifth of a second.

`python -m pypto_rw.syntax.tables > grammar/pyir.json` writes those of grammar/pyir.lark after it has changed; until
then they are made when they are needed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pypto_rw import cache as stored
from pypto_rw.syntax.machine import Tables, grammar_text


def shipped(grammar: str) -> str:
    """The text of grammar/pyir.json for a grammar: one rule or state a line."""

    def lines(items: Iterable[object]) -> str:
        return ",\n".join(json.dumps(item, separators=(",", ":"), sort_keys=True) for item in items)

    states, rules, starts = built(grammar)
    return (
        f'{{"grammar": "{stored.digest(grammar)}",\n"starts": {json.dumps(starts)},\n'
        f'"rules": [\n{lines(rules)}\n],\n"states": [\n{lines(states)}\n]}}\n'
    )


def built(grammar: str) -> Tables:
    """The tables as Lark makes them, their states in the order in which they are reached."""
    from lark import Lark
    from lark.lexer import Lexer
    from lark.parsers.lalr_analysis import Shift

    class Passing(Lexer):
        """Stands where Lark wants a lexer; tokens come from pypto_rw.syntax.lexer."""

        __future_interface__ = 1

        def __init__(self, lexer_conf: object) -> None:
            pass

        def lex(self, lexer_state: object, parser_state: object) -> Any:
            return iter(())

    # keep_all_tokens: the places of brackets and words become spans.
    lark: Any = Lark(
        grammar, parser="lalr", lexer=Passing, start=["file", "line"], keep_all_tokens=True, maybe_placeholders=False
    )
    table = lark.parser.parser._parse_table
    numbers = {rule: k for k, rule in enumerate(lark.rules)}
    rules = []
    for rule in lark.rules:
        several = tuple(s.name == "READY" or (not s.is_term and s.name.startswith("_")) for s in rule.expansion)
        rules.append((str(rule.origin.name), len(several), several, bool(rule.options.expand1)))
    places: dict[Any, int] = {}
    ahead = [table.start_states[s] for s in sorted(table.start_states)]
    while ahead:
        state = ahead.pop(0)
        if state not in places:
            places[state] = len(places)
            row = table.states[state]
            ahead += (row[symbol][1] for symbol in sorted(row) if row[symbol][0] is Shift)
    states = [
        {
            str(symbol): places[target] if action is Shift else ~numbers[target]
            for symbol, (action, target) in sorted(table.states[state].items())
        }
        for state in places
    ]
    starts = {s: (places[table.start_states[s]], places[table.end_states[s]]) for s in sorted(table.start_states)}
    return states, rules, starts


if __name__ == "__main__":
    print(shipped(grammar_text()), end="")
