"""What an explanation consists of: plain records, from the author's statement to the printed lines."""

from __future__ import annotations

from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that matched: its name, its file and line (`path` "" for one that no file has), its ruleset, how often."""

    name: str
    file: str
    path: str
    line: int
    ruleset: str
    matches: int

    @property
    def place(self) -> str:
        """`file:line name`, the file relative to its rules folder."""
        return f"{self.file}:{self.line} {self.name}" if self.file else self.name


@dataclass(frozen=True, slots=True)
class Question:
    """What a stage before planning asked about a call, and what the rules said.

    `replaced`: the terms that stand for the call, in order, its operands as their author wrote them; `type`: the
    deduced type's term, "" where none was. `refused`: rule and message of every finding."""

    stage: str
    op: str
    type: str
    replaced: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    rules: tuple[Fired, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A statement that stands for the author's after a stage: its text, and its line in that stage's module."""

    stage: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Emitted:
    """A line of the printed text. `op`: the op whose code it is, "" for what belongs to none (a brace, a constant).

    `line` and `column` are the author's, 0 where there is none; `rules` made the code, in order."""

    number: int
    text: str
    line: int
    column: int
    op: str
    rules: tuple[Fired, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the source (or a parameter, or a function's head) and all that became of it.

    `op`: the op that its author called, "" for none; `ops`: every op it was on the way, that one first."""

    function: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    op: str
    ops: tuple[str, ...]
    steps: tuple[Step, ...]
    questions: tuple[Question, ...]
    lines: tuple[Emitted, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """The module after a stage, as text; `origins` gives the author's line and column of a line of it."""

    name: str
    text: str
    origins: dict[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where everything came from. A refused kernel has diagnostics and no `lines`, but the stages it passed."""

    filename: str
    target: str
    source: str
    mlir: str
    stages: tuple[Stage, ...]
    statements: tuple[Statement, ...]
    lines: tuple[Emitted, ...]
    diagnostics: tuple[Diagnostic, ...]
