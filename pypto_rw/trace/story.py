"""The lines of every stage with what they have in common: the statements of the author that they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pypto_rw.diagnostics import Diagnostic
from pypto_rw.explain import Explanation, Fired, Statement
from pypto_rw.explain.sources import origins
from pypto_rw.records import dataclass
from pypto_rw.syntax import parse, write
from pypto_rw.trace.changes import Parts, changed

_HEAD = re.compile(r"\s*def (\w+)\(|\s*func\.func @(\w+)\(")
_TITLES = {"source": "source", "type": "after type", "legalize": "after legalize", "plan": "after plan", "pto": ".pto"}
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a stage. `origins`: indices of the statements it comes from; `new`: the parts that the stage
    before does not have, None where it has the line; `rules`: an index into the story's sets of rules, -1 for none."""

    text: str
    origins: tuple[int, ...]
    new: Parts | None = None
    rules: int = -1


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage's module as lines; `unchanged`: it is the one of the stage before."""

    name: str
    title: str
    lines: tuple[Line, ...]
    unchanged: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What a stage asked about a statement: the op, the deduced type, what stands for it now, an index of rules."""

    stage: str
    op: str
    type: str
    replaced: tuple[str, ...]
    rules: int


@dataclass(frozen=True, slots=True)
class Story:
    """Everything there is to show. `rules` are the distinct ones that fired, `sets` indices into them."""

    filename: str
    target: str
    stages: tuple[Stage, ...]
    statements: tuple[Statement, ...]
    asked: tuple[tuple[Asked, ...], ...]
    rules: tuple[Fired, ...]
    sets: tuple[tuple[int, ...], ...]
    diagnostics: tuple[Diagnostic, ...]


def told(explained: Explanation) -> Story:
    """The story of an explained run."""
    return _Teller(explained).story()


class _Teller:
    def __init__(self, explained: Explanation) -> None:
        self.explained = explained
        self.at: dict[Place, list[int]] = {}
        self.heads: dict[str, tuple[int, ...]] = {}
        for k, s in enumerate(explained.statements):
            self.at.setdefault((s.line, s.column), []).append(k)
        self._rules: dict[Fired, int] = {}
        self._sets: dict[tuple[int, ...], int] = {}

    def story(self) -> Story:
        source = self._source()
        module = parse(self.explained.source, filename=self.explained.filename)
        text, found = origins(module)
        before = self._placed(text, {line: (span.line, span.column) for line, _, span, _ in found})
        stages = [source]
        earlier = write(module)
        for stage in self.explained.stages:
            now = self._placed(stage.text, stage.origins)
            new = changed(before, now)
            lines = tuple(Line(t, o, n) for (t, o), n in zip(now, new, strict=True))
            stages.append(Stage(stage.name, _TITLES[stage.name], lines, stage.text == earlier))
            before, earlier = now, stage.text
        if self.explained.lines:
            stages.append(Stage("pto", _TITLES["pto"], tuple(self._printed()), False))
        asked = tuple(
            tuple(Asked(q.stage, q.op, q.type, q.replaced, self._set(q.rules)) for q in dict.fromkeys(s.questions))
            for s in self.explained.statements
        )
        return Story(
            self.explained.filename,
            self.explained.target,
            tuple(stages),
            self.explained.statements,
            asked,
            tuple(self._rules),
            tuple(self._sets),
            self.explained.diagnostics,
        )

    def _source(self) -> Stage:
        """The author's text; a line belongs to the innermost statement that it is a part of."""
        texts = re.split(r"\r\n|\r|\n", self.explained.source.removeprefix("\ufeff"))
        if texts and not texts[-1]:
            texts.pop()
        owners: list[tuple[int, ...]] = [()] * len(texts)
        for k, s in enumerate(self.explained.statements):
            last = s.end_line - (s.end_column <= 1)
            for line in range(s.line, min(last, len(texts)) + 1):
                inner = owners[line - 1]
                shared = bool(inner) and self.explained.statements[inner[-1]].line == s.line == line
                owners[line - 1] = (*inner, k) if shared else (k,)
        for text, owner in zip(texts, owners, strict=True):
            if m := _HEAD.match(text):
                self.heads[m[1]] = owner
        placed = [(text, owner if text.strip() else ()) for text, owner in zip(texts, owners, strict=True)]
        return Stage("source", _TITLES["source"], tuple(Line(t, o) for t, o in _with_else(placed)), False)

    def _placed(self, text: str, places: dict[int, Place]) -> list[tuple[str, tuple[int, ...]]]:
        """The lines of a module's text with their statements."""
        found = []
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
            owner = tuple(self.at.get(places[number], ())) if number in places else ()
            if m := _HEAD.match(line):
                owner = self.heads.get(m[1], ())
            found.append((line, owner))
        return _with_else(found)

    def _printed(self) -> Iterator[Line]:
        """The lines of the printed text; a closing brace belongs to what it closes."""
        owners: dict[int, tuple[int, ...]] = {
            e.number: (k,) for k, s in enumerate(self.explained.statements) for e in s.lines
        }
        opened: list[tuple[int, ...]] = []
        for line in self.explained.lines:
            owner = owners.get(line.number, ())
            if m := _HEAD.match(line.text):
                owner = self.heads.get(m[2], ())
            if line.text.lstrip().startswith("}") and opened:
                owner = opened.pop()
            if line.text.endswith("{"):
                opened.append(owner)
            yield Line(line.text, owner, None, self._set(line.rules) if line.rules else -1)

    def _set(self, rules: Sequence[Fired]) -> int:
        indices = tuple(self._rules.setdefault(r, len(self._rules)) for r in rules)
        return self._sets.setdefault(indices, len(self._sets))


def _with_else(lines: list[tuple[str, tuple[int, ...]]]) -> list[tuple[str, tuple[int, ...]]]:
    """The lines, an `else:` with the statement of its `if`: the last line before it that is indented as it is."""
    at: dict[int, tuple[int, ...]] = {}
    found = []
    for text, owner in lines:
        indent = len(text) - len(text.lstrip())
        if not owner and text.strip() == "else:":
            owner = at.get(indent, ())
        at[indent] = owner
        found.append((text, owner))
    return found
