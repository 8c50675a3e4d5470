"""The e-graph: rule files and shapes go in, code terms, deduced types and refusals come out.

It is loaded when a shape is met that no earlier run has rewritten. Measured: parsing a large text from memory,
`extract` and `let` take quadratic time, a file and one `PrintFunction` a table do not; to forget (`push`, `pop`) takes
milliseconds, so a few shapes share it.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pypto_rw.diagnostics import CompileError, InternalError
from pypto_rw.records import dataclass
from pypto_rw.rewriting.bulk import Pattern, patterns
from pypto_rw.rewriting.declared import SORTS, RuleFile
from pypto_rw.rewriting.library import Decoder, bindings, file_of, quiet, told
from pypto_rw.rewriting.rulebook import CORE, Rulebook
from pypto_rw.rewriting.rulefile import rule_error

if TYPE_CHECKING:
    from pypto_rw.rewriting.selection import Selection
    from pypto_rw.rewriting.watching import Firing, Watch

Term = tuple[Any, ...]
_LIMIT = 400  # rounds a ruleset may take before it counts as endless
_TOGETHER = 2048  # shapes in one e-graph: fewer repeat its fixed cost, more take its memory
_HELD = 64  # shapes it holds before it forgets: to forget costs as much as ten, to read one costs a part of each
_LISTED = {"Operands": "operands-listed", "Extents": "extents-listed"}  # core/terms.egg, `item`
_TYPE = re.compile(r"\(ty (\d+)\)")


@dataclass(frozen=True, slots=True)
class Derived:
    """What the rules derive for one shape; `code` None: no rule lowers it.

    `findings` holds (rule, operand term, message, help) of every refusal, sorted, `remarks` the same of warnings."""

    code: Term | None
    deduced: Term | None
    findings: tuple[tuple[str, Term, str, str], ...]
    remarks: tuple[tuple[str, Term, str, str], ...] = ()


class EGraph:
    """An e-graph with the rules for one target. `facts` hold for the whole run, e.g. `(addresses)`.

    Raises CompileError for a rule file that egglog does not take, at the file's line."""

    def __init__(
        self,
        rulebook: Rulebook,
        *,
        target: str,
        facts: tuple[str, ...] = (),
        selection: Selection | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.rulebook = rulebook
        self.watch = watch  # what notes the rules that match
        self._selection = selection
        self._alone_in: dict[str, list[str]] = {}  # rulesets of one rule each, by the ruleset they are of
        self._first: tuple[frozenset[str], frozenset[str]] | None = None  # what `restart` comes back to
        self._count = 0  # shapes and questions since it forgot
        self._probes = 0
        self._patterns = 0
        self._settled = -1  # how many files were loaded when all rules had run without a shape
        self._bindings = bindings()
        self._graph = self._bindings.EGraph()
        self._span = self._bindings.EgglogSpan(self._bindings.SrcFile("loader", "x"), 0, 1)
        self._loaded: set[str] = set()
        self._forms: set[str] = set()
        self._commands: dict[str, Any] = {}
        self._holds = ""  # what it has not forgotten: "shape", "question" or nothing
        self._text(
            "(relation signature (String String)) (relation operands (String String))"
            " (relation form (String String String))"
        )
        for name in CORE:
            self.load(name)
        self.load(f"target/{target}")
        if facts:
            self._text("\n".join(facts))

    def rewrite(self, types: Sequence[str], shapes: Sequence[str]) -> list[Derived]:
        """What the rules derive for each shape; `types[N]` is the term that a shape writes as `(ty N)`.

        A few shapes at a time, forgotten afterwards: joins over one e-graph grow with the square of its shapes."""
        return [d for k in range(0, len(shapes), _TOGETHER) for d in self._rewrite(types, shapes[k : k + _TOGETHER])]

    def ask(
        self, types: Sequence[str], shapes: Sequence[str]
    ) -> list[tuple[Term | None, tuple[tuple[str, Term, str, str], ...], tuple[Term, ...]]]:
        """The deduced type, the refusals and the legalizations of each shape; nothing is lowered. core/stages.egg."""
        self.load("core/stages")
        return [a for k in range(0, len(shapes), _TOGETHER) for a in self._asked(types, shapes[k : k + _TOGETHER])]

    def _asked(
        self, types: Sequence[str], shapes: Sequence[str]
    ) -> Iterator[tuple[Term | None, tuple[tuple[str, Term, str, str], ...], tuple[Term, ...]]]:
        with told():
            first = self._room(len(shapes), "question")
            self._give(types, shapes, "question", first)
            self._question()
            deduced = self._table("deduced-of")
            findings = self._findings("report")
            legal: dict[int, list[Term]] = {}
            for (_, k, term), _ in self._rows("legal-of"):
                legal.setdefault(k, []).append(term)
        for k in range(first, first + len(shapes)):
            yield deduced.get(k), tuple(_distinct(findings.get(k, ()))), tuple(sorted(legal.get(k, ()), key=str))

    def _room(self, count: int, kind: str) -> int:
        """The first of the numbers of so many shapes or questions; what is held is forgotten unless it is little and of
        this `kind`.

        Where `restart` forgets, that is rarer and nothing is forgotten here."""
        if self._first is None:
            if self._holds != kind or self._count + count > _HELD:
                self._forget()
            if not self._holds:
                self._text("(push)")
                self._holds = kind
        first, self._count = self._count, self._count + count
        return first

    def _forget(self) -> None:
        """Forget what was asked and rewritten."""
        if self._holds:
            self._text("(pop)")
            self._holds, self._count = "", 0

    @contextlib.contextmanager
    def examined(self, types: Sequence[str], shape: str, *, asked: bool) -> Iterator[list[Firing]]:
        """The rules that match for one shape, in order; while it is open, `bindings` may look at what they made.

        `asked`: as a question of the stages before planning, else as a shape to lower."""
        from pypto_rw.rewriting.watching import Watch  # a plain run watches nothing

        self.load("core/stages")
        self._forget()
        self._settle()
        watch, self.watch = self.watch, Watch()
        self._text("(push)")
        try:
            with told():
                self._give(types, [shape], "question" if asked else "shape", self._count)
                (self._question if asked else self._run)()
            yield self.watch.firings
        finally:
            self._text("(pop)")
            self.watch = watch

    def bindings(self, conditions: str, values: Sequence[tuple[str, str]]) -> list[tuple[Any, ...]]:
        """The values, each (expression, sort), in every match of a rule's conditions; within `examined`.

        ValueError where the conditions, taken alone, are no rule's."""
        self._probes += 1
        name = f"probe-{self._probes}"
        columns = [f"v{k}-{name}" for k in range(len(values))]
        bound = " ".join(f"(= {c} {expression})" for c, (expression, _) in zip(columns, values, strict=True))
        text = (
            f"(relation {name} ({' '.join(sort for _, sort in values)})) (ruleset {name}-rules)"
            f" (rule ({conditions} {bound}) (({name} {' '.join(columns)})) :ruleset {name}-rules)"
            f" (run {name}-rules 1)"
        )
        try:
            self._text(text)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            raise ValueError(str(error)) from None
        return [key[1:] for key, _ in self._rows(name)]

    @property
    def files(self) -> list[str]:
        """Names of the rule files that are loaded."""
        return sorted(self._loaded)

    def _settle(self) -> None:
        """Run all rules without a shape, so that only what a shape brings about is noted afterwards."""
        if self._settled != len(self._loaded):
            watch, self.watch = self.watch, None
            self._run()
            self.watch, self._settled = watch, len(self._loaded)

    def _question(self) -> None:
        for ruleset in ("facts", "deduce", "check", "legalize"):
            self._saturate(ruleset, "facts" if ruleset == "deduce" else None)

    def _rewrite(self, types: Sequence[str], shapes: Sequence[str]) -> list[Derived]:
        with told():
            first = self._room(len(shapes), "shape")
            self._give(types, shapes, "shape", first)
            self._run()
            code = self._table("out")
            deduced = self._table("deduced-of")
            findings, remarks = self._findings("report"), self._findings("remarked")
        return [
            Derived(
                code.get(k),
                deduced.get(k),
                tuple(_distinct(findings.get(k, ()))),
                tuple(_distinct(remarks.get(k, ()))),
            )
            for k in range(first, first + len(shapes))
        ]

    # -------------------------------------------------------------------------------- rules

    def restart(self) -> None:
        """Forget all files but those it was made with; ten times as fast as another e-graph."""
        if self._first is None:
            raise InternalError("an e-graph that keeps no beginning cannot restart")
        self._forget()
        self._text("(pop)")
        self._loaded, self._forms = set(self._first[0]), set(self._first[1])
        self._settled = -1
        self._text("(push)")

    def keep_beginning(self) -> None:
        """From here on `restart` comes back to this."""
        self._first = (frozenset(self._loaded), frozenset(self._forms))
        self._text("(push)")

    def load(self, name: str) -> None:
        """Load a rule file and what it requires, once."""
        if name in self._loaded:
            return
        self._forget()  # or the rules would be forgotten with what was asked
        self._loaded.add(name)
        file = self.rulebook.file(name)
        if file is None:
            raise InternalError(f"there is no rule file {name}.egg")
        for other in file.requires:
            if self.rulebook.file(other) is None:
                raise rule_error(
                    f"requires {other}, but no rules folder has {other}.egg", file.path, _line(file, other)
                )
            self.load(other)
        self._declare(file)
        try:
            with quiet():
                text = self._selection.text(file) if self._selection is not None else None
                if self.watch is not None and self.watch.timed:
                    text = self._one_by_one(text or file.text)
                if text is None:
                    self._graph.run_program(self._bindings.Include(self._span, str(file.path)))
                else:
                    self._include_text(text)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            from pypto_rw.rewriting.rulefaults import explained  # only a wrong file needs it

            raise explained(str(error), file, self.rulebook) from None
        self._make_constants(file)

    def _make_constants(self, file: RuleFile) -> None:
        """Make the values without arguments of every datatype: `(!= x (no-layout))` needs that term to exist."""
        for datatype in re.findall(r"^\(datatype (?:.|\n(?=[ ;]))*", file.text, re.M):  # up to the next form
            self._text("\n".join(re.findall(r"\([\w-]+\)", re.sub(r";[^\n]*", "", datatype))))

    def _declare(self, file: RuleFile) -> None:
        """Constructors that the file's own signatures and the forms it uses imply."""
        out = []
        for name in _heads(file.text):
            form = self.rulebook.forms.get(name)
            if form is not None and name not in self._forms:
                self._forms.add(name)
                out.append(f"(constructor {name} ({' '.join(s for _, s in form.parameters)}) Code)")
        for s in file.signatures:
            if not s.generic:
                out.append(f"(constructor {s.op} ({' '.join(SORTS[p.kind] for p in s.parameters)} Operand) Op)")
                names = " ".join(f"x{k}" for k in range(len(s.parameters)))
                lists = " ".join(
                    f"({_LISTED[SORTS[p.kind]]} x{k} 0)" for k, p in enumerate(s.parameters) if SORTS[p.kind] in _LISTED
                )
                out.append(
                    f"(rule ((= op ({s.op} {names} r))) ((set (result op) r) {lists})"
                    f" :ruleset facts :name {_quoted(s.op + '/result')})"
                )
        if out:
            self._text("\n".join(out))

    # ------------------------------------------------------------------------------- egglog

    def _text(self, text: str) -> None:
        self._graph.run_program(*self._graph.parse_program(text, "declarations"))

    def _include_text(self, text: str) -> None:
        """Facts by file: parsing a large text from memory is quadratic in egglog."""
        if not text:
            return
        with file_of(text, ".egg") as path:
            self._graph.run_program(self._bindings.Include(self._span, path))

    def _give(self, types: Sequence[str], shapes: Sequence[str], table: str, first: int) -> None:
        """The shapes, numbered from `first` in the function `table`, and the types they name."""
        numbers = dict.fromkeys(int(n) for s in shapes for n in _TYPE.findall(s))
        text: list[str] = []
        for where, terms in (("ty", ((n, types[n]) for n in numbers)), (table, enumerate(shapes, first))):
            alike, others = patterns(terms)
            if alike:
                self._include_text("\n".join(text))
                text.clear()
            for pattern in alike:
                self._fill(pattern, where)
            text += (f"(set ({where} {k}) {term})" for k, term in others)
        self._include_text("\n".join(text))

    def _fill(self, pattern: Pattern, table: str) -> None:
        """Set `table` for all terms of a pattern."""
        self._patterns += 1
        name = f"given-{self._patterns}"
        self._text(pattern.program(name, table))
        with file_of(pattern.text, ".tsv") as path:
            self._graph.run_program(self._bindings.Input(self._span, name, path))
        self._text(f"(run {name}-rows 1)")

    def _run(self) -> None:
        """Facts, deduction, checks, legalization, lowering; facts after every round that makes terms.

        A schedule's `saturate` need not end, so each round is bounded and counted here."""
        self._saturate("facts")
        self._saturate("deduce", "facts")
        self._saturate("check")
        self._saturate("legalize", "facts")
        self._saturate("lowering", "facts")

    def _saturate(self, ruleset: str, after: str | None = None) -> None:
        command = self._command(ruleset)
        for _ in range(_LIMIT):
            report = self._graph.run_program(command)[0].report
            updated = report.updated
            if self.watch is not None:
                self.watch.runs += 1
                self.watch.note(ruleset, report.num_matches_per_rule)
                updated |= self._timed(ruleset, self.watch)
            if not updated:
                return
            if after is not None:
                self._saturate(after)
        matches = report.num_matches_per_rule
        raise self._endless(max(sorted(matches), key=lambda rule: matches[rule], default="?"))

    def _one_by_one(self, text: str) -> str:
        """A file's text with every rule in a ruleset of its own, so that it can be timed."""
        from pypto_rw.rewriting.ruletext import one_by_one

        text, moved = one_by_one(text, sum(map(len, self._alone_in.values())))
        for ruleset, own in moved:
            self._alone_in.setdefault(ruleset, []).append(own)
        return text

    def _timed(self, ruleset: str, watch: Watch) -> bool:
        """One round of each rule of a ruleset that is run alone; whether one changed anything."""
        updated = False
        for own in self._alone_in.get(ruleset, ()):
            command = self._command(own)
            start = time.perf_counter()
            report = self._graph.run_program(command)[0].report
            watch.note(ruleset, report.num_matches_per_rule, time.perf_counter() - start)
            updated |= report.updated
        return updated

    def _command(self, ruleset: str) -> Any:
        if ruleset not in self._commands:
            self._commands[ruleset] = self._graph.parse_program(f"(run {ruleset} 1)", "schedule")[0]
        return self._commands[ruleset]

    def _endless(self, rule: str) -> CompileError:
        for name in sorted(self._loaded):
            file = self.rulebook.file(name)
            if file is not None and rule in file.rule_lines:
                return rule_error(
                    f"the rules do not come to an end: {rule!r} keeps making new terms",
                    file.path,
                    file.rule_lines[rule],
                    help="a rule must not make a term that it, or a rule after it, matches again",
                )
        return rule_error("the rules do not come to an end", self.rulebook.folders[0])

    def _rows(self, function: str) -> list[tuple[Term, Any]]:
        """The rows of a table: its key and its value, None for one that no rule resolves."""
        b = self._bindings
        if not self._graph.run_program(b.PrintSize(self._span, function))[0].size:
            return []  # to print even an empty table looks at all terms
        mode = b.DefaultPrintFunctionMode()
        printed = self._graph.run_program(b.PrintFunction(self._span, function, 10**9, None, mode))[0]
        decode = Decoder(b, printed.termdag)
        return [(decode(k), decode.whole(v)) for k, v in printed.terms]

    def _reports(self, table: str) -> list[tuple[Term, Any]]:
        """What the checks say. CompileError for something whose name is no rule's."""
        rows = self._rows(table)
        for name in dict.fromkeys(key[2] for key, _ in rows):
            files = [f for n in sorted(self._loaded) if (f := self.rulebook.file(n)) is not None]
            if not any(name in f.rule_lines for f in files):
                from pypto_rw.rewriting.rulefaults import unnamed_refusal  # only a wrong file needs it

                raise unnamed_refusal(name, files, self.rulebook.folders[0])
        return rows

    def _findings(self, table: str) -> dict[int, list[tuple[str, Term, str, str]]]:
        """What the checks say, by number."""
        findings: dict[int, list[tuple[str, Term, str, str]]] = {}
        for (_, k, *finding), _ in self._reports(table):
            findings.setdefault(k, []).append((*finding,))
        return findings

    def _table(self, function: str) -> dict[int, Term]:
        return {k[1]: v for k, v in self._rows(function)}


def _quoted(text: str) -> str:
    return f'"{text}"'


def _heads(text: str) -> list[str]:
    code = re.sub(r";[^\n]*", "", text)
    return list(dict.fromkeys(re.findall(r"\(([A-Za-z][\w./-]*)", code)))


def _distinct(findings: Iterable[tuple[str, Term, str, str]]) -> Iterator[tuple[str, Term, str, str]]:
    """Findings in order; of those that say the same of two operands, the first."""
    last = None
    for f in sorted(findings, key=lambda f: (f[0], f[2], f[3])):
        if last != (last := (f[0], f[2], f[3])):
            yield f


def _line(file: RuleFile, needle: str) -> int:
    return next((i for i, text in enumerate(file.text.splitlines(), 1) if needle in text), 1)
