"""The families of checks: one function a relation of the fact files, over one instruction.

A rule's id is the form's key and the family's name (`tadd.elem`), as the tables of measured rules have it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pypto_rw.assembler.expression import fields, holds
from pypto_rw.assembler.facts import Fact
from pypto_rw.assembler.view import View
from pypto_rw.assembler.words import NOUNS, listing, named, names, noun, types


class Finding(NamedTuple):
    """What is wrong with an instruction: a stable code, the ids of the rules, the role at fault, and the way out."""

    code: str
    rule: str
    role: str
    message: str
    help: str


_COMPUTED = re.compile(r"\{([^{}]*)\}")
Family = Callable[[View, Fact], Iterator[Finding]]


def _tiles(view: View, roles: str) -> Iterator[tuple[str, dict[str, object]]]:
    for role in roles.split():
        operand = view.operand(role)
        if operand is not None and operand.get("elem") is not None:
            yield role, operand


def _elements(view: View, fact: Fact) -> Iterator[Finding]:
    """(element-types KEY TARGETS ROLES TYPES): each of these operands has one of the types."""
    _, roles, accepted = fact
    wrong = [(r, str(o["elem"])) for r, o in _tiles(view, roles) if o["elem"] not in accepted.split()]
    if not wrong:
        return
    found = wrong[0][1]
    at_fault = [r for r, e in wrong if e == found]
    key = view.form.key
    ids = f"{key}.elem" if len(at_fault) > 1 else f"{key}.elem {key}.elem.{at_fault[0]}"
    yield Finding(
        "ptoas-element-type",
        ids,
        at_fault[0],
        f"{named(view, at_fault)} {'have' if len(at_fault) > 1 else 'has'} element type {types(found)}; "
        f"{view.line.name} takes {listing(accepted)} on {view.around.arch}",
        view.form.ways.get(found) or _cast(found, accepted),
    )


def _cast(found: str, accepted: str) -> str:
    """The nearest type to convert to: a wider one of the same kind, else a float."""
    have = accepted.split()
    order = {
        "bf16": ("f32", "f16"),
        "f32": ("f16",),
        "f16": ("f32",),
        "i8": ("i16", "f16", "i32"),
        "ui8": ("ui16", "f16", "i16"),
        "i16": ("i32", "f32"),
        "ui16": ("ui32", "i16", "i32", "f32"),
        "i32": ("f32", "i16"),
        "ui32": ("i32", "f32"),
        "i64": ("i32",),
        "ui64": ("ui32", "i32"),
    }.get(found, ("f32", "bf16"))
    to = next((t for t in order if t in have), have[0] if have else "f32")
    fits = ", where the values fit" if _bits(to) < _bits(found) and to[0] != "f" else ""
    return f"convert to {types(to)} with pl.cast before the operation, and the result back after it{fits}"


def _bits(element: str) -> int:
    digits = re.sub(r"\D", "", element)
    return int(digits) if digits else 0


def _fixed(view: View, fact: Fact) -> Iterator[Finding]:
    """(fixed-element KEY TARGETS ROLE TYPES): this operand has one of the types, whatever the others have."""
    _, role, accepted = fact
    operand = view.operand(role)
    if operand is None or operand.get("elem") is None or operand["elem"] in accepted.split():
        return
    found = str(operand["elem"])
    yield Finding(
        "ptoas-element-type",
        f"{view.form.key}.elem.{role}",
        role,
        f"{named(view, [role])} has element type {types(found)}; {view.line.name} takes {listing(accepted)} there "
        f"on {view.around.arch}",
        f"allocate it with element type {listing(accepted)}, or convert it with pl.cast",
    )


def _same_element(view: View, fact: Fact) -> Iterator[Finding]:
    """(same-element KEY TARGETS ROLES): the operands have one element type."""
    found = [(r, str(o["elem"])) for r, o in _tiles(view, fact[1])]
    if len({e for _, e in found}) > 1:
        shown = ", ".join(f"{named(view, [r])} {types(e)}" for r, e in found)
        yield Finding(
            "ptoas-element-mismatch",
            f"{view.form.key}.same-elem",
            found[0][0],
            f"{view.line.name} needs one element type, found {shown}",
            "convert the operand that differs with pl.cast",
        )


def _pairs(view: View, fact: Fact) -> Iterator[Finding]:
    """(element-pairs KEY TARGETS ROLE OTHER PAIRS): the types the other operand may have, by the type of the first."""
    _, role, other, pairs = fact
    first, second = view.operand(role), view.operand(other)
    if first is None or second is None or first.get("elem") is None or second.get("elem") is None:
        return
    table = dict(p.split("=") for p in pairs.split())
    accepted = table.get(str(first["elem"]))
    if accepted is None or second["elem"] in accepted.split(","):
        return
    yield Finding(
        "ptoas-element-mismatch",
        f"{view.form.key}.elem.{other}",
        other,
        f"{named(view, [other])} has element type {types(str(second['elem']))}; with {named(view, [role])} of "
        f"{types(str(first['elem']))} {view.line.name} takes {listing(accepted.replace(',', ' '))}",
        "convert with pl.cast to a type of that list; through FP32 where there is no direct way",
    )


def _same(field: str, suffix: str, code: str, way_out: str) -> Family:
    """(same-valid-rows KEY TARGETS ROLES) and its like: static extents of the operands agree."""

    def check(view: View, fact: Fact) -> Iterator[Finding]:
        found = [(r, o[field]) for r, o in _tiles(view, fact[1]) if o.get(field) is not None]
        if len({e for _, e in found}) > 1:
            shown = ", ".join(f"{named(view, [r])} {e}" for r, e in found)
            yield Finding(
                code,
                f"{view.form.key}.{suffix}",
                found[0][0],
                f"{view.line.name} needs the same number of {NOUNS[field]} in its operands, found {shown}",
                way_out,
            )

    return check


def _row_major(view: View, fact: Fact) -> Iterator[Finding]:
    """(row-major-operands KEY TARGETS ROLES): none is column-major; boxed ones are the next family's."""
    wrong = [r for r, o in _tiles(view, fact[1]) if o.get("blayout") == "col_major" and not o.get("boxed")]
    if not wrong:
        return
    # Work space, indices and single rows may stay row-major where everything else is not.
    rest = [r for r, o in _tiles(view, fact[1]) if r not in wrong]
    every = all(r in ("tmp", "idx") or (view.operand(r) or {}).get("rows") == 1 for r in rest)
    key = view.form.key
    yield Finding(
        "ptoas-layout",
        f"{key}.layout-all-col {key}.layout" if every else f"{key}.layout",
        wrong[0],
        f"{named(view, wrong)} {'are' if len(wrong) > 1 else 'is'} column-major; {view.line.name} takes row-major "
        "tiles there",
        "reshape a column [n, 1] to the row [1, n] with pl.reshape, compute, and reshape back; or move it into a "
        "row-major tile",
    )


