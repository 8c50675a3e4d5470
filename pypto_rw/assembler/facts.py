"""The assembler's facts: `rules/instruction/NAME.egg`, one file an instruction, read as declarative relations.

The files are egglog (core/assembler.egg declares the relations), and they are the single source. They are evaluated
here and not in the e-graph: an instruction's shape is a dozen lookups in these tables (about 20 microseconds), where
one run of the e-graph with the same facts costs milliseconds, and `lower` asks for every distinct shape it prints."""

from __future__ import annotations

from collections import defaultdict

from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.rulefile import placed_statements, statements

Fact = tuple[str, ...]  # relation, then its arguments without the form's key


class Form:
    """One form of an instruction: the roles of its operands in the order of the text, and its facts."""

    __slots__ = ("aliases", "facts", "ins", "key", "outs", "places", "ways", "when")

    def __init__(self, key: str, ins: str, outs: str, when: str) -> None:
        self.places: dict[Fact, str] = {}  # file and line of a fact
        self.key, self.when = key, when
        self.ins, self.outs = ins.split(), outs.split()
        self.facts: list[Fact] = []  # `needs` first: without an operand the others are out of place
        self.aliases: dict[str, str] = {}  # a rule's id to all ids of the same fact
        self.ways: dict[str, str] = {}  # an element type that it does not take to what to write


class Tables:
    """Facts of one target and assembler version, loaded one instruction at a time, when it is asked for."""

    def __init__(self, rulebook: Rulebook, target: str, ptoas: str) -> None:
        self.rulebook, self.target, self.ptoas = rulebook, target, ptoas
        self._known: dict[str, list[Form]] = {}
        self._files: dict[str, list[tuple[str, tuple[str, ...], int]]] = {}
        self._lifted: frozenset[str] | None = None

    def forms(self, instruction: str) -> list[Form]:
        """The forms of `pto.tadd`; empty for an instruction without rules."""
        if instruction not in self._known:
            self._known[instruction] = self._load(instruction)
        return self._known[instruction]

    def lifted(self, rule: str) -> bool:
        """Whether this version of the assembler no longer has the rule."""
        if self._lifted is None:
            file = self.rulebook.file(f"target/ptoas-{self.ptoas}")
            found = statements(file.text) if file else ()
            self._lifted = frozenset(
                r for head, a in found if head == "lifted" and self._applies(a[0]) for r in a[1].split()
            )
        return rule in self._lifted

    def memory(self) -> dict[str, tuple[str, int]]:
        """What the assembler may fill when it plans the memory: place of the rule and bytes, by space."""
        file = self.rulebook.file("target/assembler-memory")
        return {
            a[2]: (f"{file.name}.egg:{line} {a[1]}", int(a[3]))
            for head, a, line in (placed_statements(file.text) if file else ())
            if file is not None and head == "assembler-memory" and a[0] == self.target
        }

    def _load(self, instruction: str) -> list[Form]:
        dialect, _, name = instruction.partition(".")
        name = name.replace(".", "_") if dialect == "pto" else dialect
        if name not in self._files:
            file = self.rulebook.file(f"instruction/{name}")
            self._files[name] = list(placed_statements(file.text)) if file else []
        forms: dict[str, Form] = {}
        facts: dict[str, list[Fact]] = defaultdict(list)
        places: dict[tuple[str, Fact], str] = {}
        for head, arguments, line in self._files[name]:
            if head == "instruction" and arguments[1] == instruction:
                forms[arguments[0]] = Form(arguments[0], *arguments[2:5])
            elif len(arguments) > 1 and self._applies(arguments[1]):
                facts[arguments[0]].append((head, *arguments[2:]))
                places[arguments[0], facts[arguments[0]][-1]] = f"instruction/{name}.egg:{line}"
        for key, form in forms.items():
            form.facts = sorted(facts[key], key=lambda f: f[0] != "needs")
            form.places = {fact: place for (of, fact), place in places.items() if of == key}
            form.aliases = {f[1]: f"{f[1]} {f[2]}" for f in form.facts if f[0] == "alias"}
            form.ways = {t: f[2] for f in form.facts if f[0] == "element-way" for t in f[1].split()}
            form.facts = [f for f in form.facts if f[0] not in ("alias", "element-way")]
        return list(forms.values())

    def _applies(self, targets: str) -> bool:
        """`a2a3 a5@0.60`: targets, each for every version or for one."""
        for word in targets.split():
            target, _, version = word.partition("@")
            if target == self.target and version in ("", self.ptoas):
                return True
        return False


def tables_of(rulebook: Rulebook, target: str, ptoas: str) -> Tables:
    """The facts of a rulebook, read once as long as it is there."""
    key = ("assembler", target, ptoas)
    found = rulebook.read_out.get(key)
    if not isinstance(found, Tables):
        found = rulebook.read_out[key] = Tables(rulebook, target, ptoas)
    return found
