"""What the assembler (ptoas) refuses, said first: measured rules as facts, and the few ways to evaluate them.

    rules/instruction/NAME.egg   the facts of an instruction: forms, and what each demands of its operands
    facts       reads them        expression  evaluates their conditions        families  one check a kind of fact
    line, operand, view           an instruction as the rules see it, from its text
    check       one instruction   text  a whole .pto text   capacity  tiles live at a time
    assess      a kernel being lowered, at the author's lines

`assembler_warnings` is what `lower` calls; it reads no fact of an instruction that was found good before, in this
process or another. `verify_text` is what `verify` calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pypto_rw.diagnostics import Diagnostic, Severity, Span
from pypto_rw.lowering.printed import Printed, PrintedFunction

if TYPE_CHECKING:
    from pypto_rw.rewriting.engine import Engine
    from pypto_rw.rewriting.rulebook import Rulebook

_OTHER = {"a2a3": "a5", "a5": "a2a3"}
_GROUP = "assembler"


def assembler_warnings(
    functions: Sequence[PrintedFunction],
    engine: Engine,
    *,
    target: str,
    ptoas: str,
    planned: bool,
    filename: str,
    checks: bool = True,
) -> list[Diagnostic]:
    """What the assembler, and then the device, would not take of the printed functions; by line.

    `planned`: the text has addresses (level 3). Findings about the assembler are warnings, about the device errors.
    Without `checks` only the errors are given."""
    found: list[Diagnostic] = []
    for function in functions:
        if function.asked == ptoas:
            found += function.told
            continue
        before = len(found)
        new: list[Printed] = []
        keys: dict[int, str] = {}
        around = function.around(ptoas)
        sound = engine.sound.setdefault(around, {})
        for key, printed in function.keyed(around, functions, sound):
            if engine.kept(_GROUP, key) is None:
                new.append(printed)
                keys[id(printed)] = key
            else:
                printed.remember(sound)
        if not new and not function.lines:
            function.asked = ptoas if function.alone() else None
            continue
        from pypto_rw.assembler.assess import assess
        from pypto_rw.assembler.facts import tables_of

        tables, other = (tables_of(engine.rulebook, t, ptoas) for t in (target, _OTHER[target]))
        level = 3 if planned else 2
        bad: set[int] = set()
        for entry, diagnostic in assess(function, new, functions, tables, other, level, engine.op, filename):
            found.append(diagnostic)
            if entry is not None:
                bad.add(id(entry))
        for printed in new:
            if id(printed) not in bad:
                engine.keep(_GROUP, keys[id(printed)], 1)
                printed.remember(sound)
        if function.alone():
            function.asked, function.told = ptoas, tuple(found[before:])
    if not checks:
        found = [d for d in found if d.severity is Severity.error]
    seen: set[tuple[str, Span, str]] = set()
    kept = []
    for d in sorted(found, key=lambda d: (d.span.line, d.span.column)):
        if (d.code, d.span, d.function) not in seen:
            seen.add((d.code, d.span, d.function))
            kept.append(d)
    return kept


def verify_text(
    text: str, rulebook: Rulebook, *, target: str, ptoas: str, planned: bool, filename: str
) -> Iterator[Diagnostic]:
    """What the assembler and the device would not take of a `.pto` text, line by line; refusals are errors."""
    from pypto_rw.assembler.assess import severity
    from pypto_rw.assembler.facts import Tables
    from pypto_rw.assembler.text import check_text

    for number, line, function, finding in check_text(text, Tables(rulebook, target, ptoas), 3 if planned else 2):
        start = max(1, len(line) - len(line.lstrip()) + 1)
        span = Span(number, start, number, max(start + 1, len(line.rstrip()) + 1))
        weight = severity(finding.code, Severity.error)
        yield Diagnostic(
            finding.code,
            finding.message,
            span,
            finding.help,
            finding.rule,
            weight,
            filename=filename,
            function=function,
        )
