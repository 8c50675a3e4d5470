"""The sorts of a rule's variables, read off the declarations of the rule files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import SORTS, RuleFile
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.ruletext import Node

Heads = dict[str, tuple[tuple[str, ...], str]]  # constructor, function or relation -> sorts of arguments, of the whole
_SAME = frozenset({"+", "-", "*", "/", "%", "min", "max", "<<", ">>", "&", "|", "^", "abs"})
_EQUAL = frozenset({"=", "!=", "<", ">", "<=", ">="})
_INTEGER = re.compile(r"-?\d+$")
_FLOAT = re.compile(r"-?\d+\.\d+$")


class Sorts:
    """What the given files declare."""

    def __init__(self, book: Rulebook, files: Iterable[RuleFile]) -> None:
        self.heads: Heads = {f.name: (tuple(s for _, s in f.parameters), "Code") for f in book.forms.values()}
        self.elements: dict[str, str] = {}  # of a vector's sort
        for file in files:
            for s in file.signatures:
                if not s.generic:
                    self.heads[s.op] = ((*(SORTS[p.kind] for p in s.parameters), "Operand"), "Op")
            for form in ruletext.forms(file.text):
                self._declared(form)

    def _declared(self, form: Node) -> None:
        words = [p.text for p in form.parts]
        if form.head == "datatype":
            for c in form.parts[2:]:
                self.heads[c.parts[0].text] = (tuple(p.text for p in c.parts[1:]), words[1])
        elif form.head in ("constructor", "function"):
            self.heads[words[1]] = (tuple(p.text for p in form.parts[2].parts), words[3])
        elif form.head == "relation":
            self.heads[words[1]] = (tuple(p.text for p in form.parts[2].parts), "Unit")
        elif form.head == "sort" and len(form.parts) > 2 and form.parts[2].head == "Vec":
            self.elements[words[1]] = form.parts[2].parts[1].text

    def of(self, conditions: Sequence[Node]) -> dict[str, str]:
        """Sorts of the variables of a rule's conditions, as far as they can be told."""
        found: dict[str, str] = {}
        for _ in range(4):  # a variable's sort may be told by a later condition
            for condition in conditions:
                self.sort(condition, found)
        return found

    def sort(self, node: Node, known: dict[str, str], wanted: str | None = None) -> str | None:
        """The sort of an expression; notes those of the variables in it."""
        if not node.is_list:
            if (literal := _literal(node.text)) is not None:
                return literal
            if wanted is not None:
                known.setdefault(node.text, wanted)
            return known.get(node.text)
        head, parts = node.head, node.parts[1:]
        if head in self.heads:
            sorts, whole = self.heads[head]
            for part, sort in zip(parts, sorts, strict=False):
                self.sort(part, known, sort)
            return whole
        if head in _EQUAL or head in _SAME:
            told = [self.sort(p, known) for p in parts]
            same = next((s for s in told if s is not None), wanted if head in _SAME else None)
            for p in parts:
                self.sort(p, known, same)
            return same if head in _SAME else "bool"
        if head == "vec-get" and parts:
            vector = self.sort(parts[0], known)
            self.sort(parts[1], known, "i64")
            return self.elements.get(vector or "")
        for p in parts:
            self.sort(p, known)
        return {"vec-length": "i64", "to-string": "String"}.get(head)


def _literal(text: str) -> str | None:
    if text.startswith('"'):
        return "String"
    if text in ("true", "false"):
        return "bool"
    return "i64" if _INTEGER.match(text) else "f64" if _FLOAT.match(text) else None


def parts(node: Node) -> Iterator[Node]:
    """The expressions in a condition that may have a value of their own: variables and calls, outer ones first."""
    for part in node.parts[1:]:
        if part.is_list:
            yield part
            yield from parts(part)
        elif _literal(part.text) is None:
            yield part
