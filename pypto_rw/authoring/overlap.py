"""Two rules that lower one op of one type: there are no priorities, so neither may be.

By example: both fire for one statement. By their conditions: all that one asks for, the other asks for too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from pypto_rw.examples import Outcome, Runner
from pypto_rw.records import dataclass
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.ruletext import Node, Rule

if TYPE_CHECKING:
    from pypto_rw.rewriting.egraph import EGraph

_LITERAL = re.compile(r'"|-?\d')


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two rules (by name) that lower one op, and the example (line, target) that shows it."""

    first: str
    second: str
    line: int
    target: str


@dataclass(frozen=True, slots=True)
class Root:
    """A rule that lowers an op: what it asks of the op, its other conditions, and the op's head ("" for any)."""

    rule: Rule
    op: Node
    others: tuple[Node, ...]
    head: str


def root(rule: Rule) -> Root | None:
    """A rule as one that lowers an op; None for another."""
    if rule.ruleset != "lowering":
        return None
    for condition in rule.conditions:
        found = _lowered(condition)
        if found is None:
            continue
        others = tuple(c for c in rule.conditions if c is not condition)
        head = found.head
        if not found.is_list:  # (lower op) and, elsewhere, (= op (tile.x …))
            named = [c.parts[2] for c in others if c.head == "=" and c.parts[1].text == found.text]
            head = next((n.head for n in named if n.is_list), "")
        return Root(rule, found, others, head)
    return None


def _lowered(condition: Node) -> Node | None:
    if condition.head != "=":
        return None
    return next((p.parts[1] for p in condition.parts[1:] if p.head == "lower"), None)


class Overlaps:
    """Watches the examples of one file, and finds the rules that lower one statement together.

    `matches`: how often each rule has matched before."""

    def __init__(self, roots: Roots, matches: dict[str, int]) -> None:
        self._roots = roots
        self._found: dict[tuple[str, str], Overlap] = {}
        self._before = matches
        self._seen: set[tuple[Engine, str]] = set()

    def look(self, runner: Runner, outcome: Outcome) -> None:
        """After an example has run on a target: its shapes are examined where two rules for one op have fired."""
        now = runner.watch.matches
        fired = [rule for rule, n in now.items() if n > self._before.get(rule, 0)]
        self._before = dict(now)
        new = [s for s in runner.shapes() if s not in self._seen]
        self._seen.update(new)
        roots = [r for rule in sorted(fired) if (r := self._roots.of(rule)) is not None]
        pairs = [(a, b) for a, b in combinations(roots, 2) if not (a.head and b.head and a.head != b.head)]
        for engine, shape in new:
            op = "call" if shape.startswith("(call ") else engine.op(shape)
            likely = [(a, b) for a, b in pairs if all(r.head in ("", op) for r in (a, b))]
            if likely:
                with engine.examined(shape, asked=False) as (_, graph):
                    for a, b in likely:
                        if _both(graph, a, b):
                            overlap = Overlap(a.rule.name, b.rule.name, outcome.example.line, outcome.target)
                            self._found.setdefault((a.rule.name, b.rule.name), overlap)

    def found(self) -> tuple[Overlap, ...]:
        """What was found so far."""
        return tuple(self._found.values())


class Roots:
    """The rules of a rulebook that lower an op, by name; each file is read once."""

    def __init__(self, book: Rulebook) -> None:
        self.book = book
        self._by_file: dict[str, dict[str, Root | None]] = {}
        self._known: dict[str, Root | None] = {}

    def of(self, name: str) -> Root | None:
        """The rule of that name, None for one that lowers nothing."""
        if name not in self._known:
            place = self.book.rule_file(name)
            self._known[name] = None if place is None else self._in(place[0]).get(name)
        return self._known[name]

    def _in(self, file: RuleFile) -> dict[str, Root | None]:
        if file.name not in self._by_file:
            self._by_file[file.name] = {rule.name: root(rule) for rule in ruletext.rules(file.text)}
        return self._by_file[file.name]


def _both(graph: EGraph, a: Root, b: Root) -> bool:
    """Whether two rules match for one op in the e-graph."""
    conditions = [*(c.text for c in a.rule.conditions), *(renamed(c) for c in b.rule.conditions)]
    try:
        return bool(graph.bindings(f"{' '.join(conditions)} (= {a.op.text} {renamed(b.op)})", ()))
    except ValueError:  # a condition reads what only a whole rule binds
        return False


def renamed(node: Node) -> str:
    """A condition with other variables."""
    if not node.is_list:
        return node.text if _LITERAL.match(node.text) or node.text in ("true", "false") else f"{node.text}--other"
    return f"({' '.join([node.parts[0].text, *map(renamed, node.parts[1:])])})" if node.parts else "()"


def by_conditions(files: Iterable[RuleFile]) -> Iterator[tuple[RuleFile, Rule, Rule]]:
    """Pairs of rules of one file, the second of which asks for all that the first asks for, and more or the same.

    Conservative: the rules must ask it in the same words but for the names of variables."""
    for file in files:
        roots = [r for rule in ruletext.rules(file.text) if (r := root(rule)) is not None]
        for a, b in combinations(roots, 2):
            if a.head and a.head == b.head:
                if _covers(a, b):
                    yield file, a.rule, b.rule
                elif _covers(b, a):
                    yield file, b.rule, a.rule


def _covers(a: Root, b: Root) -> bool:
    names = _matched(_pattern(a), _pattern(b))
    if names is None:
        return False
    asked = {_canonical(c, {}) for c in b.others}
    return all(_canonical(c, names) in asked for c in a.others if not _names_op(c, a))


def _pattern(r: Root) -> Node:
    """What a rule asks the op to look like."""
    if r.op.is_list:
        return r.op
    return next(c.parts[2] for c in r.others if _names_op(c, r))


def _names_op(condition: Node, r: Root) -> bool:
    return condition.head == "=" and condition.parts[1].text == r.op.text and condition.parts[2].is_list


def _matched(a: Node, b: Node) -> dict[str, str] | None:
    """The variables of the pattern `a` by what `b` has in their places; None where `b` may look otherwise."""
    names: dict[str, str] = {}

    def match(x: Node, y: Node) -> bool:
        if x.is_list:
            return (
                y.is_list
                and x.head == y.head
                and len(x.parts) == len(y.parts)
                and all(map(match, x.parts[1:], y.parts[1:]))
            )
        if _LITERAL.match(x.text) or x.text in ("true", "false"):
            return x.text == y.text
        return names.setdefault(x.text, y.text) == y.text

    return names if match(a, b) else None


def _canonical(node: Node, names: dict[str, str]) -> str:
    if not node.is_list:
        return names.get(node.text, node.text)
    return f"({' '.join([node.parts[0].text, *(_canonical(p, names) for p in node.parts[1:])])})"
