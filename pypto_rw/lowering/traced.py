"""Printed lines that know where they come from, for a run with an inspection."""

from __future__ import annotations

from typing import Any

from pypto_rw.diagnostics import NOWHERE, Span
from pypto_rw.lowering.emit import Emitter
from pypto_rw.lowering.printed import Place
from pypto_rw.shaping.operands import Instance


class Traced(str):
    """A printed line that knows the author's span, the shape whose code it is of, and that of its statement."""

    span: Span = NOWHERE
    shape: str = ""
    statement: str = ""


class TracingEmitter(Emitter):
    """An emitter whose lines know where they come from."""

    compiles = False

    def __init__(self, *, reference: bool) -> None:
        super().__init__(reference=reference)
        self._shapes: list[str] = []
        self._regions: list[Place] = []  # where the regions around began

    def run(self, instance: Instance) -> str | None:
        self._shapes.append(instance.shape)
        try:
            return super().run(instance)
        finally:
            self._shapes.pop()

    def constant(self, value: int | float, dtype: str) -> str:
        count = len(self.constants)
        name = super().constant(value, dtype)
        self._trace(self.constants, count)
        return name

    def _line(self, line: Any, frame: Any) -> None:  # an instruction of a template
        super()._line(line, frame)
        self._trace(self.lines, -1)

    def line(self, text: str) -> None:
        super().line(text)
        self._trace(self.lines, -1)

    def open(self, text: str) -> None:
        super().open(text)
        self._trace(self.lines, -1)
        self._regions.append(self.location)

    def middle(self, text: str) -> None:
        super().middle(text)
        self._trace(self.lines, -1, self._regions[-1])

    def close(self) -> None:
        super().close()
        self._trace(self.lines, -1, self._regions.pop())

    def _trace(self, lines: list[str], start: int, place: Place | None = None) -> None:
        place = place or self.location
        for k in range(start if start >= 0 else len(lines) + start, len(lines)):
            traced = Traced(lines[k])
            traced.span, traced.statement = place.span, place.shape
            traced.shape = self._shapes[-1] if self._shapes else ""
            lines[k] = traced
