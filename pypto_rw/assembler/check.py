"""One instruction against the facts of its forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pypto_rw.assembler.expression import holds
from pypto_rw.assembler.facts import Tables
from pypto_rw.assembler.families import FAMILIES, Finding
from pypto_rw.assembler.line import Line
from pypto_rw.assembler.view import Surroundings, View


def spelled(role: str, name: str) -> str:
    """An operand as the text names it."""
    return name


def check_line(
    line: Line, tables: Tables, around: Surroundings, label: Callable[[str, str], str] = spelled
) -> Iterator[Finding]:
    """Everything the rules say about `line`; `label` gives (role, SSA name) the name a message uses."""
    for form in tables.forms(line.name):
        view = View(line, form, around, label)
        if form.when and holds(form.when, view.lookup) is not True:
            continue
        for fact in form.facts:
            refused = False
            for finding in FAMILIES[fact[0]](view, fact):
                rules = " ".join(form.aliases.get(r, r) for r in finding.rule.split())
                every = list(dict.fromkeys(rules.split()))
                kept = [r for r in every if not tables.lifted(r)]
                if kept and (fact[0] != "needs" or len(kept) == len(every)):
                    refused = True
                    yield finding._replace(rule=" ".join([form.places[fact], *kept]))
            if refused and fact[0] == "needs":
                break
