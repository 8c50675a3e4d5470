"""`.pyir` text to canonical lines: as the writer prints the module, without comments, constants in order of use."""

from __future__ import annotations

import re

from pypto_rw import ir
from pypto_rw.differences.line import Line
from pypto_rw.records import replace
from pypto_rw.syntax import parse, write

_WORD = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d[\w.]*(?:[eE][-+]?\d+)?|[^\s\w]""")
_BLANK = "_"


def read(text: str, filename: str) -> list[Line]:
    """The canonical lines of a module. Raises CompileError for a text that is no module."""
    module = replace(parse(text, filename=filename), header=None, prefix="pl")
    shared = {n for n, _ in module.dynamic} | {n for c in module.constants for n in c.targets}
    module = _in_order_of_use(module, shared)
    written = write(module)
    numbers = _numbers(module, parse(written, filename=filename))
    defined = {f.span.line: (f.name, _defined(f)) for f in parse(written, filename=filename).functions}
    lines: list[Line] = []
    function, local, number = "", set[str](), 1
    for at, line in enumerate(written.split("\n"), 1):
        number = numbers.get(at, number)
        if at in defined:
            function, local = defined[at]
        if line.strip() and not line.lstrip().startswith("#"):
            lines.append(_line(number, line, function, local, shared))
    return lines


def _line(number: int, line: str, function: str, local: set[str], shared: set[str]) -> Line:
    words, names = [], []
    for m in _WORD.finditer(line):
        word = m[0]
        known = word in local or word in shared
        attribute = line[m.start() - 1 : m.start()] == "."
        keyword = line[m.end() : m.end() + 1] == "=" and line[m.end() : m.end() + 2] != "=="
        if known and not attribute and not keyword:
            words.append(_BLANK)
            names.append((function if word in local else "", word))
        else:
            words.append(word)
    indent = line[: len(line) - len(line.lstrip())]
    return Line(number, line, (indent, *words), tuple(names))


def _defined(function: ir.Function) -> set[str]:
    """Every variable of a function."""
    found = {p.name for p in function.params}
    for s in ir.statements(function.body):
        match s:
            case ir.Assign() | ir.Yield():
                found.update(s.targets)
            case ir.For():
                found.update((s.variable, *s.carried))
            case ir.While():
                found.update(s.carried)
            case ir.Scope(name=str(name)):
                found.add(name)
    return found


def _in_order_of_use(module: ir.Module, shared: set[str]) -> ir.Module:
    """The module with its symbols and constants in the order in which the functions name them, then as they were."""
    text = write(replace(module, dynamic=(), constants=()))
    used = {name: k for k, name in enumerate(dict.fromkeys(w for w in _WORD.findall(text) if w in shared))}
    last = len(used)
    return replace(
        module,
        dynamic=tuple(sorted(module.dynamic, key=lambda d: used.get(d[0], last))),
        constants=tuple(sorted(module.constants, key=lambda c: used.get(c.targets[0], last))),
    )


def _numbers(module: ir.Module, written: ir.Module) -> dict[int, int]:
    """Where the lines that the writer printed stood in the text that was read."""
    pairs = list(zip(module.constants, written.constants, strict=True))
    found = {b.span.line: a.span.line for a, b in pairs}
    for f, g in zip(module.functions, written.functions, strict=True):
        found[g.span.line] = f.span.line
        both = zip(ir.statements(f.body), ir.statements(g.body), strict=True)
        found.update({b.span.line: a.span.line for a, b in both})
    return found
