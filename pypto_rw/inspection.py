"""What a run shows besides its text: handed to `api.lower`, it fills up on the way.

A run with an inspection has an engine of its own: nothing that was kept hides a rule, and nothing it does is kept.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.records import dataclass, field
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.selection import Selection
from pypto_rw.rewriting.watching import Watch
from pypto_rw.shaping.operands import Instance


@dataclass(slots=True)
class Inspection:
    """`selection` says which rules take part; the rest is filled in by the run.

    `modules`: the module after each stage, by name. `asked`: how many of the watch's questions were asked by the end of
    each stage. `wanted`: every instance with its place and its function. `lines`: the lines of the text, of which those
    that the emitter made are `Traced`."""

    selection: Selection = field(default_factory=Selection)
    watch: Watch = field(default_factory=Watch)
    modules: dict[str, ir.Module] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    wanted: list[tuple[Instance, Span, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    engine: Engine | None = None

    def after(self, stage: str, module: ir.Module) -> None:
        """The module after a stage."""
        self.modules[stage] = module
        self.asked[stage] = len(self.watch.questions)
