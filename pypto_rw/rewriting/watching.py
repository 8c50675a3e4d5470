"""What a watched engine notes: which rules match, how often and for how long, and what the stages asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pypto_rw.records import dataclass, field

if TYPE_CHECKING:
    from pypto_rw.diagnostics import Span
    from pypto_rw.ir import Expr


class Firing(NamedTuple):
    """A rule that matched in one round of a ruleset, and how often."""

    rule: str
    ruleset: str
    matches: int


class Question(NamedTuple):
    """A call that a stage before planning asked the rules about: its place, its op, its shape, and the expression
    behind each operand position."""

    span: Span
    op: str
    shape: str
    sources: tuple[Expr | None, ...]


@dataclass(slots=True)
class Watch:
    """What an engine notes. `firings` are in the order of the rounds, `runs` counts the rounds of a ruleset.

    `timed`: each rule is run and timed alone, `seconds` has the sum. (The engine's own times are in whole
    milliseconds, which a rule seldom takes.)"""

    timed: bool = False
    firings: list[Firing] = field(default_factory=list)
    matches: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    runs: int = 0

    def note(self, ruleset: str, matches: dict[str, int], seconds: float = 0.0) -> None:
        """One round of a ruleset, or of one rule of it: how often each rule matched, and what it took."""
        for rule in sorted(matches):
            if matches[rule]:
                self.firings.append(Firing(rule, ruleset, matches[rule]))
                self.matches[rule] = self.matches.get(rule, 0) + matches[rule]
            if seconds:
                self.seconds[rule] = self.seconds.get(rule, 0.0) + seconds
