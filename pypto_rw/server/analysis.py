"""One text, compiled: what is wrong with it, and what the compiler knows of its values and calls."""

from __future__ import annotations

from functools import cached_property

from pypto_rw import api, ir
from pypto_rw.diagnostics import CompileError, Diagnostic, Severity
from pypto_rw.options import Options
from pypto_rw.pipeline import STAGES
from pypto_rw.records import dataclass
from pypto_rw.syntax import parse


@dataclass(frozen=True, slots=True)
class Known:
    """A value as a stage has it: the name it has there, its type, how it is passed where it is a parameter, and the
    stage (`plan`, `legalize`, `type`; `source` for what is only written)."""

    name: str
    type: ir.Type | None
    direction: str
    stage: str


class Analysis:
    """What the compiler says of one text. Nothing is computed before it is asked for; nothing is refused."""

    def __init__(self, source: str, filename: str, options: Options) -> None:
        self.source, self.filename, self.options = source, filename, options

    @cached_property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Everything `pypto-rw check` reports."""
        try:
            return api.check(
                self.source,
                filename=self.filename,
                target=self.options.target,
                planner=self.options.planner,
                ptoas=self.options.ptoas,
                rules=self.options.rules,
            )
        except CompileError as error:  # of a rule file
            return error.diagnostics
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return (self._fault(error),)

    def _fault(self, error: BaseException) -> Diagnostic:
        return Diagnostic(
            "internal-error",
            f"the compiler failed: {type(error).__name__}",
            help="this is no fault of the kernel; `pypto-rw check` leaves what reproduces it",
            filename=self.filename,
            severity=Severity.error,
        )

    @cached_property
    def parsed(self) -> ir.Module | None:
        """The module as it is written; None where the text does not parse."""
        try:
            return parse(self.source, filename=self.filename)
        except CompileError:
            return None

    @cached_property
    def stage(self) -> tuple[str, ir.Module | None]:
        """The last stage that takes the module, and the module after it."""
        if self.parsed is None:
            return "source", None
        for stage in reversed(STAGES):
            try:
                done = api.stop_after(
                    self.source,
                    stage=stage,
                    filename=self.filename,
                    target=self.options.target,
                    planner=self.options.planner,
                    rules=self.options.rules,
                )
            except KeyboardInterrupt:
                raise
            except BaseException:  # `findings` tells it
                continue
            return stage, done.module
        return "source", self.parsed

    @cached_property
    def _values(self) -> dict[int, list[Known]]:
        """Values of the last stage by the line that defines them."""
        stage, module = self.stage
        found: dict[int, list[Known]] = {}
        for function in module.functions if module is not None else ():
            types: dict[str, ir.Type | None] = {}
            for p in function.params:
                types[p.name] = p.type
                found.setdefault(p.span.line, []).append(Known(p.name, p.type, p.direction, stage))
            for stmt in ir.statements(function.body):
                for name, type_ in _defined(stmt, types):
                    types[name] = type_
                    found.setdefault(stmt.span.line, []).append(Known(name, type_, "", stage))
        return found

    def value(self, name: str, line: int) -> Known | None:
        """What is known of the value that `line` gives `name`; it may have a numbered name by now."""
        here = self._values.get(line, [])
        renamed = [k for k in here if k.name.rpartition("_")[0] == name and k.name.rpartition("_")[2].isdigit()]
        return next((k for k in (*(k for k in here if k.name == name), *renamed) if k.type is not None), None)

    def named(self, name: str) -> Known | None:
        """The last value of a name, wherever it is defined."""
        return next((k for here in reversed(self._values.values()) for k in here if k.name == name and k.type), None)

    def op(self, line: int, column: int) -> str | None:
        """The full name of the op that the call at a place became."""
        _, module = self.stage
        for function in module.functions if module is not None else ():
            for stmt in ir.statements(function.body):
                value = getattr(stmt, "value", None)
                if isinstance(value, ir.Call) and (value.span.line, value.span.column) == (line, column):
                    return value.callee
        return None


def _defined(stmt: ir.Stmt, types: dict[str, ir.Type | None]) -> list[tuple[str, ir.Type | None]]:
    """Names that a statement gives a value, and their types."""
    match stmt:
        case ir.Assign() | ir.Yield():
            return [(t, stmt.type) for t in stmt.targets]
        case ir.For():
            index: list[tuple[str, ir.Type | None]] = [(stmt.variable, ir.ScalarType(ir.DType.INDEX))]
            return index + [(c, _type_of(i, types)) for c, i in zip(stmt.carried, stmt.initial, strict=False)]
        case ir.While():
            return [(c, _type_of(i, types)) for c, i in zip(stmt.carried, stmt.initial, strict=False)]
    return []


def _type_of(expr: ir.Expr, types: dict[str, ir.Type | None]) -> ir.Type | None:
    return types.get(expr.id) if isinstance(expr, ir.Name) else None
