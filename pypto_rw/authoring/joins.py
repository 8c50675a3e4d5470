"""Rules whose conditions compare every statement with every other, and lists that nobody lists for `item`.

The engine joins tables by what their rows share, and computes (vec-get xs k), sums and comparisons for what is left
over. A condition that is tied to the others only through something computed is therefore tried with all rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pypto_rw.authoring.findings import Finding
from pypto_rw.records import dataclass
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import SORTS, RuleFile
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.ruletext import Node, Rule

_LITERAL = re.compile(r'"|-?\d|\$|(?:true|false)$')
_LISTS = {"Operands": "operands-listed", "Extents": "extents-listed"}
_ITEMS = {"item": "operands-listed", "extent-item": "extents-listed"}
_SHAPES = [("Op",), ("Operand",), ("Type",), ("Extent",), ("Place",), ("Code",)]  # the compiler writes terms of these
_FEW = frozenset(["Dtype", "Space", "Layout", "Pad", "TensorLayout", "String", "bool"])  # sorts of few values
Column = tuple[str, int]  # a table, and which of its columns


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of some rule files: their columns' sorts (the value last), those with one row, those that grow with
    the statements, and the columns whose lists are listed."""

    sorts: dict[str, tuple[str, ...]]
    single: frozenset[str]
    growing: frozenset[str]
    listed: frozenset[Column]


def joins(file: RuleFile, tables: Tables) -> Iterator[Finding]:
    """Findings of one file."""
    for rule in ruletext.rules(file.text):
        parts = apart(rule, tables)
        if len(parts) > 1:
            shown = " and ".join(f"({' … '.join(p)} …)" for p in parts)
            yield Finding(
                str(file.path),
                rule.line,
                "every-with-every",
                f"the rule {rule.name!r} compares every row of {shown}: nothing but something computed ties them",
                "share a variable: (item xs k) for (vec-get xs k), or a fact of the op that says what belongs to it",
            )
        for text in _unlisted(rule, tables):
            yield Finding(
                str(file.path),
                rule.line,
                "not-listed",
                f"the rule {rule.name!r} reads {text}, but nothing lists that list",
                "where the list is made, say (operands-listed xs 0) or (extents-listed xs 0)",
            )


def tables(book: Rulebook) -> Tables:
    """What the files of a search path declare."""
    files = [f for n in book.names() if (f := book.file(n)) is not None]
    sorts: dict[str, tuple[str, ...]] = {f.name: (*(s for _, s in f.parameters), "Code") for f in book.forms.values()}
    single: set[str] = set()
    few: set[str] = set()
    written: set[str] = set()
    for file in files:
        for form in ruletext.forms(file.text):
            for name, columns in _declared(form):
                sorts[name] = columns
                if (len(columns) < 2 and form.head != "relation") or not columns:
                    single.add(name)
                if _FEW.issuperset(columns[:-1] if form.head == "function" else columns):
                    few.add(name)
            if form.head in ruletext.RULES:
                written.update(n.head for action in _actions(form) for n in _below(action))
        for s in file.signatures:
            if not s.generic:
                sorts[s.op] = (*(SORTS[p.kind] for p in s.parameters), "Operand", "Op")
                written.add(s.op)
    written |= {n for n, columns in sorts.items() if columns[-1:] in _SHAPES}
    rules = [r for f in files for r in ruletext.rules(f.text)]
    ops = {s.op for f in files for s in f.signatures if not s.generic}
    return Tables(sorts, frozenset(single), frozenset((written & sorts.keys()) - few), _listed(rules, sorts, ops))


def apart(rule: Rule, tables: Tables) -> list[list[str]]:
    """The tables of a rule's conditions, those together that share a variable; groups that do not grow are left out."""
    terms = _Terms(tables)
    for condition in rule.conditions:
        terms.condition(condition)
    groups: dict[str, list[str]] = {}
    for _, values in terms.rows:
        for value in values[1:]:
            terms.same(values[0], value)
    for head, values in terms.rows:
        groups.setdefault(terms.root(values[0]), []).append(head)
    return [g for g in groups.values() if any(h in tables.growing for h in g)]


