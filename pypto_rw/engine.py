"""Shapes in, templates out: the only file that knows egglog.

A shape is the text of an Op term (types interned as `(ty N)`). Each distinct shape goes through the rules
once; what comes back is its code as a term, the type it deduces, or the refusals its checks derive.
`spike/report.md` §A-F has the measurements behind every choice here.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pypto_rw.diagnostics import CompileError, InternalError
from pypto_rw.rulebook import CORE, SORTS, Rulebook, RuleFile, rule_error

Term = tuple[Any, ...]
_LIMIT = 400  # rounds a ruleset may take before it counts as endless


@dataclass(frozen=True, slots=True)
class Finding:
    """A refusal a rule derived: rule name, operand term, message, way out."""

    rule: str
    operand: Term
    message: str
    help: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What the rules say of one shape. `code` None: no rule lowers it."""

    code: Term | None
    deduced: Term | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the rules say of an op before memory is planned: its type, its refusals, what stands for it."""

    deduced: Term | None
    findings: tuple[Finding, ...]
    legal: tuple[Term, ...]


class Engine:
    """An e-graph with the rules for one target; remembers every shape it has rewritten.

    `facts` are further egglog facts that hold for the whole run, e.g. `(addresses)`."""

    def __init__(self, rulebook: Rulebook, *, target: str, facts: tuple[str, ...] = ()) -> None:
        self.rulebook, self.target = rulebook, target
        self._bindings = _bindings()
        self._graph = self._bindings.EGraph()
        self._span = self._bindings.EgglogSpan(self._bindings.SrcFile("loader", "x"), 0, 1)
        self._loaded: set[str] = set()
        self._types: dict[str, int] = {}
        self._new_types: list[str] = []
        self._shapes: dict[str, int] = {}
        self._results: dict[str, Rewritten] = {}
        self._answers: dict[str, Answer] = {}
        self._forms: set[str] = set()
        self._commands: dict[str, Any] = {}
        self._matched: set[str] = set()
        self.watch = False
        self._text(
            "(relation signature (String String)) (relation operands (String String))"
            " (relation form (String String String))"
        )
        for name in CORE:
            self._load(name)
        self._load(f"target/{target}")
        if facts:
            self._text("\n".join(facts))

    # ------------------------------------------------------------------------------- shapes

    def type_number(self, text: str) -> int:
        """Number of the type whose term text is `text`; write it `(ty N)` in a shape."""
        number = self._types.get(text)
        if number is None:
            number = self._types[text] = len(self._types)
            self._new_types.append(f"(set (ty {number}) {text})")
        return number

    def load_op(self, op: str) -> bool:
        """Load the rules of `op`; False when no rule file declares it."""
        found = self.rulebook.op_file(op)
        if found is None:
            return False
        self._load(found.name)
        return True

    def rewrite(self, shapes: list[str]) -> None:
        """Run the rules on every shape of the list that is new."""
        new = [s for s in dict.fromkeys(shapes) if s not in self._results]
        if not new:
            return
        first = len(self._shapes)
        for s in new:
            self._shapes[s] = len(self._shapes)
        lines = [*self._new_types, *(f"(set (shape {self._shapes[s]}) {s})" for s in new)]
        self._new_types.clear()
        try:
            self._include_text("\n".join(lines))
            self._run()
        except CompileError:
            raise
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            raise InternalError(f"the rules failed: {error}") from error
        code = self._table("out")
        deduced = self._table("deduced-of")
        findings: dict[int, list[Finding]] = {}
        for (_, k, rule, operand, message, help), _ in self._rows("report"):
            findings.setdefault(k, []).append(Finding(rule, operand, message, help))
        for k, s in enumerate(new, first):
            found = code.get(k)
            unlowered = found is None or _has_unextractable(found)
            self._results[s] = Rewritten(
                None if unlowered else found,
                deduced.get(k),
                tuple(sorted(findings.get(k, ()), key=lambda f: (f.rule, f.message))),
            )

    def ask(self, shape: str) -> Answer:
        """The type, the refusals and the legalizations of one shape; nothing is lowered."""
        known = self._answers.get(shape)
        if known is not None:
            return known
        self._load("core/stages")
        k = -1 - len(self._answers)  # shapes are numbered from 0
        lines = [*self._new_types, f"(set (question {k}) {shape})"]
        self._new_types.clear()
        try:
            self._text("\n".join(lines))
            for ruleset in ("facts", "deduce", "check", "legalize"):
                self._saturate(ruleset, "facts" if ruleset == "deduce" else None)
            deduced = self._table("deduced-of").get(k)
            findings = tuple(
                sorted(
                    (Finding(*key[2:]) for key, _ in self._rows("report") if key[1] == k),
                    key=lambda f: (f.rule, f.message),
                )
            )
            legal = tuple(sorted((key[2] for key, _ in self._rows("legal-of") if key[1] == k), key=str))
            # a table that is read whole must stay small
            self._text("\n".join(f"(delete ({table} {k}))" for table in ("question", "deduced-of")))
        except CompileError:
            raise
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            raise InternalError(f"the rules failed: {error}") from error
        answer = self._answers[shape] = Answer(deduced, findings, legal)
        return answer

    def result(self, shape: str) -> Rewritten:
        """What the rules said of a shape that went through `rewrite`."""
        return self._results[shape]

    def fired(self) -> frozenset[str]:
        """Names of the rules that matched something in the last `rewrite`s."""
        return frozenset(self._matched)

    def rule_place(self, rule: str) -> str:
        """`file:line name` of a rule, the file relative to its rules folder."""
        for name in sorted(self._loaded):
            file = self.rulebook.file(name)
            if file is not None and rule in file.rule_lines:
                return f"{name}.egg:{file.rule_lines[rule]} {rule}"
        return rule

    def described(self, shape: str) -> str:
        """A shape for a message: the op and its operands' types."""
        numbers = {f"(ty {n})": text for text, n in self._types.items()}
        op = re.match(r'\((?:call "([^"]+)"|([^\s()]+))', shape)
        types = [numbers.get(m, m) for m in re.findall(r"\(ty \d+\)", shape)]
        return f"{(op[1] or op[2]) if op else shape} of {', '.join(types)}" if types else str(op and (op[1] or op[2]))

    # -------------------------------------------------------------------------------- rules

    def _load(self, name: str) -> None:
        if name in self._loaded:
            return
        self._loaded.add(name)
        file = self.rulebook.file(name)
        if file is None:
            raise InternalError(f"there is no rule file {name}.egg")
        for other in file.requires:
            if self.rulebook.file(other) is None:
                raise rule_error(
                    f"requires {other}, but no rules folder has {other}.egg", file.path, _line(file, other)
                )
            self._load(other)
        self._declare(file)
        try:
            with _quiet():
                self._graph.run_program(self._bindings.Include(self._span, str(file.path)))
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            raise self._explain(str(error), file) from None

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
                out.append(
                    f"(rule ((= op ({s.op} {names} r))) ((set (result op) r))"
                    f" :ruleset facts :name {_quoted(s.op + '/result')})"
                )
        if out:
            self._text("\n".join(out))

    def _explain(self, error: str, file: RuleFile) -> CompileError:
        """An egglog error of one file, as one clear message at the file's line."""
        place = re.search(r"(\d+):(\d+)-(?:\d+:)?\d+ of (\S+)", error)
        line, column = (int(place[1]), int(place[2])) if place else (1, 1)
        reason = next((line.strip() for line in reversed(error.splitlines()) if line.strip()), error)
        help = ""
        if m := re.search(r"Unbound function (\S+)", reason):
            reason = f"nothing called {m[1]} is declared"
            help = "check the spelling; an op needs a signature in its file, an instruction a form in form/"
        elif "Arity mismatch" in reason:
            reason = reason[0].lower() + reason[1:]
        elif m := re.search(r"Unbound symbol (\S+)", reason):
            reason = f"the variable {m[1]} is not bound by the rule's pattern"
        elif "panic" in error.lower() or "already" in error.lower():
            names = re.findall(r':name "([^"]+)"', file.text)
            twice = next((n for n in names if names.count(n) > 1), None)
            reason = f"the rule {twice!r} is written twice" if twice else "a rule or a declaration is written twice"
            if twice:
                line = max(i for i, text in enumerate(file.text.splitlines(), 1) if f'"{twice}"' in text)
        return rule_error(reason, file.path, line, column, help)

    # ------------------------------------------------------------------------------- egglog

    def _text(self, text: str) -> None:
        self._graph.run_program(*self._graph.parse_program(text, "declarations"))

    def _include_text(self, text: str) -> None:
        """Facts by file: parsing a large text from memory is quadratic in egglog."""
        handle, path = tempfile.mkstemp(suffix=".egg")
        try:
            with os.fdopen(handle, "w") as out:
                out.write(text)
            self._graph.run_program(self._bindings.Include(self._span, path))
        finally:
            os.unlink(path)

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
            if self.watch:
                self._matched.update(r for r, n in report.num_matches_per_rule.items() if n)
            if not report.updated:
                return
            if after is not None:
                self._saturate(after)
        matches = report.num_matches_per_rule
        raise self._endless(max(sorted(matches), key=lambda rule: matches[rule], default="?"))

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
        b = self._bindings
        mode = b.DefaultPrintFunctionMode()
        printed = self._graph.run_program(b.PrintFunction(self._span, function, 10**9, None, mode))[0]
        decode = _Decoder(b, printed.termdag)
        return [(decode(k), decode(v)) for k, v in printed.terms]

    def _table(self, function: str) -> dict[int, Term]:
        return {k[1]: v for k, v in self._rows(function)}


