"""The forms of a rule file: where each begins and ends, its parts, its name. Nothing here knows what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pypto_rw.records import dataclass

_TOKEN = re.compile(r';[^\n]*|"(?:[^"\\\n]|\\.)*"|[()"]|[^\s()";]+')
RULES = frozenset({"rule", "rewrite", "birewrite"})


@dataclass(frozen=True, slots=True)
class Node:
    """A list or an atom of the text; `start` and `end` are offsets into it. An atom has no `parts`."""

    text: str
    start: int
    end: int
    parts: tuple[Node, ...] = ()

    @property
    def head(self) -> str:
        """The first atom of a list, "" of anything else."""
        return self.parts[0].text if self.parts and not self.parts[0].is_list else ""

    @property
    def is_list(self) -> bool:
        """Whether it is written in parentheses."""
        return self.text.startswith("(")

    def __iter__(self) -> Iterator[Node]:
        return iter(self.parts)

    def option(self, name: str) -> Node | None:
        """What follows the keyword `name`, as `:ruleset`."""
        for word, value in zip(self.parts, self.parts[1:], strict=False):
            if word.text == name:
                return value
        return None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a file: its name as the engine reports it, its ruleset, its conditions, and its text's place."""

    name: str
    ruleset: str
    conditions: tuple[Node, ...]
    form: Node
    line: int


class Unbalanced(ValueError):
    """A parenthesis or a quote that is missing or too many, with the line of the form (or of the stray one)."""

    def __init__(self, message: str, line: int, help: str) -> None:
        super().__init__(message)
        self.line, self.help = line, help


def forms(text: str) -> list[Node]:
    """The top-level forms of a text, in order. Unbalanced where parentheses do not pair.

    A form begins in the first column; one that is still open where the next begins lacks a parenthesis."""
    found: list[Node] = []
    stack: list[tuple[int, list[Node]]] = []
    for m in _TOKEN.finditer(text):
        token, start = m[0], m.start()
        if token.startswith(";"):
            continue
        if token == '"':
            raise Unbalanced("this string is not closed", line_of(text, start), 'end it with " on the same line')
        if token == "(":
            if stack and (start == 0 or text[start - 1] == "\n"):
                raise _open(text, stack[0][0])
            stack.append((start, []))
            continue
        if token == ")":
            if not stack:
                raise Unbalanced("a closing parenthesis closes nothing", line_of(text, start), "delete one")
            begin, parts = stack.pop()
            node = Node(text[begin : m.end()], begin, m.end(), tuple(parts))
        else:
            node = Node(token, start, m.end())
        (stack[-1][1] if stack else found).append(node)
    if stack:
        raise _open(text, stack[0][0])
    return found


def _open(text: str, start: int) -> Unbalanced:
    return Unbalanced(
        "this form lacks a closing parenthesis", line_of(text, start), "close it before the next form begins"
    )


def rules(text: str) -> Iterator[Rule]:
    """The rules of a text, in order; a rewrite's conditions are its left side, called `rewritten`, and its `:when`."""
    for form in forms(text):
        if form.head not in RULES or len(form.parts) < 3:
            continue
        name, ruleset = form.option(":name"), form.option(":ruleset")
        if form.head == "rule":
            conditions = form.parts[1].parts
        else:
            left = form.parts[1]
            equals = Node(f"(= rewritten {left.text})", left.start, left.end, (_atom("="), _atom("rewritten"), left))
            when = form.option(":when")
            conditions = (equals, *(when.parts if when is not None else ()))
        yield Rule(
            name.text.strip('"') if name is not None else "",
            ruleset.text if ruleset is not None else "",
            conditions,
            form,
            line_of(text, form.start),
        )


def _atom(text: str) -> Node:
    return Node(text, 0, 0)


def line_of(text: str, offset: int) -> int:
    """1-based line of an offset."""
    return text.count("\n", 0, offset) + 1


def without(text: str, names: frozenset[str]) -> str:
    """The text with the rules of these names blanked out; what stays keeps its place."""
    for rule in rules(text):
        if rule.name in names:
            blank = re.sub(r"[^\n]", " ", rule.form.text)
            text = text[: rule.form.start] + blank + text[rule.form.end :]
    return text


def one_by_one(text: str, first: int) -> tuple[str, list[tuple[str, str]]]:
    """The text with every rule in a ruleset of its own, numbered from `first`; and the ruleset each was of, with the
    new one. The order is that of the text."""
    out, at = [], 0
    moved: list[tuple[str, str]] = []
    for rule in rules(text):
        place = rule.form.option(":ruleset")
        if place is not None:
            own = f"{place.text}--{first + len(moved)}"
            moved.append((place.text, own))
            out += [text[at : rule.form.start], f"(ruleset {own}) ", text[rule.form.start : place.start], own]
            at = place.end
    return "".join([*out, text[at:]]), moved
