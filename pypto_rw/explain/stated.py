"""What an op's own file states, where a rule for many ops asks for it: `(emits "tile.mul" "pto.tmul")`."""

from __future__ import annotations

from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.rulebook import Rulebook


class Stated:
    """The facts of op files and the heads of rules' conditions, each file read once."""

    def __init__(self, book: Rulebook) -> None:
        self.book = book
        self._facts: dict[str, dict[str, list[str]]] = {}
        self._asks: dict[str, dict[str, list[str]]] = {}

    def asked_for(self, rule: str, file: RuleFile, op: str) -> tuple[str, ...]:
        """Facts of `op`, as `file:line (fact)`, that a condition of the rule of `file` names."""
        if op not in self._facts:
            self._facts[op] = self._stated(op)
        if file.name not in self._asks:
            self._asks[file.name] = {r.name: [c.head for c in r.conditions] for r in ruletext.rules(file.text)}
        heads = dict.fromkeys(self._asks[file.name].get(rule, ()))
        return tuple(fact for head in heads for fact in self._facts[op].get(head, ()))

    def _stated(self, op: str) -> dict[str, list[str]]:
        file = self.book.op_file(op)
        found: dict[str, list[str]] = {}
        for form in ruletext.forms(file.text) if file is not None else ():
            if file is not None and len(form.parts) > 1 and form.parts[1].text == f'"{op}"':
                text = " ".join(form.text.split())
                found.setdefault(form.head, []).append(
                    f"{file.name}.egg:{ruletext.line_of(file.text, form.start)} {text}"
                )
        return found