class _Decoder:
    """egglog's term graph as nested tuples; a constructor without arguments is a 1-tuple."""

    def __init__(self, bindings: Any, dag: Any) -> None:
        self._b, self._dag = bindings, dag
        self._seen: dict[Any, Any] = {}

    def __call__(self, term: Any) -> Any:
        found = self._seen.get(term)
        if found is None:
            node = self._dag.get(term)
            if isinstance(node, self._b.TermApp):
                found = (node.name, *map(self, node.args))
            elif isinstance(node, self._b.TermLit):
                found = getattr(node.value, "value", ())  # unit has no value
            else:
                found = ("Unextractable",)
            self._seen[term] = found
        return found


def _quoted(text: str) -> str:
    return f'"{text}"'


def _has_unextractable(term: Any) -> bool:
    stack = [term]
    while stack:
        t = stack.pop()
        if isinstance(t, tuple):
            if t and t[0] == "Unextractable":
                return True
            stack.extend(t)
    return False


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """A panic of the engine writes to the process's stderr before it becomes an exception; keep that away."""
    try:
        saved = os.dup(2)
    except OSError:  # no stderr to protect
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)


def _heads(text: str) -> list[str]:
    code = re.sub(r";[^\n]*", "", text)
    return list(dict.fromkeys(re.findall(r"\(([A-Za-z][\w./-]*)", code)))


def _line(file: RuleFile, needle: str) -> int:
    return next((i for i, text in enumerate(file.text.splitlines(), 1) if needle in text), 1)


def _bindings() -> Any:
    """`egglog.bindings` without running `egglog/__init__` (11 ms instead of 190)."""
    import importlib.machinery
    import sys
    import types

    logging.getLogger("egglog.extract").setLevel(logging.CRITICAL)
    loaded = sys.modules.get("egglog.bindings")
    if loaded is not None:
        return loaded
    if "egglog" not in sys.modules:
        spec = importlib.machinery.PathFinder.find_spec("egglog")
        if spec is None or spec.submodule_search_locations is None:
            raise InternalError("the package egglog is not installed")
        stub = types.ModuleType("egglog")
        stub.__path__ = list(spec.submodule_search_locations)
        stub.__spec__ = spec
        sys.modules["egglog"] = stub
        try:
            import egglog.bindings
        finally:
            del sys.modules["egglog"]  # a later `import egglog` still gets the real package
        return sys.modules["egglog.bindings"]
    import egglog.bindings

    return egglog.bindings
