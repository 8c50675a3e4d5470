"""A rule file to begin with: it lints, and its examples hold. What it says of the op is then to be made true."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pypto_rw.records import dataclass
from pypto_rw.rewriting.rulebook import Rulebook

_OP = re.compile(r"tile\.[a-z_][a-z0-9_]*$")
_OPERAND = re.compile(r"([a-z_][a-z0-9_]*):(tile|scalar)$")
_USUAL = {("tile",): "pto.tabs", ("tile", "tile"): "pto.tadd", ("tile", "scalar"): "pto.tadds"}


@dataclass(frozen=True, slots=True)
class _Plan:
    """The op, its operands (name, kind), the instructions with how many operands each takes, the result's name."""

    op: str
    operands: tuple[tuple[str, str], ...]
    instructions: tuple[tuple[str, int], ...]
    result: str

    @property
    def tiles(self) -> list[int]:
        """Positions of the tile operands."""
        return [k for k, (_, kind) in enumerate(self.operands) if kind == "tile"]


def skeleton(op: str, operands: str, emits: Sequence[str], book: Rulebook) -> str:
    """Text of a rule file for `op` with these operands (`lhs:tile rhs:scalar`) and one or two instructions.

    The second instruction reads the result of the first and the operands that are left. What cannot be begun is a text
    that starts with "cannot "."""
    if not _OP.match(op):
        return f"cannot begin {op!r}: write the op as tile.name, in small letters"
    if book.signature(op) is not None:
        return f"cannot begin {op}: it is there already"
    words = [_OPERAND.match(word) for word in operands.split()]
    if not words or None in words or words[0][2] != "tile":  # type: ignore[index]
        return f'cannot read the operands {operands!r}: write them as "lhs:tile rhs:scalar", the first a tile'
    kinds = tuple((m[1], m[2]) for m in words if m is not None)
    wanted = list(emits) or [_USUAL.get(tuple(kind for _, kind in kinds), "")]
    if wanted == [""]:
        return "cannot choose an instruction for these operands: name one with --emits"
    known = {words[2]: len(words[3].split()) for words in _instructions(book)}
    if unknown := [name for name in wanted if name not in known]:
        return f"cannot find the instruction {unknown[0]}: `pypto-rw rules show` an op that has it"
    counts = [known[name] for name in wanted]
    taken = sum(counts) - (len(wanted) - 1)  # each but the first reads the result so far
    if len(wanted) > 2 or taken != len(kinds):
        return f"cannot feed {' then '.join(wanted)}: they take {taken} operands, the op has {len(kinds)}"
    result = next(n for n in ("c", "out", "result") if n not in dict(kinds))
    plan = _Plan(op, kinds, tuple(zip(wanted, counts, strict=True)), result)
    return "\n".join([*_header(plan), *_facts(plan), "", *_examples(plan)]) + "\n"


def _instructions(book: Rulebook) -> Iterator[tuple[str, ...]]:
    for name in book.names():
        if name.startswith("instruction/") and (file := book.file(name)) is not None:
            yield from (words for words in file.facts if words[0] == "instruction" and len(words) > 3)


def _lines(plan: _Plan) -> list[tuple[str, list[str]]]:
    """Each instruction with the names it reads, and what it writes: the result."""
    names = [name for name, _ in plan.operands]
    found = []
    for k, (instruction, count) in enumerate(plan.instructions):
        reads = [plan.result] if k else []
        reads += [names.pop(0) for _ in range(count - len(reads))]
        found.append((instruction, reads))
    return found


def _header(plan: _Plan) -> Iterator[str]:
    call = f"{plan.result} = pl.{plan.op}({', '.join(n for n, _ in plan.operands)})"
    yield f"; {plan.op} -- say here what it computes"
    yield ";"
    for k, (instruction, reads) in enumerate(_lines(plan)):
        line = f"{instruction} ins({', '.join(reads)}) outs({plan.result})"
        yield f";   {call}   =>   {line}" if k == 0 else f";   {'':{len(call)}}        {line}"
    yield ";"
    yield "; Vector pipe. Say here where the facts are from."


def _facts(plan: _Plan) -> Iterator[str]:
    op = plan.op
    first = plan.operands[0][0]
    told = " ".join(f"{n}:{kind}" + (f"~{first}" if kind == "scalar" else "") for n, kind in plan.operands)
    yield f'(operands "{op}" "{told}")'
    yield f'(result-rule "{op}" "first")'
    spaces = " ".join("Vec" if kind == "tile" else "-" for _, kind in plan.operands)
    yield f'(reads "{op}" "{spaces}") (writes "{op}" "Vec")'
    yield f'(row-major "{op}" "all")'
    yield f'(access "{op}" "functional")'
    for k in plan.tiles[1:]:
        yield f'(same-dtype "{op}" 0 {k} "all dtypes must be equal")'
        yield f'(same-shape "{op}" 0 {k} "all shapes must be equal")'
    if len(plan.instructions) == 1:
        yield f'(emits "{op}" "{plan.instructions[0][0]}")'
        return
    used = plan.instructions[0][1]
    late = [k for k in plan.tiles if k >= used]
    if late:  # the first instruction has written the result by then
        yield f'(not-over "{op}" "{" ".join(map(str, late))}")'
    yield f'(rule ((= c (lower (call "{op}" args r)))'
    yield "".join(f" (= x{k} (item args {k}))" for k in range(len(plan.operands)))[1:].join(("       ", ")"))
    numbers = {name: f"x{k}" for k, (name, _) in enumerate(plan.operands)} | {plan.result: "r"}
    codes = [f'(dps "{i}" (vec-of {" ".join(numbers[n] for n in reads)}) (vec-of r))' for i, reads in _lines(plan)]
    yield f"      ((union c (seq {codes[0]}"
    yield f'                    {codes[1]}))) :ruleset lowering :name "{op}/both")'


def _examples(plan: _Plan) -> Iterator[str]:
    call = f"{plan.result} = pl.{plan.op}({', '.join(n for n, _ in plan.operands)})"
    tiles = [n for n, kind in plan.operands if kind == "tile"]
    scalars = [n for n, kind in plan.operands if kind == "scalar"]
    printed = {n: (f"%{n}", f"<{n}>") for n in (*tiles, plan.result)}
    printed |= {n: (f"%arg{k}", "f32") for k, n in enumerate(scalars)}
    yield ";! example"
    yield f";!   {', '.join(tiles)}: Tile[[16, 64], FP32]"
    yield from (f";!   {n}: Scalar[FP32]" for n in scalars)
    yield f";!   {call}"
    yield ";! prints"
    for instruction, reads in _lines(plan):
        names, types = (", ".join(printed[n][k] for n in reads) for k in (0, 1))
        own, own_type = printed[plan.result]
        yield f";!   {instruction} ins({names} : {types}) outs({own} : {own_type})"
    for k in plan.tiles[1:]:
        odd = plan.operands[k][0]
        others = ", ".join(n for n in tiles if n != odd)
        for code, dims, dtype in (("dtypes-differ", "[16, 64]", "FP16"), ("rows-differ", "[8, 64]", "FP32")):
            yield f";! refuses {code}"
            yield f";!   {others}: Tile[[16, 64], FP32]"
            yield f";!   {odd}: Tile[{dims}, {dtype}]"
            yield from (f";!   {n}: Scalar[FP32]" for n in scalars)
            yield f";!   {call}"
