"""One instruction in its place: roles bound to operands, with what is known about their types and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pypto_rw.assembler.facts import Form
from pypto_rw.assembler.line import Line
from pypto_rw.assembler.operand import Properties, properties

_ATTRIBUTE = re.compile(r"#pto(?:\.\w+)?<(?:\w+ )?(\w+)>|<(PIPE_\w+)>|\"(.*)\"")
_INTEGER = re.compile(r"-?\d+$")


class Flags(dict[str, bool]):
    """Words that are there; a word that is not is False, not unknown."""

    def get(self, key: str, default: object = False) -> bool:
        return key in self and self[key]


class Surroundings:
    """What a function knows while it is read: types and integer constants by name, and what windows were cut from.

    `cut` maps the result of a `pto.subview` with fewer columns than its source to the source's columns. `kernel` is
    `cube`, `vector` or None; `present` the instructions of the function; `reserved` the module's (function, name)
    pairs of reserved buffers. `level` 3: addresses are planned, 2: the assembler plans them."""

    __slots__ = ("arch", "constants", "cut", "entry", "kernel", "level", "present", "reserved", "returns", "types")

    def __init__(self, arch: str, level: int) -> None:
        self.arch, self.level = arch, level
        self.kernel: str | None = None
        self.types: Mapping[str, str] = {}
        self.constants: Mapping[str, int] = {}
        self.cut: dict[str, int] = {}
        self.present: frozenset[str] = frozenset()
        self.reserved: frozenset[tuple[str, str]] | None = None
        self.entry = self.returns = False


class View:
    """An instruction of one form, as conditions read it: `view.lookup("src0")` and so on."""

    __slots__ = ("_operands", "around", "form", "label", "line", "names")

    def __init__(self, line: Line, form: Form, around: Surroundings, label: Callable[[str, str], str]) -> None:
        self.line, self.form, self.around, self.label = line, form, around, label
        self.names: dict[str, str] = {}
        self._operands: dict[str, Properties | None] = {}
        sources = line.ins if line.ins or line.outs else line.args
        targets = line.outs or line.results
        _assign(form.ins, sources, self.names)
        _assign(form.outs, targets, self.names)

    def type(self, role: str) -> str:
        """The type of a role's operand, as defined, else as printed; empty when it is not there."""
        name = self.names.get(role)
        if name is None:
            return ""
        line = self.line
        if name in line.results:
            at = line.results.index(name)
            return line.result_types[at] if at < len(line.result_types) else ""
        if name in line.printed and (name in line.ins or name in line.outs):
            return line.printed[name]
        return self.around.types.get(name) or line.printed.get(name, "")

    def operand(self, role: str) -> Properties | None:
        """What is known about a role's operand; None for one that is not there."""
        if role not in self._operands:
            self._operands[role] = self._operand(role)
        return self._operands[role]

    def _operand(self, role: str) -> Properties | None:
        name = self.names.get(role)
        if name is None:
            return None
        return self._known(name, self.type(role))

    def _known(self, name: str, type_: str) -> Properties:
        found = dict(properties(type_))
        found["name"] = name
        found["value"] = self.around.constants.get(name)
        found["cut"] = self.around.cut.get(name)
        return found

    def lookup(self, name: str) -> object:
        """A name of a condition: an operand, `attr`, a list of constants, or a fact of the surroundings."""
        if name in self.names:
            return self.operand(name)
        around = self.around
        if name in ("arch", "level", "kernel", "entry", "returns"):
            fact: object = getattr(around, name)
            return fact
        if name == "attr":
            return {k: self._constant(v) for k, v in self.line.fields.items()}
        if name == "given":
            return Flags.fromkeys(self.names, True)
        if name == "fields":
            return Flags.fromkeys(self.line.fields, True)
        if name == "has":
            return Flags.fromkeys(map(_word, around.present), True)
        if name == "peer_reserves":
            key = (self.line.fields.get("peer_func", "")[1:], self.line.fields.get("name", ""))
            return None if around.reserved is None else key in around.reserved
        if name == "literal":
            return [self._constant(v) for v in self.line.literals]
        if name == "text":
            return self.line.literals[0] if self.line.literals else None
        if name == "operands":
            return len(self.line.args)
        if (value := self.line.fields.get(name, ""))[:1] == "%":
            return self._known(value, self.around.types.get(value, ""))
        items = self.line.lists.get(name)
        return None if items is None else [self._number(i) for i in items]

    def _constant(self, text: str) -> object:
        if text[0] == "%":
            return self.around.constants.get(text)
        if m := _ATTRIBUTE.fullmatch(text):
            return m[1] or m[2] or m[3]
        return self._number(text) if _INTEGER.match(text) else text

    def _number(self, text: str) -> int | None:
        return self.around.constants.get(text) if text[0] == "%" else int(text) if _INTEGER.match(text) else None


def _word(name: str) -> str:
    return name.removeprefix("pto.").replace(".", "_")


def _assign(roles: list[str], names: list[str], into: dict[str, str]) -> None:
    """Roles to operands by position; the last `tmp?` are left out where the operands are too few."""
    optional = [r for r in roles if r[-1] == "?"]
    missing = len(roles) - len(names)
    left_out = optional[len(optional) - missing :] if 0 < missing <= len(optional) else []
    given = [r.rstrip("?") for r in roles if r not in left_out]
    into.update(zip(given, names, strict=False))
