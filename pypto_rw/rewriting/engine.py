"""Shapes in, templates out.

A shape is the text of an Op term (types interned as `(ty N)`). Each distinct shape goes through the rules once;
what comes back is the template of its code, the type it deduces, or the refusals its checks derive. What the rules
said is kept between processes, so that a kernel of known shapes needs no e-graph.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pypto_rw.diagnostics import CompileError, InternalError
from pypto_rw.records import dataclass
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.shelf import Shelf
from pypto_rw.rewriting.template import Template, compile_code

if TYPE_CHECKING:
    from pypto_rw.rewriting.egraph import EGraph
    from pypto_rw.rewriting.selection import Selection
    from pypto_rw.rewriting.watching import Firing, Watch

Term = tuple[Any, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """A refusal a rule derived: rule name, operand term, message, way out."""

    rule: str
    operand: Term
    message: str
    help: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What the rules say of one shape. `template` None: no rule lowers it; its `remarks` are warnings."""

    template: Template | None
    deduced: Term | None
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class Answer:
    """What the rules say of an op before memory is planned: its type, its refusals, what stands for it.

    `type` is the type once it has been made of the term, if it is the same for every statement of the shape;
    `fixed` tells whether it is, None before it was made."""

    deduced: Term | None
    findings: tuple[Finding, ...]
    legal: tuple[Term, ...]
    type: Any = None
    fixed: bool | None = None


class Unanswered(Exception):
    """A question that is asked together with others, later."""


class _Many(Exception):
    """There are many questions: they are better asked together."""


