"""Why a rule did not fire for a shape: the first of its conditions that fails, and the values it saw.

The conditions are asked one after another in the e-graph that holds the shape alone and all that the rules made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.explain.sorts import Sorts, parts
from pypto_rw.explain.terms import written
from pypto_rw.records import dataclass
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.ruletext import Node, Rule, line_of, rules

if TYPE_CHECKING:
    from pypto_rw.rewriting.declared import RuleFile
    from pypto_rw.rewriting.egraph import EGraph

_MOST = 3  # values shown of one expression


@dataclass(frozen=True, slots=True)
class Miss:
    """A rule and a shape. `fired`: how often it matched. Else `failed` is the first condition without a match, at
    `line` of the rule's file, `held` those before it, and `values` what the failed one saw: expression and values;
    `near`: facts of the failed one's relation that there are; `makers`: the places of the rules that make what it asks
    for, where there is nothing of it. `statement`: the shape's term."""

    rule: str
    op: str
    fired: int
    held: tuple[str, ...]
    failed: str
    line: int
    values: tuple[tuple[str, tuple[str, ...]], ...]
    near: tuple[str, ...]
    makers: tuple[str, ...]
    statement: str


def why_not(
    engine: Engine, file: RuleFile, rule: Rule, shape: str, sources: tuple[ir.Expr | None, ...], *, asked: bool
) -> Miss:
    """Why `rule` of `file` did not fire for `shape`; `sources` are the expressions behind its operands."""
    op = engine.op(shape)
    with engine.examined(shape, asked=asked, files=(file.name,)) as (firings, graph):
        table = "question" if asked else "shape"
        statement = written(graph.bindings(f"(= op ({table} 0))", (("op", "Op"),))[0][0], sources)
        fired = sum(f.matches for f in firings if f.rule == rule.name)
        if fired:
            return Miss(rule.name, op, fired, tuple(map(_flat, rule.conditions)), "", 0, (), (), (), statement)
        held, failed = _first_failing(graph, rule.conditions)
        before = tuple(map(_flat, held))
        if failed is None:
            return Miss(rule.name, op, 0, before, "", 0, (), (), (), statement)
        book = engine.rulebook
        files = [f for name in graph.files if (f := book.file(name)) is not None]
        sorts = Sorts(book, files)
        values = _values(graph, sorts, held, failed, rule.conditions, sources)
        near = _near(graph, sorts, failed, sources)
        makers = () if near else _makers(files, sorts, failed, dict(values))
        line = line_of(file.text, failed.start)
        return Miss(rule.name, op, 0, before, _flat(failed), line, values, near, makers, statement)


def _first_failing(graph: EGraph, conditions: Sequence[Node]) -> tuple[list[Node], Node | None]:
    """The conditions that hold together, and the first that does not hold with them.

    One that reads a variable which a later one binds is asked after that."""
    held: list[Node] = []
    left = list(conditions)
    while left:
        for condition in left:
            try:
                found = graph.bindings(_text([*held, condition]), ())
            except ValueError:
                continue
            if not found:
                return held, condition
            held.append(condition)
            left.remove(condition)
            break
        else:
            return held, left[0]
    return held, None


def _values(
    graph: EGraph,
    sorts: Sorts,
    held: list[Node],
    failed: Node,
    conditions: Sequence[Node],
    sources: tuple[ir.Expr | None, ...],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    known = sorts.of(conditions)
    found: dict[str, tuple[str, ...]] = {}
    for part in parts(failed):
        sort = sorts.sort(part, known)
        if part.text in found or sort in (None, "Unit", "bool") or (part.is_list and len(part.parts) == 1):
            continue
        assert sort is not None
        try:
            rows = graph.bindings(_text(held), ((part.text, sort),))
        except ValueError:  # the failed condition would have bound it
            continue
        texts = dict.fromkeys(written(row[0], sources) for row in rows)
        if texts and (part.is_list or list(texts) != [part.text]):
            found[_flat(part)] = tuple(list(texts)[:_MOST])
        elif not texts and part.is_list:
            found[_flat(part)] = ()
    return tuple(found.items())


def _near(graph: EGraph, sorts: Sorts, failed: Node, sources: tuple[ir.Expr | None, ...]) -> tuple[str, ...]:
    """Facts of the relation that a failed condition asks, whatever their arguments; a few of them."""
    columns, whole = sorts.heads.get(failed.head, ((), ""))
    if whole != "Unit":
        return ()
    names = [f"near{k}" for k in range(len(columns))]
    try:
        rows = graph.bindings(f"({failed.head} {' '.join(names)})", tuple(zip(names, columns, strict=True)))
    except ValueError:
        return ()
    texts = (" ".join(written(v, sources) for v in row) for row in rows)
    return tuple(sorted(dict.fromkeys(f"({failed.head} {t})" for t in texts))[:_MOST])


def _makers(
    files: Sequence[RuleFile], sorts: Sorts, failed: Node, values: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Places of the rules whose actions make a fact that a failed condition asks for and that is nowhere."""
    missing = [failed.head] if sorts.heads.get(failed.head, ((), ""))[1] == "Unit" else []
    missing += [p.head for p in parts(failed) if p.is_list and not values.get(_flat(p), True)]
    wanted = {name for name in missing if name not in ("lower", "call") and "." not in name}
    return tuple(
        f"{file.name}.egg:{rule.line} {rule.name}"
        for file in files
        for rule in rules(file.text)
        if rule.form.head == "rule" and not wanted.isdisjoint(_heads(rule.form.parts[2]))
    )


def _heads(node: Node) -> Iterator[str]:
    for part in (node, *node.parts):
        yield part.head
        if part is not node:
            yield from _heads(part)


def _text(conditions: Sequence[Node]) -> str:
    return " ".join(c.text for c in conditions)


def _flat(node: Node) -> str:
    return " ".join(node.text.split())
