"""Printed functions against the assembler's rules, in the author's terms and at the author's lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from pypto_rw.assembler.capacity import over_capacity
from pypto_rw.assembler.check import check_line
from pypto_rw.assembler.facts import Tables
from pypto_rw.assembler.families import Finding
from pypto_rw.assembler.line import read_line
from pypto_rw.assembler.view import Surroundings
from pypto_rw.diagnostics import Diagnostic, Severity
from pypto_rw.lowering.printed import Place, Printed, PrintedFunction
from pypto_rw.verifier.forms import FORMS

_TEMPORARY = re.compile(r"%\d+$")
_CONSTANT = re.compile(r"%(?:cst(?:_\d+)?|c(n?)(\d+)_(?:index|u?i\d+))$")  # as the emitter names them
_SUFFIX = re.compile(r"(?:_view|_pview|_tile|_idx)+$")


def author_word(role: str, name: str) -> str:
    """The variable of an SSA name; a value the compiler made goes by its role, a constant by its value if it is one."""
    if constant := _CONSTANT.match(name):
        return f"the constant {'-' if constant[1] else ''}{constant[2]}" if constant[2] else "the constant"
    return role if _TEMPORARY.match(name) else _SUFFIX.sub("", name[1:]) or role


def assess(
    function: PrintedFunction,
    entries: Sequence[Printed],
    unit: Sequence[PrintedFunction],
    tables: Tables,
    other: Tables,
    level: int,
    op_of: Callable[[str], str],
    filename: str,
) -> Iterator[tuple[Printed | None, Diagnostic]]:
    """(instruction, diagnostic) for what the assembler refuses of `entries`, which are instructions of `function`.

    `other` has the facts of the other target: where it takes an instruction, the way out says so. `op_of` gives the
    op of a shape. Capacity findings come last and belong to no one instruction."""
    around = surroundings(function, unit, tables.target, level)
    for printed in entries:
        line = read_line(printed.text)
        if line is None:
            continue
        if printed.name not in FORMS:  # a rule file of the user's spells it
            nothing = Finding(
                "ptoas-no-instruction",
                "",
                "",
                f"{printed.name}: there is no such instruction",
                "check how the rule and its form spell it",
            )
            yield printed, diagnostic(nothing, printed.place, "", "", function.name, filename)
            continue
        around.types, around.constants, around.cut = printed.types, printed.numbers, printed.cut
        told: set[str] = set()
        for finding in check_line(line, tables, around, author_word):
            if finding.code in told:
                continue
            told.add(finding.code)
            around.arch = other.target
            elsewhere = any(f.code == finding.code for f in check_line(line, other, around))
            around.arch = tables.target
            there = "" if elsewhere or finding.code not in _BY_TARGET else f"; or compile for {other.target}"
            op = op_of(printed.place.shape) if printed.place.shape else ""
            yield printed, diagnostic(finding, printed.place, op, there, function.name, filename)
    if function.lines:
        for _, tile, finding in over_capacity(function.lines, tables):
            place = function.distinct.tiles.get(tile, Place())
            yield None, diagnostic(finding, place, "", "", function.name, filename)


_BY_TARGET = frozenset(
    {"ptoas-element-type", "ptoas-element-mismatch", "ptoas-no-instruction", "ptoas-scalar-type", "ptoas-extent"}
)


def severity(code: str, assembler: Severity) -> Severity:
    """What the device gets wrong is an error, what it converts a note; `assembler`: how much a refusal weighs."""
    if code == "device-scalar-type":
        return Severity.note
    return Severity.error if code.startswith("device-") else assembler


def diagnostic(finding: Finding, place: Place, op: str, there: str, function: str, filename: str) -> Diagnostic:
    """A finding at the author's line."""
    return Diagnostic(
        finding.code,
        f"{op}: {finding.message}" if op else finding.message,
        place.span,
        f"{finding.help}{there}",
        finding.rule,
        severity(finding.code, Severity.warning),
        filename=filename,
        function=function,
    )


def surroundings(function: PrintedFunction, unit: Sequence[PrintedFunction], target: str, level: int) -> Surroundings:
    """What the conditions may ask about the function and its unit."""
    around = Surroundings(target, level)
    around.kernel = function.kernel
    around.present = frozenset(p.name for p in function.distinct.first)
    around.reserved = frozenset(
        (other.name, line.fields.get("name", ""))
        for other in unit
        for printed in other.distinct.first
        if printed.name == "pto.reserve_buffer" and (line := read_line(printed.text)) is not None
    )
    return around
