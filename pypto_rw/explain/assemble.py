"""Runs the compiler with everything noted, and puts the records of an explanation together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pypto_rw import api, ir
from pypto_rw.diagnostics import NOWHERE, CompileError, Diagnostic
from pypto_rw.explain.records import Emitted, Explanation, Fired, Question, Stage, Statement, Step
from pypto_rw.explain.sources import Source, Sources, origins
from pypto_rw.explain.stated import Stated
from pypto_rw.explain.terms import value, written
from pypto_rw.explain.whynot import Miss, why_not
from pypto_rw.inspection import Inspection
from pypto_rw.lowering.traced import Traced
from pypto_rw.options import Options
from pypto_rw.pipeline import STAGES
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.selection import Selection
from pypto_rw.shaping.operands import Const, Instance, Var
from pypto_rw.syntax import parse

if TYPE_CHECKING:
    from typing import Unpack

    from pypto_rw.options import Given


def explain(source: str, *, selection: Selection | None = None, **given: Unpack[Given]) -> Explanation:
    """Where every line of the text of `source` came from; arguments as for `api.lower`, the text has no places.
    `selection` says which rules take part.

    A refused kernel is explained as far as it came: its diagnostics are in the explanation. Raises CompileError only
    for a text that cannot be parsed or rule files that cannot be read, ValueError for an option out of range."""
    return Examiner(source, selection=selection, **given).explanation()


class Examiner:
    """One inspected run, which further questions may be asked about; arguments as for `explain`."""

    def __init__(self, source: str, *, selection: Selection | None = None, **given: Unpack[Given]) -> None:
        self.inspection = Inspection(selection or Selection())
        given["loc"], given["inspection"] = False, self.inspection
        options = Options.of(**given)
        self.source, self.filename, self.target = source, options.filename, options.target
        self.module = parse(source, filename=options.filename)
        self.sources = Sources(self.module, source)
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self.mlir = ""
        try:
            lowered = api.lowered(source, options)
            self.mlir, self.diagnostics = lowered.mlir, lowered.diagnostics
        except CompileError as error:
            if self.inspection.engine is None:  # a rule file or an option
                raise
            self.diagnostics = error.diagnostics
        self._fired: dict[tuple[str, bool], tuple[Fired, ...]] = {}
        self.statements = Stated(self.engine.rulebook)

    @property
    def engine(self) -> Engine:
        """The engine of the run."""
        engine = self.inspection.engine
        assert engine is not None
        return engine

    def fired(self, shape: str, *, asked: bool) -> tuple[Fired, ...]:
        """The rules that match for a shape alone, in order, each once a ruleset; `asked`: as a question of a stage."""
        key = (shape, asked)
        if key not in self._fired:
            counts: dict[tuple[str, str], int] = {}
            with self.engine.examined(shape, asked=asked) as (firings, _):
                for f in firings:
                    counts[f.rule, f.ruleset] = counts.get((f.rule, f.ruleset), 0) + f.matches
            op = self.engine.op(shape)
            self._fired[key] = tuple(self._rule(rule, ruleset, n, op) for (rule, ruleset), n in counts.items())
        return self._fired[key]

    def _rule(self, name: str, ruleset: str, matches: int, op: str) -> Fired:
        found = self.engine.rulebook.rule_file(name)
        if found is None:
            return Fired(name, "", "", 0, ruleset, matches)
        file, line = found
        facts = () if ruleset == "facts" else self.statements.asked_for(name, file, op)
        return Fired(name, f"{file.name}.egg", str(file.path), line, ruleset, matches, facts)

    def why_not(self, name: str, statement: Statement) -> list[Miss]:
        """Why the rule `name` did not fire for what a statement was on the way, each shape once.

        ValueError for a name that no rule has."""
        source = self.sources.at(statement.line, statement.column)
        place = self.engine.rulebook.rule_file(name)
        if place is None:
            raise ValueError(name)
        file = place[0]
        rule = next(r for r in ruletext.rules(file.text) if r.name == name)
        shapes: dict[tuple[str, bool], tuple[ir.Expr | None, ...]] = {}
        if rule.ruleset != "lowering":
            for q in self.inspection.watch.questions:
                if self.sources.of(q.span) is source:
                    shapes.setdefault((q.shape, True), q.sources)
        if rule.ruleset != "legalize":
            for instance, span, _ in self.inspection.wanted:
                if self.sources.of(span) is source:
                    shapes.setdefault((instance.shape, False), _named(instance))
        own = [k for k in shapes if self.engine.op(k[0]).replace(".", "/") == file.name]
        calls = [k for k in shapes if self.engine.rulebook.signature(self.engine.op(k[0])) is not None]
        chosen = own or calls or list(shapes)
        found = [why_not(self.engine, file, rule, k[0], shapes[k], asked=k[1]) for k in chosen]
        return list(dict.fromkeys(found))

    def explanation(self) -> Explanation:
        """The records of the run."""
        stages, steps = self._stages()
        questions = self._questions()
        lines = [self._line(number, text) for number, text in enumerate(self._texts(), 1)]
        by_source: dict[Source, list[Emitted]] = {}
        for line, text in zip(lines, self._texts(), strict=True):
            found = self.sources.of(text.span) if isinstance(text, Traced) else None
            if found is not None:
                by_source.setdefault(found, []).append(line)
        statements = []
        for s in self.sources.all:
            asked, made, emitted = questions.get(s, []), steps.get(s, []), by_source.get(s, [])
            ops = (s.op, *(q.op for q in asked), *(op for _, op in made), *(e.op for e in emitted))
            statements.append(
                Statement(
                    s.function,
                    s.span.line,
                    s.span.column,
                    s.span.end_line,
                    s.span.end_column,
                    s.text,
                    s.op,
                    tuple(dict.fromkeys(op for op in ops if op)),
                    tuple(step for step, _ in made),
                    tuple(asked),
                    tuple(emitted),
                )
            )
        return Explanation(
            self.filename,
            self.target,
            self.source,
            self.mlir,
            tuple(stages),
            tuple(statements),
            tuple(lines),
            tuple(self.diagnostics),
        )

    # ------------------------------------------------------------------------------- parts

    def _texts(self) -> Iterator[str]:
        """The lines of the text; one that the emitter printed as several is several."""
        for line in self.inspection.lines if self.mlir else ():
            for part in line.split("\n"):
                if isinstance(line, Traced):
                    again = Traced(part)
                    again.span, again.shape, again.statement = line.span, line.shape, line.statement
                    yield again
                else:
                    yield part

    def _line(self, number: int, text: str) -> Emitted:
        span = text.span if isinstance(text, Traced) else NOWHERE
        shape = text.shape if isinstance(text, Traced) and "= arith.constant" not in text else ""
        rules = self.fired(shape, asked=False) if shape else ()
        return Emitted(number, str(text), span.line, span.column, self.engine.op(shape) if shape else "", rules)

    def _stages(self) -> tuple[list[Stage], dict[Source, list[tuple[Step, str]]]]:
        stages = []
        steps: dict[Source, list[tuple[Step, str]]] = {}
        for name, module in self.inspection.modules.items():
            text, found = origins(module)
            places: dict[int, tuple[int, int]] = {}
            for line, head, span, op in found:
                source = self.sources.of(span)
                if source is not None:
                    places[line] = (source.span.line, source.span.column)
                    steps.setdefault(source, []).append((Step(name, line, head), op))
            stages.append(Stage(name, text, places))
        return stages, steps

    def _questions(self) -> dict[Source, list[Question]]:
        found: dict[Source, dict[Question, None]] = {}
        ends = list(self.inspection.asked.items())
        running = next((stage for stage in STAGES if stage not in self.inspection.asked), "lower")
        for number, q in enumerate(self.inspection.watch.questions):
            source = self.sources.of(q.span)
            if source is None:
                continue
            stage = next((name for name, count in ends if number < count), running)
            answer = self.engine.ask(q.shape)
            question = Question(
                stage,
                q.op,
                value(answer.deduced) if answer.deduced is not None else "",
                tuple(written(term, q.sources) for term in answer.legal),
                tuple((f.rule, f.message) for f in answer.findings),
                self.fired(q.shape, asked=True),
            )
            found.setdefault(source, {})[question] = None
        return {source: list(questions) for source, questions in found.items()}


def _named(instance: Instance) -> tuple[ir.Expr | None, ...]:
    """The operands of an instance as expressions, None for one that takes instructions."""
    return tuple(
        ir.Name(o.name)
        if isinstance(o, Var)
        else ir.Int(o.value)
        if isinstance(o, Const) and isinstance(o.value, int)
        else None
        for o in instance.operands
    )
