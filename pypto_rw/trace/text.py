"""The story for a terminal: each of the author's statements, what became of it stage by stage, and the rules."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw.explain import Fired
from pypto_rw.trace.story import Line, Stage, Story

_WIDE = len("legalize")


def as_text(story: Story) -> str:
    """A block a statement, in the order of the source; what a stage did not change is left out."""
    lines: dict[str, dict[int, list[Line]]] = {s.name: {} for s in story.stages}
    for stage in story.stages:
        for line in stage.lines:
            for k in line.origins[:1]:
                lines[stage.name].setdefault(k, []).append(line)
    out = [_overview(story)]
    for k, statement in enumerate(story.statements):
        block = [row for stage in story.stages[1:] for row in _rows(story, k, stage, lines[stage.name].get(k, []))]
        if block:
            out += ["", f"{story.filename}:{statement.line}:{statement.column}  {statement.text}", *block]
    return "\n".join(out) + "\n"


def _overview(story: Story) -> str:
    if len(story.stages) == 1:
        return f"{story.filename} for {story.target}: refused before its first stage was done"
    changed = [s.name for s in story.stages[1:] if not s.unchanged]
    same = [s.name for s in story.stages[1:] if s.unchanged]
    text = f"{story.filename} for {story.target}: {', '.join(changed)}"
    return f"{text}; unchanged by {', '.join(same)}" if same else text


def _rows(story: Story, statement: int, stage: Stage, lines: list[Line]) -> Iterator[str]:
    """What a stage made of a statement, each line with the rules that made it."""
    told: list[str] = []
    for line in lines:
        if (stage.name != "pto" and line.new is None) or line.text.strip() == "}":
            continue
        yield f"  {stage.name:<{_WIDE}}  {line.text.strip()}"
        rules = [r.place for r in made_by(story, line.rules)]
        if stage.name != "pto" and not told:
            asked = [made_by(story, a.rules) for a in story.asked[statement] if a.stage == stage.name]
            rules = [r.place for found in asked for r in found]
        if rules and rules != told:
            yield from (f"  {'':<{_WIDE}}    by {rule}" for rule in dict.fromkeys(rules))
            told = rules


def made_by(story: Story, index: int) -> list[Fired]:
    """The rules of a set that decide; those that only state facts are left out."""
    found = [story.rules[k] for k in story.sets[index]] if index >= 0 else []
    return [r for r in found if r.ruleset != "facts"]