class Engine:
    """The rules for one target; remembers every shape it has rewritten.

    `facts` are further egglog facts that hold for the whole run, e.g. `(addresses)`. `shelf`: where what the
    rules said of a shape is kept between processes. `selection`: which rules take part (a shelf would not know).
    `watch` notes which rules match."""

    def __init__(
        self,
        rulebook: Rulebook,
        *,
        target: str,
        facts: tuple[str, ...] = (),
        shelf: Shelf | None = None,
        selection: Selection | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.rulebook = rulebook
        self.serial = next(_SERIALS)  # no other engine has or had it, nor had this one before it was restarted
        self.watch = watch
        self.target, self._facts, self._selection = target, facts, selection
        self._shelf = shelf
        self._graph: EGraph | None = None
        self.type_terms: dict[
            int, tuple[object, str | None]
        ] = {}  # by id: a type, and its term if it has no run-time part
        # What the assembler takes, by all that it depends on: instructions, with what keeps their identity alive.
        self.sound: dict[tuple[object, ...], dict[tuple[int, tuple[Any, ...]], Any]] = {}
        self._ops: dict[str, bool] = {}
        self._types: dict[str, int] = {}
        self._type_texts: list[str] = []
        self._results: dict[str, Rewritten] = {}
        self._answers: dict[str, Answer] = {}
        self.remembered: dict[str, object] = {}  # what the stages remember, by stage

        self.waits = False  # whether questions are collected, not asked
        self._waiting: dict[str, None] = {}
        self._left: int | None = None  # how many new questions are asked one by one, where that is limited

    # ------------------------------------------------------------------------------- shapes

    def type_number(self, text: str) -> int:
        """Number of the type whose term text is `text`; write it `(ty N)` in a shape."""
        number = self._types.get(text)
        if number is None:
            number = self._types[text] = len(self._types)
            self._type_texts.append(text)
        return number

    def load_op(self, op: str) -> bool:
        """Make the rules of `op` known; False when no rule file declares it."""
        found = self._ops.get(op)
        if found is None:
            found = self._ops[op] = self._load_op(op)
        return found

    def _load_op(self, op: str) -> bool:
        stored = self._shelf.signature(op) if self._shelf is not None else None
        if stored is not None:
            self.rulebook.signatures[op] = stored
            return True
        file = self.rulebook.op_file(op)
        if file is None:
            return False
        self._egraph().load(file.name)
        if self._shelf is not None:
            self._shelf.put_signature(op, self.rulebook.signature(op))
        return True

    def rewrite(self, shapes: list[str]) -> None:
        """Make the result of every shape of the list known."""
        new = [s for s in dict.fromkeys(shapes) if s not in self._results]
        if self._shelf is not None:
            new = [s for s in new if not self._fetched(s)]
        if not new:
            return
        graph = self._egraph()
        self._load_known(graph)
        forms = self.rulebook.forms
        for s, derived in zip(new, graph.rewrite(self._type_texts, new), strict=True):
            template = compile_code(derived.code, forms) if derived.code is not None and not derived.findings else None
            if template is not None:
                template.remarks = derived.remarks
            result = Rewritten(template, derived.deduced, tuple(Finding(*f) for f in derived.findings))
            self._results[s] = result
            if self._shelf is not None:
                steps = None if template is None else (template.steps, template.slots, template.remarks)
                self._shelf.put(self._owner(s), self._spelled(s), (steps, derived.deduced, derived.findings))

    def _load_known(self, graph: EGraph) -> None:
        """Load the ops that only the shelf knew."""
        for op, found in self._ops.items():
            if found:
                graph.load(op.replace(".", "/"))

    def _fetched(self, shape: str) -> bool:
        assert self._shelf is not None
        stored = self._shelf.get(self._owner(shape), self._spelled(shape))
        if stored is None:
            return False
        steps, deduced, findings = stored
        template = None if steps is None else Template(*steps)
        self._results[shape] = Rewritten(template, deduced, tuple(Finding(*f) for f in findings))
        return True

    def ask(self, shape: str) -> Answer:
        """The type, the refusals and the legalizations of one shape; nothing is lowered. Unanswered while it waits."""
        known = self._answers.get(shape)
        if known is not None:
            return known
        stored = self._shelf.get(f"{self._owner(shape)} asked", self._spelled(shape)) if self._shelf else None
        if stored is None:
            if self.waits:
                self._waiting[shape] = None
                raise Unanswered
            if self._left is not None:
                if not self._left:
                    raise _Many
                self._left -= 1
            self._ask([shape])
        else:
            self._answers[shape] = _answer(stored)
        return self._answers[shape]

    def _ask(self, shapes: list[str]) -> None:
        """Make the answers to new questions known."""
        graph = self._egraph()
        self._load_known(graph)
        for shape, said in zip(shapes, graph.ask(self._type_texts, shapes), strict=True):
            if self._shelf is not None:
                self._shelf.put(f"{self._owner(shape)} asked", self._spelled(shape), said)
            self._answers[shape] = _answer(said)

    def together(self, work: Callable[[], T]) -> T:
        """What `work` gives, which asks questions. Where many of them are new, it is done without their answers first,
        as far as it goes, so that they are asked together, and once more with them."""
        if self.watch is not None or self._left is not None:
            return work()
        self._left = _FEW
        try:
            return work()
        except _Many:
            self._left = None
            for _ in range(_ROUNDS):
                if not self._collected(work):
                    break
            return work()
        finally:
            self._left = None

    def _collected(self, work: Callable[[], object]) -> bool:
        """Whether `work` met many new questions, and they could be asked."""
        self.waits = True
        try:
            work()
        except Exception:  # without the answers it may fail anywhere
            pass
        finally:
            self.waits = False
            shapes = list(self._waiting)
            self._waiting.clear()
        try:
            self._ask(shapes)
        except (CompileError, InternalError):  # of a question that nobody may ask in the end
            self._graph = None
            return False
        return len(shapes) > _FEW

    def result(self, shape: str) -> Rewritten:
        """What the rules said of a shape that went through `rewrite`."""
        return self._results[shape]

    def shapes(self) -> list[str]:
        """Every shape that is remembered, in the order it came."""
        return list(self._results)

    def restart(self) -> None:
        """Forget every shape and every op, but not the core of the rules."""
        if self._graph is not None:
            self._graph.restart()
        for known in (self._ops, self._types, self._type_texts, self._results, self._answers, self.type_terms):
            known.clear()
        self.remembered.clear()
        self.serial = next(_SERIALS)

    def keep_beginning(self) -> None:
        """Make `restart` possible."""
        self._egraph().keep_beginning()

    def load_file(self, name: str) -> None:
        """Load a rule file that belongs to no op."""
        self._egraph().load(name)

    @property
    def size(self) -> int:
        """How many shapes are remembered."""
        return len(self._results) + len(self._answers)

    @property
    def asked(self) -> int:
        """How many questions of the stages before planning are remembered."""
        return len(self._answers)

    def save(self) -> None:
        """Keep what this process learned for the next one, and not too much for itself."""
        if len(self.type_terms) > _MOST_TYPES:
            self.type_terms.clear()
        if sum(map(len, self.sound.values())) > _MOST_SOUND:
            self.sound.clear()
        if self._shelf is not None:
            self._shelf.save()

    @contextmanager
    def examined(
        self, shape: str, *, asked: bool, files: tuple[str, ...] = ()
    ) -> Iterator[tuple[list[Firing], EGraph]]:
        """The rules that match for one shape alone, in order, and the e-graph that holds what they made.

        The rule files `files` take part too."""
        graph = self._egraph()
        self._load_known(graph)
        for name in files:
            graph.load(name)
        with graph.examined(self._type_texts, shape, asked=asked) as firings:
            yield firings, graph

    def rule_place(self, rule: str) -> str:
        """`file:line name` of a rule, the file relative to its rules folder."""
        return self.rulebook.rule_place(rule)

    @staticmethod
    def op(shape: str) -> str:
        """The op of a shape."""
        return _head(shape)

    def kept(self, group: str, key: str) -> Any:
        """A verdict that was kept, in this process or another, for the rules as they are; None without one."""
        return self._shelf.get(group, key) if self._shelf is not None else None

    def keep(self, group: str, key: str, verdict: Any) -> None:
        """Keep a verdict: plain tuples, texts and numbers."""
        if self._shelf is not None:
            self._shelf.put(group, key, verdict)

    def types(self, shape: str) -> tuple[list[str], list[str]]:
        """The types of a shape's operands and of its result, as rule text."""
        operands, _, result = shape.partition("(res ")
        of, into = ([self._type_texts[int(n)] for n in _NUMBER.findall(part)] for part in (operands, result))
        return of, into

    # ------------------------------------------------------------------------------ e-graph

    def _egraph(self) -> EGraph:
        if self._graph is None:
            from pypto_rw.rewriting.egraph import EGraph

            self._graph = EGraph(
                self.rulebook, target=self.target, facts=self._facts, selection=self._selection, watch=self.watch
            )
        return self._graph

    def _owner(self, shape: str) -> str:
        """The op a shape belongs to; "core" for terms of the compiler itself."""
        head = _head(shape)
        return head if head in self._ops else "core"

    def _spelled(self, shape: str) -> str:
        """The shape with its types written out, as another process would."""
        return _NUMBER.sub(lambda m: self._type_texts[int(m[1])], shape)


_SERIALS = itertools.count()
_MOST_SOUND = 100_000  # instructions remembered


def _answer(said: Any) -> Answer:
    deduced, findings, legal = said
    return Answer(deduced, tuple(Finding(*f) for f in findings), legal)


_FEW = 8  # new questions that are asked one by one
_ROUNDS = 6  # how often questions are asked that depend on the answers to others
_MOST_TYPES = 50_000
_NUMBER = re.compile(r"\(ty (\d+)\)")
_HEAD = re.compile(r'\((?:call "([^"]+)"|([^\s()]+))')


def _head(shape: str) -> str:
    found = _HEAD.match(shape)
    return (found[1] or found[2]) if found else shape