def _unboxed(layout: str, suffix: str) -> Family:
    """(unboxed KEY TARGETS ROLES): none of the operands has a fractal layout (slayout none_box only)."""

    def check(view: View, fact: Fact) -> Iterator[Finding]:
        for role, operand in _tiles(view, fact[1]):
            if operand.get("boxed") and (operand.get("blayout") == "col_major") is (layout == "col_major"):
                yield Finding(
                    "ptoas-layout",
                    f"{view.form.key}.{suffix}",
                    role,
                    f"{named(view, [role])} has the fractal layout {operand['layout']}; {view.line.name} takes plain "
                    "tiles there",
                    "move it into a plain Vec tile first (pl.move)",
                )
                return

    return check


def _space(view: View, fact: Fact) -> Iterator[Finding]:
    """(in-space KEY TARGETS ROLES SPACE): the operands live in that memory."""
    yield from _in_space(view, fact, "ptoas-memory-space", f"{view.form.key}.space", "")


def _device_space(view: View, fact: Fact) -> Iterator[Finding]:
    """(device-space KEY TARGETS ROLES SPACE): as `in-space`; the assembler lets it pass, the device does not."""
    yield from _in_space(
        view, fact, "device-memory-space", f"{view.form.key}.device-space", "; the assembler does not notice"
    )


