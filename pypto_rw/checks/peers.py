"""What the two sides of a pipe say of its tiles: the bytes of a slot, of the buffer of all slots, splits and types.

Only what constants prove. A pipe is checked between two functions where one pushes and one pops. Source: cross-core.md
§2, §2.1, §3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pypto_rw import ir
from pypto_rw.checks import Ops
from pypto_rw.checks.pipes import Step, buffers, walked
from pypto_rw.diagnostics import Diagnostic, Severity
from pypto_rw.scalars import bits

_PRODUCER = {1: "AIC", 2: "AIV"}
_CONSUMED = {"AIV": (0, "c2v_consumer_buf"), "AIC": (1, "v2c_consumer_buf")}  # position, keyword of its buffer


def slot_findings(function: ir.Function, ops: Ops) -> Iterator[Diagnostic]:
    """Tiles that are larger than the slots of their pipe, and buffers that do not hold all slots."""
    steps = walked(function, ops).steps
    opened = [s for s in steps if s.part == "open"]
    types = _types(function)
    for step in steps:
        if step.part not in ("push", "pop"):
            continue
        sizes = {_number(o.call, "slot_size") for o in opened if o.way & step.way and o.number == step.number}
        size, taken = sizes.pop() if len(sizes) == 1 else None, _carried(step, _tile(step, types))
        if size is not None and taken is not None and taken > size:
            yield Diagnostic(
                "slot-size",
                f"{step.call.callee}: the tile takes {taken} bytes, but a slot of its pipe has {size}: the rest lies "
                "in the next one",
                step.span,
                f"open the pipe on both sides with slot_size={taken} at least",
                severity=Severity.warning,
            )
    reserved = {
        s.targets[0]: call
        for s in ir.statements(function.body)
        if isinstance(s, ir.Assign) and (call := ir.called(s)) is not None
    }
    own = [call for part, call in buffers(function, ops) if part == "reserve"]
    for step in opened:
        call = reserved.get(_buffer(step.call, function))
        whole, slots = _number(call, "size") if call in own and call is not None else None, _slots(step)
        size = _number(step.call, "slot_size")
        if whole is not None and size is not None and whole < slots * size:
            yield Diagnostic(
                "buffer-size",
                f"{step.call.callee}: the pipe has {slots} slots of {size} bytes, {slots * size} together, but their "
                f"buffer is reserved with {whole}: the last slots lie behind it",
                step.span,
                f"reserve {slots * size} bytes, or open the pipe with slot_num={whole // size}"
                if whole >= size
                else f"reserve {slots * size} bytes",
                severity=Severity.warning,
            )


def peer_findings(function: ir.Function, unit: tuple[ir.Function, ...], ops: Mapping[str, Ops]) -> Iterator[Diagnostic]:
    """Pops whose split or type is not that of the pushes, or of a pipe into which nothing is pushed."""
    pops = [s for s in walked(function, ops[function.name]).steps if s.part == "pop"]
    if not pops:
        return
    others = [(f, walked(f, ops[f.name]).steps) for f in unit if f.name != function.name and ops[f.name]]
    for way, number in dict.fromkeys((s.way, s.number) for s in pops):
        mine = [s for s in pops if (s.way, s.number) == (way, number)]
        sides = [(f, [s for s in steps if _of(s, way, number, "push")]) for f, steps in others]
        pushing = [(f, pushes) for f, pushes in sides if pushes]
        opening = [
            f for f, steps in others if f.kind == _PRODUCER[way] and any(_of(s, way, number, "open") for s in steps)
        ]
        also = [f for f, steps in others if any(_of(s, way, number, "pop") for s in steps)]
        if not pushing and len(opening) == 1 and not also:
            yield Diagnostic(
                "no-push",
                f"{mine[0].call.callee}: {opening[0].name} opens this pipe but pushes nothing into it, so the pop "
                "waits for ever",
                mine[0].span,
                f"push a tile there: pl.tile.tpush_to_{'aiv' if way == 1 else 'aic'}(tile, …)",
                severity=Severity.warning,
            )
        elif len(pushing) == 1 and not also:
            yield from _disagreement(mine, *pushing[0], _types(function))


def _disagreement(
    pops: list[Step], maker: ir.Function, pushes: list[Step], types: Mapping[str, ir.TileType | None]
) -> Iterator[Diagnostic]:
    """How the pops of a pipe differ from its pushes, where all pops are alike, and all pushes."""
    pop, push = pops[0], pushes[0]
    splits = {s.split for s in pushes}, {s.split for s in pops}
    if len(splits[0]) > 1 or len(splits[1]) > 1 or None in splits[0] | splits[1]:
        return
    if push.split != pop.split:
        yield Diagnostic(
            "split-mismatch",
            f"{pop.call.callee}: split={pop.split}, but {maker.name} pushes with split={push.split} at line "
            f"{push.span.line}",
            pop.span,
            "write one split on both sides",
            severity=Severity.warning,
        )
        return
    theirs = _types(maker)
    pushed, popped = {_shape(_tile(s, theirs)) for s in pushes}, {_shape(_tile(s, types)) for s in pops}
    if len(pushed) > 1 or len(popped) > 1:
        return
    sent, taken = pushed.pop(), popped.pop()
    if sent is None or taken is None:
        return
    lanes = _of_lane(sent, push.way, push.split or 0)
    if taken not in lanes:
        yield Diagnostic(
            "popped-type",
            f"{pop.call.callee}: the popped tile is {_text(taken)}, but {maker.name} pushes {_text(sent)} with "
            f"split={push.split} at line {push.span.line}",
            pop.span,
            f"annotate the popped tile as {' or '.join(map(_text, lanes))}",
            severity=Severity.warning,
        )


_Shape = tuple[int, int, ir.DType]


def _of_lane(sent: _Shape, way: int, split: int) -> tuple[_Shape, ...]:
    """What one pop may take: the lane's part of what the cube pushes; of the vector cores, what both lanes push.

    A kernel that its author wrote for one lane pushes the whole."""
    rows, cols, dtype = sent
    if split == 0:
        return (sent,)
    if way == 1:
        return (((rows + 1) // 2, cols, dtype) if split in (1, 3) else (rows, (cols + 1) // 2, dtype),)
    return sent, (2 * rows, cols, dtype) if split == 1 else (rows, 2 * cols, dtype)


def _text(shape: _Shape) -> str:
    return f"[{shape[0]}, {shape[1]}] {shape[2].value}"


def _of(step: Step, way: int, number: int, part: str) -> bool:
    return step.part == part and bool(step.way & way) and step.number == number


def _types(function: ir.Function) -> dict[str, ir.TileType | None]:
    """Types of the tiles that statements of a function make; None for a name with two."""
    found: dict[str, ir.TileType | None] = {}
    for stmt in ir.statements(function.body):
        if isinstance(stmt, ir.Assign) and isinstance(stmt.type, ir.TileType):
            name = stmt.targets[0]
            found[name] = stmt.type if found.get(name, stmt.type) == stmt.type else None
    return found


def _tile(step: Step, types: Mapping[str, ir.TileType | None]) -> ir.TileType | None:
    """The tile that a step pushes or pops."""
    pushed = step.call.args[0] if step.part == "push" and step.call.args else None
    name = pushed.id if isinstance(pushed, ir.Name) else step.target
    return types.get(name) if name is not None else None


def _shape(tile: ir.TileType | None) -> _Shape | None:
    extents = _numbers(tile.shape) if tile is not None else None
    return (extents[0], extents[1], tile.dtype) if tile is not None and extents is not None else None


def _numbers(extents: tuple[ir.Expr, ...]) -> tuple[int, int] | None:
    """Two extents that are constants."""
    rows, cols = extents if len(extents) == 2 else (None, None)
    return (rows.value, cols.value) if isinstance(rows, ir.Int) and isinstance(cols, ir.Int) else None


def _carried(step: Step, tile: ir.TileType | None) -> int | None:
    """The least bytes of a slot that the tile takes; None where a run-time extent decides.

    With a split, and out of an accumulator that is not compact, its whole box; else what is valid."""
    if tile is None:
        return None
    view = tile.view
    box = step.split != 0 or (tile.space is ir.Space.Acc and not (view is not None and view.compact))
    valid = _numbers(view.valid) if view is not None and view.valid is not None else _numbers(tile.shape)
    if valid is None or 0 in valid:
        return None
    extents = _numbers(tile.shape) if box else valid
    return None if extents is None else extents[0] * extents[1] * bits(tile.dtype) // 8


def _buffer(call: ir.Call, function: ir.Function) -> str:
    """The variable that an initialize_pipe of `function` passes for the slots it takes tiles from."""
    if function.kind not in _CONSUMED:
        return ""
    position, keyword = _CONSUMED[function.kind]
    given = call.args[position] if len(call.args) > position else dict(call.kwargs).get(keyword)
    return given.id if isinstance(given, ir.Name) else ""


def _slots(step: Step) -> int:
    """How many slots lie in a consumer's buffer: those kept there, or all; 8 where none are stated, 4 of each way."""
    stated = _number(step.call, "local_slot_num") or _number(step.call, "slot_num")
    return stated or (4 if step.way == 3 else 8)


def _number(call: ir.Call, keyword: str) -> int | None:
    value = dict(call.kwargs).get(keyword)
    return value.value if isinstance(value, ir.Int) else None
