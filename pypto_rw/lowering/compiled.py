"""Templates as Python functions: what `Emitter` does for a template step by step, written out once.

A template that is printed often is written as the text of a function. What differs between templates alike (texts,
types, numbers) is data that the function is given, so one function serves them all. The order in which values are made
is that of the interpreted steps; tests hold the two against each other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from pypto_rw.diagnostics import InternalError
from pypto_rw.rewriting.template import Template
from pypto_rw.shaping.operands import Instance, Var

if TYPE_CHECKING:
    from pypto_rw.lowering.emit import Emitter

# (emitter, instance, the template's data) -> the SSA name of the result
Run = Callable[["Emitter", Instance, tuple[Any, ...]], "str | None"]

_runs: dict[str, Run] = {}  # by their text
_WINDOW = ("window-source", "window-row", "window-col")


def compiled(template: Template) -> tuple[Run, tuple[Any, ...]]:
    """The function that prints an instance of a template, and the data it needs."""
    writer = _Writer()
    writer.steps(template.steps)
    text = writer.text()
    run = _runs.get(text)
    if run is None:
        names: dict[str, Any] = {"Var": Var, "InternalError": InternalError}
        exec(text, names)
        run = _runs[text] = names["run"]
    return run, tuple(writer.data)


class _Writer:
    """Writes the body of one function. A value is the name of the Python variable that has its SSA name."""

    def __init__(self) -> None:
        self.data: list[Any] = []
        self._lines: list[str] = []
        self._numbers = count()
        self._known: dict[tuple[str, Any], str] = {}  # operands, extents and fresh values that are there
        self._reserved: dict[int, str] = {}
        self._held: dict[str, list[str]] = {}
        self._result = "None"

    def text(self) -> str:
        """The whole function."""
        body = [
            f"{', '.join(f'd{k}' for k in range(len(self.data)))}, = d" if self.data else "pass",
            "operands, result = i.operands, i.result",
            "bound, types, constants = e.bound, e.types, e.constant_names",
            *self._lines,
            f"return {self._result} if result is None else bound.get(result, {self._result})",
        ]
        return "def run(e, i, d):\n" + "".join(f"    {line}\n" for line in body)

    def _datum(self, value: Any) -> str:
        self.data.append(value)
        return f"d{len(self.data) - 1}"

    def _new(self, expression: str) -> str:
        name = f"v{next(self._numbers)}"
        self._lines.append(f"{name} = {expression}")
        return name

    # -------------------------------------------------------------------------------- steps

    def steps(self, steps: tuple[Any, ...]) -> None:
        """Write what each step does."""
        for step in steps:
            kind = step[0]
            if kind == "line":
                self._line(step)
            elif kind == "eval":
                self._value(step[1])
            elif kind == "hold":
                self._held[step[1]] = [self._value(s) for s in step[2]]
            elif kind == "reserve":
                self._reserved[step[1][1]] = self._define(step[1])
            elif kind == "becomes":
                self._becomes(step[1], self._value(step[2]))
            elif kind == "retype":
                self._lines.append(f"types[{self._value(step[1])}] = {self._datum(step[2])}")
            elif kind == "looks-at":
                name, *window = [self._value(s) for s in step[1:]]
                self._lines.append(f"e.windows[{name}] = {', '.join(window)}")
            elif kind == "pointer-of":
                name, pointer = self._value(step[1]), self._value(step[2])
                self._lines.append(f"e.pointers[{name}] = {pointer}")
            else:
                self._region(step)

    def _region(self, step: Any) -> None:
        condition = self._value(step[1])
        self._lines.append(f'e.open(f"scf.if {{{condition}}} {{{{")')
        self.steps(step[2])
        if len(step) > 3:
            self._lines.append('e.middle("} else {")')
            self.steps(step[3])
        self._lines.append("e.close()")

    def _becomes(self, target: Any, name: str) -> None:
        if target[0] == "res":
            self._result = name
            self._lines.append(f"if result is not None: bound[result] = {name}")
        else:
            self._lines.append(f"bound[operands[{target[1]}].name] = {name}")
            self._known.pop(("arg", target[1]), None)

    def _line(self, line: Any) -> None:
        _, target, wanted, pieces, holes, _ = line
        values = [self._group(v) if v[0] == "group" else [self._value(v)] for v in wanted]
        dest = [self._define(target)] if target is not None else []
        shown: list[str] = []
        written = [pieces[0].replace("%", "%%")]
        for (at, typed), after in zip(holes, pieces[2::2], strict=True):
            names = dest if at < 0 else values[at]
            shown += [f"types.get({n}, '')" if typed else n for n in names]
            written += (", ".join(["%s"] * len(names)), after.replace("%", "%%"))
        text = "".join(written)
        if shown:
            self._lines.append(f"text = {self._datum(text)} % ({', '.join(shown)},)")
        else:
            self._lines.append(f"text = {self._datum(text % ())}")
        told = ", ".join([*dest, *(n for names in values for n in names)])
        self._lines += (
            'e.lines.append(f"{e.indent}{text}{e.location.text}")',
            f"if {self._datum(id(line))} not in e.distinct.settled:",
            f"    e.distinct.note({self._datum(line)}, [{told}], text, e.location, types, e.numbers)",
        )

    # -------------------------------------------------------------------------------- values

    def _group(self, spec: Any) -> list[str]:
        out: list[str] = []
        for s in spec[1]:
            out += self._held[s[1]] if s[0] == "held" else [self._value(s)]
        return out

    def _define(self, spec: Any) -> str:
        if spec[0] == "res":
            name = self._new("e.owned.get(result)")
            self._lines += (
                f"if {name} is None:",
                f'    {name} = e.named(result or "")',
                f"    types[{name}] = {self._datum(spec[1])}",
                f"if result is not None: bound[result] = {name}",
            )
            self._result = name
            return name
        _, slot, like, wish, type_ = spec
        if slot in self._reserved:
            name = self._known["tmp", slot] = self._reserved.pop(slot)
            return name
        if like is None:
            name = self._new(f"e.fresh({self._datum(wish)})")
        elif like[0] == "res":
            name = self._new(f'e.fresh((result or "") + {self._datum(wish)})')
        else:
            name = self._new(f"e.like(operands[{like[1]}], {self._datum(wish)})")
        self._lines.append(f"types[{name}] = {self._datum(type_)}")
        self._known["tmp", slot] = name
        return name

    def _value(self, spec: Any) -> str:
        kind = spec[0]
        if kind == "arg":
            if (name := self._known.get(spec)) is None:
                self._lines.append(f"o = operands[{spec[1]}]")
                name = self._known[spec] = self._new("bound[o.name] if type(o) is Var else e.operand(o)")
            return name
        if kind == "const":
            self._lines.append(f"o = operands[{spec[1]}].value")
            dtype = self._datum(spec[2])
            return self._new(f"(constants.get(({dtype}, o)) if type(o) is int else None) or e.constant(o, {dtype})")
        if kind == "int":
            of = f"{self._datum(spec[1])}, {self._datum(spec[2])}"
            return self._new(f"constants.get({self._datum((spec[2], spec[1]))}) or e.constant({of})")
        if kind == "res":
            return self._new("e.result(i)")
        if kind == "do":
            self.steps(spec[1])
            return self._value(spec[2])
        if kind == "extent":
            if (name := self._known.get(spec)) is None:
                name = self._known[spec] = self._new(f"e.operand(i.extents[{spec[1]}])")
            return name
        if kind == "anew":
            name = self._known["extent", spec[1]] = self._new(f"e.operand(i.extents[{spec[1]}])")
            return name
        if kind == "uncast":
            return self._new(f"e.uncast(i.extents[{spec[1]}])")
        if kind == "held":
            (name,) = self._held[spec[1]]
            return name
        if kind == "tmp":
            if (name := self._known.get(("tmp", spec[1]))) is None:
                raise InternalError("a template uses a fresh value before it defines it")
            return name
        if kind == "context":
            return self._new(f"e.contexts[e.pointers[{self._value(spec[1])}]]")
        if kind == "own":
            return self._new(f"e.owned[operands[{spec[1][1]}].name]")
        if kind == "pointer":
            return self._new(f"e.pointers[{self._value(spec[1])}]")
        return self._new(f"e.windows[{self._value(spec[1])}][{_WINDOW.index(kind)}]")
