"""A whole `.pto` text against the assembler's rules: function by function, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pypto_rw.assembler.capacity import over_capacity
from pypto_rw.assembler.check import check_line
from pypto_rw.assembler.facts import Tables
from pypto_rw.assembler.families import Finding
from pypto_rw.assembler.line import Line, read_line
from pypto_rw.assembler.view import Surroundings

_LOCATION = re.compile(r"\s*loc\((?:[^()]|\([^()]*\))*\)\s*$")
_ARGUMENT = re.compile(r"(%[\w.$]+)\s*:\s*(![\w.]+(?:<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)?|\w+)")
_KIND = re.compile(r"#pto\.kernel_kind<(\w+)>")
_NAME = re.compile(r"@([\w.$]+)")
_CARRIED = re.compile(r"(%[\w.$]+) = (%[\w.$]+)")


def check_text(text: str, tables: Tables, level: int) -> Iterator[tuple[int, str, str, Finding]]:
    """(line number, the line, function, finding) for everything the assembler refuses, in the order of the text.

    `level` 3: addresses are planned; 2: the assembler plans them."""
    lines = _joined(text.split("\n"))
    functions = list(_functions(lines))
    reserved = frozenset(
        (name, line.fields.get("name", ""))
        for name, start, end in functions
        for number in range(start, end)
        if "pto.reserve_buffer" in lines[number] and (line := read_line(lines[number])) is not None
    )
    for name, start, end in functions:
        around = Surroundings(tables.target, level)
        around.reserved = reserved
        for number, raw, finding in _function(lines, start, end, around, tables):
            yield number + 1, raw, name, finding


def _joined(lines: list[str]) -> list[str]:
    """Lines with each one that starts with `(` put behind the one before, so that numbers stay."""
    last = 0
    for number, line in enumerate(lines):
        if line.lstrip().startswith("(") and number:
            lines[last] = f"{_LOCATION.sub('', lines[last])} {line.strip()}"
            lines[number] = ""
        elif line.strip():
            last = number
    return lines


def _functions(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """(name, first line, line after the last) of every function with a body."""
    starts = [
        n for n, line in enumerate(lines) if line.lstrip().startswith("func.func") and line.rstrip().endswith("{")
    ]
    for start, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        found = _NAME.search(lines[start])
        yield found[1] if found else "", start, end


def _function(
    lines: list[str], start: int, end: int, around: Surroundings, tables: Tables
) -> Iterator[tuple[int, str, Finding]]:
    head = lines[start]
    kind = _KIND.search(head)
    around.kernel = kind[1] if kind else None
    around.entry = "pto.entry" in head
    around.returns = re.search(r"\)\s*->", head) is not None
    types: dict[str, str] = dict(_ARGUMENT.findall(head))
    constants: dict[str, int] = {}
    around.types, around.constants = types, constants
    found: list[tuple[int, str, Line]] = []
    for number in range(start, end):
        line = read_line(_LOCATION.sub("", lines[number]))
        if line is not None:
            found.append((number, lines[number], line))
    around.present = frozenset(line.name for _, _, line in found)
    for number, raw, line in found:
        _bind(line, raw, types, constants, around.cut)
        for finding in check_line(line, tables, around):
            yield number, raw, finding
    if around.level == 2:
        for at, _, finding in over_capacity(lines[start:end], tables):
            yield start + at, lines[start + at], finding


def _bind(line: Line, raw: str, types: dict[str, str], constants: dict[str, int], cut: dict[str, int]) -> None:
    """Types, constants and windows that a line defines."""
    if line.name == "scf.for":
        printed = re.search(r": (i\d+) \{", raw)
        types[line.args[0]] = printed[1] if printed else "index"
    if line.name in ("scf.for", "scf.while"):
        for name, initial in _CARRIED.findall(raw.partition("(")[2]):
            types[name] = types.get(initial, "")
    types.update(zip(line.results, line.result_types, strict=False))
    if line.name == "arith.constant" and line.literals and line.results:
        literal = line.literals[0]
        if literal.removeprefix("-").isdecimal():
            constants[line.results[0]] = int(literal)
    elif line.name == "pto.subview" and line.results:
        note_window(line, types, cut)


def note_window(line: Line, types: dict[str, str] | None, cut: dict[str, int]) -> None:
    """Remember a window with fewer columns than its source."""
    from pypto_rw.assembler.operand import properties

    source = line.printed.get(line.args[0]) or (types or {}).get(line.args[0], "")
    whole, part = properties(source), properties(line.result_types[0] if line.result_types else "")
    if isinstance(whole.get("cols"), int) and isinstance(part.get("cols"), int) and whole["cols"] != part["cols"]:
        cut[line.results[0]] = int(str(whole["cols"]))
