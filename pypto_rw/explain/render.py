"""Explanations as text for a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from pypto_rw.explain.records import Emitted, Explanation, Fired, Question, Statement
from pypto_rw.explain.whynot import Miss

_WIDTH = 110  # columns of a line that is shown; the JSON has all of it
_MADE = {"type": ("deduce",), "legalize": ("legalize",)}  # the rulesets that make what a stage puts in


def as_text(found: Explanation, statements: Sequence[Statement]) -> str:
    """Each statement with what stood for it after each stage, its lines, and the rules that made them."""
    return "\n\n".join("\n".join(_statement(found, s)) for s in statements) + "\n"


def _statement(found: Explanation, s: Statement) -> Iterator[str]:
    yield f"{found.filename}:{s.line}:{s.column}: {s.text}"
    last = ""
    for stage in found.stages:
        texts = [step.text for step in s.steps if step.stage == stage.name]
        if texts and (now := "\n".join(texts)) != last:
            last = now
            for k, text in enumerate(texts):
                yield _cut(f"  {stage.name if k == 0 else '':<9} {text}")
        yield from _questions(stage.name, s.questions)
    reached = {stage.name for stage in found.stages}
    for name in dict.fromkeys(q.stage for q in s.questions if q.stage not in reached):
        yield f"  {name:<9} refused"
        yield from _questions(name, s.questions)
    for rules, group in groupby(s.lines, key=_made):
        for line in group:
            yield _cut(f"  {line.number:>9} {line.text.strip()}")
        yield from (f"{'':12}{rule.place}" for rule in rules)


def _questions(stage: str, questions: Iterable[Question]) -> Iterator[str]:
    for q in dict.fromkeys(q for q in questions if q.stage == stage):
        for term in q.replaced:
            yield f"{'':12}{q.op} => {term}"
        for rule in q.rules:
            if rule.ruleset in _MADE.get(stage, ()) and not rule.name.startswith("stages/") and _told(q, rule):
                yield f"{'':12}{rule.place}"
        if not q.replaced:
            yield from (f"{'':12}refused by {rule}: {message}" for rule, message in q.refused)


def _told(q: Question, rule: Fired) -> bool:
    return rule.ruleset != "legalize" or bool(q.replaced)


def _made(line: Emitted) -> tuple[Fired, ...]:
    """The rules that made a line's code."""
    return tuple(r for r in line.rules if r.ruleset == "lowering")


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def misses_as_text(found: Explanation, misses: Sequence[tuple[Statement, str, Sequence[Miss]]]) -> str:
    """For each statement and rule, the conditions that held, the one that failed, and what it saw."""
    out: list[str] = []
    for s, place, told in misses:
        out.append(f"{found.filename}:{s.line}:{s.column}: {s.text}")
        for miss in told:
            out += _miss(place, miss)
        if not told:
            out.append(f"  {place}: no rule is asked about this statement")
        out.append("")
    return "\n".join(out)


def _miss(place: str, miss: Miss) -> Iterator[str]:
    if miss.fired:
        yield (
            f"  {place} fired {miss.fired} times for {miss.op}" if miss.fired > 1 else f"  {place} fired for {miss.op}"
        )
        return
    yield f"  {place} did not fire for {miss.op}"
    yield _cut(f"    statement {miss.statement}")
    yield from (f"    held      {condition}" for condition in miss.held)
    if not miss.failed:
        yield "    every condition holds now, but did not in time: a later ruleset made what it needs"
        return
    yield f"    failed    {miss.failed}    line {miss.line}"
    for expression, values in miss.values:
        yield f"      {expression} is {' or '.join(values) if values else 'not there'}"
    if not miss.values and miss.near:
        yield f"      there is {', '.join(miss.near)}"
    if miss.makers:
        yield f"      it would be made by {', '.join(miss.makers)}"


def as_json(
    found: Explanation,
    statements: Sequence[Statement],
    misses: Sequence[tuple[Statement, str, Sequence[Miss]]] = (),
) -> str:
    """All records of the statements, as one JSON object with the schema's number."""
    lines = [e for s in statements for e in s.lines]
    return json.dumps(
        {
            "schema": 1,
            "file": found.filename,
            "target": found.target,
            "statements": [_plain(s, drop=("lines",)) | {"lines": [e.number for e in s.lines]} for s in statements],
            "lines": [_plain(e) for e in sorted(lines, key=lambda e: e.number)],
            "diagnostics": [
                {
                    "code": d.code,
                    "severity": d.severity.value,
                    "message": d.message,
                    "line": d.span.line,
                    "column": d.span.column,
                    "rule": d.rule,
                }
                for d in found.diagnostics
            ],
            "why_not": [
                {"line": s.line, "column": s.column, "rule": place, "shapes": [_plain(m) for m in told]}
                for s, place, told in misses
            ],
        },
        indent=1,
        ensure_ascii=False,
    )


def _plain(record: object, drop: tuple[str, ...] = ()) -> dict[str, object]:
    """A record's fields, records inside it likewise."""
    from pypto_rw.records import fields

    return {f.name: _value(getattr(record, f.name)) for f in fields(record) if f.name not in drop}  # type: ignore[arg-type]


def _value(value: object) -> object:
    if isinstance(value, tuple):
        return [_value(v) for v in value]
    return value if isinstance(value, (str, int)) else _plain(value)
