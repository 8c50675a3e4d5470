"""Code terms compiled to templates: what an instruction sequence needs, and its text with holes.

A template is independent of SSA names; the emitter fills it in once per statement.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from pypto_rw import mlir
from pypto_rw.diagnostics import InternalError
from pypto_rw.records import dataclass, field
from pypto_rw.rewriting.declared import Form

Spec = tuple[Any, ...]  # how to get one value: see `_Compiler.value`


@dataclass(slots=True)
class Template:
    """Steps of one shape's code, as plain tuples; `slots` fresh values live while it is filled in.

    An instruction is ("line", dest, values, pieces, holes, name): `dest` is defined by it or None, `values` are made in
    order, `name` is what it is called; every second piece of its text is empty, to be filled by the next hole: (index
    into values or -1 for `dest`, whether the type of the value is wanted and not its name)."""

    steps: tuple[Any, ...]
    slots: int
    remarks: tuple[tuple[str, Any, str, str], ...] = ()  # warnings: rule, operand, message, way out
    used: int = field(default=0, compare=False)  # how often it was printed step by step
    ready: Any = field(default=None, compare=False)  # what prints it without looking at the steps


def compile_code(code: Any, forms: dict[str, Form]) -> Template:
    """The template of a Code term."""
    compiler = _Compiler(forms)
    steps = compiler.code(code)
    return Template(tuple(steps), len(compiler.slots))


_HOLE = re.compile(r"\{\{|\}\}|\{(\w+)(?::(\w+))?\}")


@cache
def _read(text: str) -> tuple[tuple[str, str, bool], ...]:
    """A form's text as parts: what stands before a hole, the hole's name, whether it wants the type; the last has no
    name."""
    parts = []
    before, at = "", 0
    for m in _HOLE.finditer(text):
        before += text[at : m.start()]
        at = m.end()
        if m[1] is None:
            before += m[0][0]  # a brace, written twice
        else:
            parts.append((before, m[1], m[2] == "type"))
            before = ""
    return (*parts, (before + text[at:], "", False))


class _Compiler:
    def __init__(self, forms: dict[str, Form]) -> None:
        self.forms = forms
        self.slots: dict[Any, int] = {}

    def code(self, term: Any) -> list[Any]:
        head = term[0]
        if head == "seq":
            return self.code(term[1]) + self.code(term[2])
        if head == "nop":
            return []
        if head == "eval":
            return [("eval", self.value(term[1]))]
        if head == "hold":
            return [("hold", term[1], tuple(self.value(a) for a in term[2][1:]))]
        if head == "reserve":
            return [("reserve", self.value(term[1]))]
        if head == "becomes":
            return [("becomes", self.value(term[1]), self.value(term[2]))]
        if head == "retype":
            return [("retype", self.value(term[1]), mlir.type_text(term[2]))]
        if head == "looks-at":
            return [("looks-at", *map(self.value, term[1:]))]
        if head == "pointer-of":
            return [("pointer-of", *map(self.value, term[1:]))]
        if head in ("if-code", "if-else-code"):
            return [("region", self.value(term[1]), *(tuple(self.code(c)) for c in term[2:]))]
        form = self.forms.get(head)
        if form is None:
            raise InternalError(f"no form spells the instruction {head}")
        return [self.line(form, term[1:])]

    def line(self, form: Form, arguments: tuple[Any, ...]) -> Spec:
        dest = None
        values: list[Any] = []
        index: dict[str, int | str] = {}  # by parameter: the value's number, or its text
        for (name, sort), argument in zip(form.parameters, arguments, strict=True):
            if name == "dest":
                dest = self.value(argument)
                index[name] = -1
                continue
            if sort == "Operand":
                index[name] = len(values)
                values.append(self.value(argument))
            elif sort == "Operands":
                index[name] = len(values)
                values.append(("group", tuple(self.value(a) for a in argument[1:])))
            else:
                index[name] = _spelled(sort, argument)
        pieces = [""]
        holes: list[tuple[int, bool]] = []
        for before, name, typed in _read(form.text):
            pieces[-1] += before
            if not name:
                continue
            found = index.get(name)
            if found is None:
                raise InternalError(f"the form {form.name} has no parameter {name}")
            if isinstance(found, str):
                pieces[-1] += found
            else:
                holes.append((found, typed))
                pieces += ("", "")
        return ("line", dest, tuple(values), tuple(pieces), tuple(holes), mnemonic("%".join(pieces)))

    def value(self, t: Any) -> Spec:
        head = t[0]
        if head == "arg":
            return ("arg", t[1])
        if head in ("const", "lit"):
            return ("const", t[1], t[2 if head == "const" else 3][0])
        if head == "as-const":
            return ("const", t[1], t[2][0])
        if head == "int":
            return ("int", t[1], t[2][0])
        if head == "res":
            return ("res", _type(t[1]))
        if head in ("tmp", "tmp-like"):
            slot = self.slots.setdefault(t, len(self.slots))
            like = self.value(t[1]) if head == "tmp-like" else None
            return ("tmp", slot, like, t[-2], _type(t[-1]))
        if head == "do":
            return ("do", tuple(self.code(t[1])), self.value(t[2]))
        if head == "extent":
            if t[1][0] not in ("dyn", "inside"):
                raise InternalError(f"an extent that no rule resolves: {t[1]}")
            return ("extent", t[1][1])
        if head in ("anew", "uncast"):
            return (head, t[1][1]) if t[1][0] == "dyn" else ("int", t[1][1], "INDEX")
        if head == "held":
            return ("held", t[1])
        if head in ("window-source", "window-row", "window-col", "own", "pointer", "context"):
            return (head, self.value(t[1]))
        if head == "none":
            return ("none",)
        raise InternalError(f"an operand that no rule resolves: {t}")


def mnemonic(text: str) -> str:
    """The instruction of a line."""
    return (text.partition(" = ")[2] if text.startswith("%") else text).partition(" ")[0].partition("(")[0].strip('"')


def _type(term: Any) -> str:
    """Printed type; a name for types that have none yet (a tensor result prints as its view)."""
    try:
        return mlir.type_text(term)
    except KeyError:
        return ""


def _spelled(sort: str, argument: Any) -> str:
    """An argument that is no operand, as it is printed."""
    if sort == "Dtype":
        return mlir.element(argument[0])
    return str(argument).lower() if sort == "bool" else str(argument)
