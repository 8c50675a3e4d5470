"""Memory a function sets aside for the slots of its pipes, below everything else. Source: memory-planning.md §6."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.memory.facts import aligned
from pypto_rw.memory.tree import Step, Tree, place, steps
from pypto_rw.records import replace
from pypto_rw.shaping.values import Refused

_PIPE_ALIGNMENT = 256  # bytes; system.reserve_buffer refuses another base


def place_reserved(tree: Tree) -> dict[ir.Space, int]:
    """Give every reserved buffer its base; the first free byte by memory space. Refused: buffers that overlap."""
    space = ir.Space.Mat if tree.function.kind == "AIC" else ir.Space.Vec
    end = 0
    taken: list[tuple[int, int, str]] = []
    for step in steps(tree.body):
        if step.call is None or step.op is None or step.op.reserves is None:
            continue
        size_name, base_name = step.op.reserves
        size, base = step.expressions.get(size_name), step.expressions.get(base_name)
        if not isinstance(size, ir.Int):
            continue
        start = base.value if isinstance(base, ir.Int) else -1
        if start < 0:
            start = -(-end // _PIPE_ALIGNMENT) * _PIPE_ALIGNMENT
        name = step.expressions.get("name")
        label = name.value if isinstance(name, ir.Str) else "a buffer"
        for first, last, other in taken:
            if start < last and first < start + size.value:
                raise Refused(
                    "reserved-overlap",
                    f"the reserved buffers {other} (bytes {first} to {last}) and {label} (bytes {start} to "
                    f"{start + size.value}) overlap",
                    step.call.span or place(step),
                    "give them other bases, or leave base= out",
                )
        taken.append((start, start + size.value, label))
        end = max(end, aligned(start + size.value))
        _write_base(step, base_name, start)
    return {space: end} if end else {}


def _write_base(step: Step, name: str, start: int) -> None:
    assert step.call is not None and isinstance(step.stmt, ir.Assign | ir.Evaluate)
    kwargs = tuple((k, ir.Int(start) if k == name else v) for k, v in step.call.kwargs)
    if name not in dict(kwargs):
        kwargs = (*kwargs, (name, ir.Int(start)))
    step.call = replace(step.call, kwargs=kwargs)
    step.stmt = replace(step.stmt, value=step.call)