def _in_space(view: View, fact: Fact, code: str, rule: str, tail: str) -> Iterator[Finding]:
    _, roles, accepted = fact
    for role, operand in _tiles(view, roles):
        if operand.get("space") is not None and operand["space"] not in accepted.split():
            yield Finding(
                code,
                rule,
                role,
                f"{named(view, [role])} is in {noun('space', operand['space'])}; {view.line.name} takes "
                f"{' or '.join(noun('space', s) for s in accepted.split())} there{tail}",
                "move the tile to that memory first (pl.move, or load it there with target_memory=)",
            )
            return


def _needs(view: View, fact: Fact) -> Iterator[Finding]:
    """(needs KEY TARGETS ROLES): the operands may not be left out."""
    needed = fact[1].split()
    missing = [r for r in needed if r not in view.names]
    if missing:
        yield Finding(
            "ptoas-missing-operand",
            " ".join(f"{view.form.key}.needs-{r}" for r in needed),  # too few operands do not tell which is missing
            "",
            f"{view.line.name} needs its operand{'s' * (len(needed) > 1)} {' and '.join(needed)} on "
            f"{view.around.arch}; {len(missing)} of them is missing",
            "give the operand; a temporary is allocated like the source",
        )


def _not_in_place(view: View, fact: Fact) -> Iterator[Finding]:
    """(not-in-place KEY TARGETS ROLES): none of these sources is the destination."""
    targets = {view.names.get(r) for r in view.form.outs}
    for role in fact[1].split():
        if view.names.get(role) in targets:
            yield Finding(
                "ptoas-in-place",
                f"{view.form.key}.in-place",
                role,
                f"{named(view, [role])} is source and destination of {view.line.name}",
                "give the result a tile of its own",
            )
            return


def _distinct(view: View, fact: Fact) -> Iterator[Finding]:
    """(distinct KEY TARGETS ROLES): no two of these sources are one tile."""
    found = [view.names[r] for r in fact[1].split() if r in view.names]
    if len(set(found)) < len(found):
        role = fact[1].split()[0]
        yield Finding(
            "ptoas-in-place",
            f"{view.form.key}.same-source",
            role,
            f"{named(view, [role])} is given twice to {view.line.name}",
            "copy one of the two into a tile of its own",
        )


def _whole(view: View, fact: Fact) -> Iterator[Finding]:
    """(whole KEY TARGETS ROLES): none of the operands is a window with fewer columns than its tile."""
    for role, operand in _tiles(view, fact[1]):
        if operand.get("cut") is not None:
            yield Finding(
                "ptoas-column-window",
                f"{view.form.key}.subview",
                role,
                f"{named(view, [role])} is a window of {operand['cols']} columns in a tile of {operand['cut']}; "
                f"{view.line.name} counts it with {operand['cut']} columns",
                "copy the window into a tile of its own (tile.muls by 1, tile.extract, tile.assemble), or work on the "
                "whole tile with valid extents",
            )
            return


def _scalar(view: View, fact: Fact) -> Iterator[Finding]:
    """(scalar-operand KEY TARGETS ROLE OF TYPES): the scalar's type: a list, or `tile=type,type` by the type of OF."""
    _, role, of, accepted = fact
    operand, tile = view.operand(role), view.operand(of)
    if operand is None or not operand.get("elem"):
        return
    found = str(operand["elem"])
    choices = accepted.split()
    if accepted == "signless":
        if found[0] != "u":
            return
        choices = [found[1:]]
    elif "=" in accepted:
        table = dict(p.split("=") for p in choices)
        if tile is None or tile.get("elem") not in table:
            return
        choices = table[str(tile["elem"])].split(",")
    if found in choices:
        return
    signless = "tscalar.signless " if found[0] == "u" else ""
    yield Finding(
        "ptoas-scalar-type",
        f"{signless}{view.form.key}.scalar",
        role,
        f"the scalar {named(view, [role])} has type {types(found)}; "
        f"{view.line.name} takes {listing(' '.join(choices))}",
        "give the scalar in that type (pl.cast, or a constant of that type)",
    )


