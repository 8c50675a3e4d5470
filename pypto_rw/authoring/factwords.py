"""The words that a fact of an op may have, where the rules that read it ask for certain ones: `"first"`, `"all"`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from pypto_rw.diagnostics import CompileError
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.ruletext import Node

Words = Mapping[str, frozenset[str]]


def legal_words(book: Rulebook) -> Words:
    """By fact (`result-rule`): the second words that conditions of rules ask for by name, and those that several files
    give it, which the compiler asks for; no fact of which a rule takes any word."""
    named: dict[str, set[str]] = {}
    free: set[str] = set()
    given: dict[tuple[str, str], int] = {}
    for name in book.names():
        try:
            file = book.file(name)
        except CompileError:  # told of that file
            continue
        for words in {tuple(w[:3:2]) for w in file.facts if len(w) > 2} if file is not None else ():
            given[words[0], words[1]] = given.get((words[0], words[1]), 0) + 1
        for rule in ruletext.rules(file.text) if file is not None and "(rule " in file.text else ():
            for condition in rule.form.parts[1] if len(rule.form.parts) > 1 else ():
                if len(condition.parts) > 2 and not condition.parts[1].text.startswith('"'):
                    asked = condition.parts[2].text
                    if asked.startswith('"'):
                        named.setdefault(condition.head, set()).add(asked[1:-1])
                    else:
                        free.add(condition.head)
    for (head, word), files in given.items():
        if files > 1 and head in named:
            named[head].add(word)
    return {head: frozenset(words) for head, words in named.items() if head not in free}


def unknown_words(form: Node, legal: Words) -> Iterator[tuple[str, str]]:
    """Message and way out where no rule asks for the second word of the fact `form`."""
    known = legal.get(form.head)
    if known is None or len(form.parts) < 3 or not form.parts[2].text.startswith('"'):
        return
    word = form.parts[2].text[1:-1]
    if word not in known:
        near = get_close_matches(word, sorted(known), 1)
        help = f"{f'did you mean {near[0]}? ' if near else ''}it is one of {', '.join(sorted(known))}"
        yield f"({form.head} …): no rule reads the word {word!r}", help