class _Terms:
    """The conditions of a rule as rows of tables over variables; values that are equal have one root."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._above: dict[str, str] = {}
        self._made = 0
        self.rows: list[tuple[str, list[str]]] = []

    def condition(self, node: Node) -> None:
        """Take a condition in."""
        if node.head != "=":
            self._value(node)
            return
        values = [v for p in node.parts[1:] if (v := self._value(p))]
        for value in values[1:]:
            self.same(values[0], value)

    def _value(self, node: Node) -> str:
        """The variable that stands for a term; empty for a constant."""
        if not node.is_list:
            return "" if _LITERAL.match(node.text) else node.text
        if node.head in self._tables.single:
            return ""
        values = [v for p in node.parts[1:] if (v := self._value(p))]
        if not values and len(node.parts) > 1:  # of constants: one row
            return ""
        self._made += 1
        made = f"({self._made}"  # no variable is called so
        if node.head in self._tables.sorts:
            self.rows.append((node.head, [made, *values]))
        return made

    def root(self, value: str) -> str:
        """The one that stands for all values equal to it."""
        while (above := self._above.get(value, value)) != value:
            value = above
        return value

    def same(self, a: str, b: str) -> None:
        """Two values are equal, or belong to one row."""
        self._above[self.root(a)] = self.root(b)


def _declared(form: Node) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tables a form declares."""
    if form.head in ("relation", "function", "constructor"):
        columns = tuple(p.text for p in form.parts[2].parts)
        yield form.parts[1].text, columns if form.head == "relation" else (*columns, form.parts[3].text)
    elif form.head == "datatype":
        for variant in form.parts[2:]:
            if variant.is_list:
                yield variant.head, (*(p.text for p in variant.parts[1:]), form.parts[1].text)


def _actions(form: Node) -> Iterable[Node]:
    return form.parts[2].parts if form.head == "rule" else form.parts[2:3]


def _below(node: Node) -> Iterator[Node]:
    if node.is_list:
        yield node
        for part in node.parts:
            yield from _below(part)


# ------------------------------------------------------------------------------------- lists by position


def _unlisted(rule: Rule, tables: Tables) -> Iterator[str]:
    columns = _columns(rule, tables.sorts)
    for condition in rule.conditions:
        for node in _below(condition):
            if node.head in _ITEMS and not columns.get(node.parts[1].text, set()) & tables.listed:
                yield node.text


def _columns(rule: Rule, sorts: dict[str, tuple[str, ...]]) -> dict[str, set[Column]]:
    """In which columns the conditions of a rule have each variable, and each term that is a table's value."""
    found: dict[str, set[Column]] = {}
    for condition in rule.conditions:
        for node in _below(condition):
            if node.head in sorts and node.head not in _ITEMS:
                for k, part in enumerate(node.parts[1:]):
                    found.setdefault(part.text, set()).add((node.head, k))
                found.setdefault(node.text, set()).add((node.head, len(sorts[node.head]) - 1))
        if condition.head == "=":
            first, *others = (p.text for p in condition.parts[1:])
            for other in others:
                both = found.get(first, set()) | found.get(other, set())
                found[first] = found[other] = both
    return found


def _listed(rules: list[Rule], sorts: dict[str, tuple[str, ...]], ops: set[str]) -> frozenset[Column]:
    """Columns whose lists are listed: those of ops, those a rule of one condition lists, and those in which rules put
    only lists of such columns or that they list themselves."""
    sure = {(op, k) for op in ops for k, sort in enumerate(sorts[op]) if sort in _LISTS}
    put: dict[Column, list[set[Column] | None]] = {}  # what is put there: a list of these columns, None for one listed
    for rule in rules:
        columns = _columns(rule, sorts)
        written = [n for action in _actions(rule.form) for n in _below(action)]
        listed = {n.parts[1].text for n in written if n.head in _ITEMS.values()}
        if len(rule.conditions) == 1:
            sure.update(c for text in listed for c in columns.get(text, ()))
        for node in written:
            values = list(node.parts[1:])
            target = node
            if node.head == "set":
                target, values = node.parts[1], [*node.parts[1].parts[1:], node.parts[2]]
            for k, (sort, value) in enumerate(zip(sorts.get(target.head, ()), values, strict=False)):
                if sort in _LISTS and value.head != "vec-empty":
                    put.setdefault((target.head, k), []).append(
                        None if value.text in listed else columns.get(value.text, set())
                    )
    found = sure | put.keys()
    while True:
        kept = {c for c in found if c in sure or all(p is None or p & found for p in put[c])}
        if kept == found:
            return frozenset(found)
        found = kept