def _types_of_scalars(view: View, fact: Fact) -> Iterator[Finding]:
    """(scalar-types KEY TARGETS ROLES TYPES RULE): a scalar operation on one of these types."""
    _, roles, accepted, rule = fact
    for role, operand in _tiles(view, roles):
        if operand["elem"] not in accepted.split():
            found = str(operand["elem"])
            if not accepted:
                message = f"{view.line.name} has no lowering in the assembler"
                way = "write the operation with those that have: x - (-y) for a sum, max(x, -x) for a magnitude"
            else:
                message = f"{view.line.name} takes {listing(accepted)}, found {types(found)}"
                way = (
                    "convert the scalar to a signed type of its width first" if found[0] == "u" else "convert it first"
                )
            yield Finding("ptoas-scalar-operation", rule, role, message, way)
            return


def _conversions(view: View, fact: Fact) -> Iterator[Finding]:
    """(conversions KEY TARGETS FROM TO PAIRS RULE): the pairs of types that a scalar conversion takes."""
    _, source, target, pairs, rule = fact
    a, b = view.operand(source), view.operand(target)
    if a is None or b is None or f"{a.get('elem')}>{b.get('elem')}" in pairs.split():
        return
    yield Finding(
        "ptoas-scalar-operation",
        rule,
        source,
        f"{view.line.name} does not convert {types(str(a.get('elem')))} to {types(str(b.get('elem')))}",
        "go through a type between the two: FP32 between FP16 and BF16, INT64 between an index and a float",
    )


def _demand(view: View, fact: Fact) -> Iterator[Finding]:
    """(demand KEY TARGETS RULE CODE CONDITION SENTENCE REMEDY): the condition must not be false.

    `{value}` in the remedy is computed: `pad to {ceil(t.cols, 16) * 16} columns`."""
    _, rule, code, condition, sentence, remedy = fact
    if holds(condition, view.lookup) is not False:
        return
    found = []
    role = ""
    for name, field in fields(condition):
        operand = view.operand(name)
        if operand is not None and field in NOUNS and operand.get(field) is not None:
            role = role or name
            found.append((name, f"{NOUNS[field]} {noun(field, operand[field])}"))
    shown = "; ".join(f"{names(view, r)} has {', '.join(x for n, x in found if n == r)}" for r in dict(found))
    way_out = _COMPUTED.sub(lambda m: str(holds(m[1], view.lookup)), remedy)
    yield Finding(code, rule, role, f"{view.line.name}: {sentence}" + (f" ({shown})" if shown else ""), way_out)


def _absent(view: View, fact: Fact) -> Iterator[Finding]:
    """(absent KEY TARGETS RULE SENTENCE REMEDY): there is no such instruction."""
    _, rule, sentence, remedy = fact
    yield Finding("ptoas-no-instruction", rule, "", f"{view.line.name}: {sentence}", remedy)


_VALID = "give every operand the same valid extent; slice the larger one, or pad the smaller one (pl.fillpad)"
_ALLOCATED = "allocate the operands with the same extent and keep the difference in the valid extent"
FAMILIES: dict[str, Family] = {
    "absent": _absent,
    "element-types": _elements,
    "fixed-element": _fixed,
    "same-element": _same_element,
    "element-pairs": _pairs,
    "same-valid-rows": _same("vr", "valid-rows", "ptoas-valid-extent", _VALID),
    "same-valid-cols": _same("vc", "valid-cols", "ptoas-valid-extent", _VALID),
    "same-rows": _same("rows", "alloc-rows", "ptoas-extent", _ALLOCATED),
    "same-cols": _same("cols", "alloc-cols", "ptoas-extent", _ALLOCATED),
    "row-major-operands": _row_major,
    "unboxed": _unboxed("col_major", "layout-boxed"),
    "unboxed-rows": _unboxed("row_major", "layout-boxed-zz"),
    "in-space": _space,
    "device-space": _device_space,
    "needs": _needs,
    "not-in-place": _not_in_place,
    "distinct": _distinct,
    "whole": _whole,
    "scalar-operand": _scalar,
    "scalar-types": _types_of_scalars,
    "conversions": _conversions,
    "demand": _demand,
}
