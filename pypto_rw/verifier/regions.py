"""Regions: each ends in its terminator, which hands on as many values, of the types, as its op wants."""

from __future__ import annotations

from pypto_rw.records import dataclass
from pypto_rw.verifier.findings import Findings, listed, plural
from pypto_rw.verifier.reader import Function, Operation

_TERMINATORS = frozenset({"return", "scf.yield", "scf.condition"})


@dataclass(slots=True)
class _Region:
    """An open region of `opener`; `part` is its place in it, `last` its latest op."""

    opener: Operation
    part: str
    last: Operation | None = None


def check_regions(function: Function, findings: Findings) -> None:
    """Terminators, yields, block arguments and the parts of `scf.if` and `scf.while`."""
    stack: list[_Region] = []
    for operation in function.operations:
        if operation.opens:
            if stack:
                _append(stack[-1], operation, findings)
            first = {"scf.if": "then", "scf.while": "before"}.get(operation.name, "body")
            stack.append(_Region(operation, first))
        elif operation.name in ("} else {", "} do {"):
            _next_part(stack[-1], operation, findings)
        elif operation.name == "}":
            _close(stack.pop(), operation, findings)
        else:
            _append(stack[-1], operation, findings)


def _append(region: _Region, operation: Operation, findings: Findings) -> None:
    if region.last is not None and region.last.name in _TERMINATORS:
        findings.report(
            "misplaced-terminator",
            operation.token,
            f"`{operation.name}` follows `{region.last.name}`, which ends the region",
            "a terminator is the last op of its region",
        )
    first, region.last = region.last is None, operation
    wanted = region.opener.result_types
    if operation.name != "^bb0":
        if first and region.part == "do" and wanted:
            findings.report(
                "block-arguments",
                operation.token,
                "the `do` region does not name the carried values",
                f"start it with `^bb0(…)` of {listed(wanted)}",
            )
        return
    got = [text for _, text in operation.bound]
    if region.part != "do" or not first:
        findings.report(
            "block-arguments",
            operation.token,
            "block arguments stand only at the head of a `do` region",
            "remove the label",
        )
    elif got != wanted:
        findings.report(
            "block-arguments",
            operation.token,
            f"the block takes {listed(got)}, the loop carries {listed(wanted)}",
            "one block argument per carried value, of its type",
        )


def _next_part(region: _Region, operation: Operation, findings: Findings) -> None:
    part = {"} else {": ("scf.if", "then", "else"), "} do {": ("scf.while", "before", "do")}[operation.name]
    if (region.opener.name, region.part) != part[:2]:
        findings.report(
            "misplaced-region",
            operation.token,
            f"`{operation.name}` does not continue `{region.opener.name}`",
            f"it follows the {part[1]} region of `{part[0]}`",
        )
        region.part, region.last = "unknown", None
        return
    _check_end(region, operation, findings)
    region.part, region.last = part[2], None


def _close(region: _Region, operation: Operation, findings: Findings) -> None:
    opener = region.opener
    if opener.name == "scf.while" and region.part == "before":
        findings.report("missing-do", operation.token, "`scf.while` without a `do` region", "add `} do {`")
    elif opener.name == "scf.if" and region.part == "then" and opener.results:
        findings.report(
            "missing-else",
            operation.token,
            "`scf.if` with results has no else region",
            "yield the results in both regions",
        )
    _check_end(region, operation, findings)


def _check_end(region: _Region, closing: Operation, findings: Findings) -> None:
    opener, last = region.opener, region.last
    if region.part == "unknown":
        return
    if opener.name == "func.func":
        wanted_name, wanted = "return", []
    elif region.part == "before":
        wanted_name, wanted = "scf.condition", opener.result_types
    elif region.part == "do":
        wanted_name, wanted = "scf.yield", [text for _, text in opener.bound]
    else:
        wanted_name, wanted = "scf.yield", opener.result_types
    if last is None or last.name not in _TERMINATORS:
        if wanted or wanted_name != "scf.yield":
            code = {"return": "missing-return", "scf.yield": "missing-yield"}.get(wanted_name, "missing-condition")
            findings.report(
                code,
                closing.token,
                f"the region of `{opener.name}` ends without `{wanted_name}`",
                f"end it with `{wanted_name}`" + (f" of {listed(wanted)}" if wanted else ""),
            )
        return
    if last.name != wanted_name:
        findings.report(
            "misplaced-terminator",
            last.token,
            f"`{last.name}` ends a region of `{opener.name}`",
            f"this region ends with `{wanted_name}`",
        )
        return
    got = [use.type for use in last.group("a")]
    noun = last.name.removeprefix("scf.")
    if len(got) != len(wanted):
        findings.report(
            f"{noun}-arity",
            last.token,
            f"`{last.name}` hands on {plural(len(got), 'value')}, `{opener.name}` wants {len(wanted)}",
            "hand on one value per carried value or result",
        )
    elif got != wanted:
        findings.report(
            f"{noun}-type",
            last.token,
            f"`{last.name}` hands on {listed(got)}, `{opener.name}` wants {listed(wanted)}",
            "hand on values of the printed types",
        )
