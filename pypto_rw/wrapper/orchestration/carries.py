"""Values that loops carry and branches merge: a C++ variable where they change, another name where they do not.

Source: orchestration-overview.md §3, §5.
"""

from __future__ import annotations

import re

from pypto_rw import ir
from pypto_rw.records import dataclass
from pypto_rw.wrapper.orchestration.aliases import Aliases, trailing_yield
from pypto_rw.wrapper.orchestration.expressions import c_type, cpp, scalar_type
from pypto_rw.wrapper.orchestration.frame import Frame
from pypto_rw.wrapper.orchestration.values import (
    KIND,
    ScalarValue,
    TasksValue,
    TaskValue,
    TensorValue,
    Value,
    WindowValue,
)
from pypto_rw.wrapper.templates import Lines, fill

_TASK_ID = "PTO2TaskId"
_INVALID = "PTO2TaskId::invalid()"


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a yielded value goes: nowhere, a variable, an element or all elements of an array of task ids.

    `value` is what the name stands for afterwards."""

    value: Value
    variable: str = ""
    type: str = ""
    index: str = ""


def before_loop(
    frame: Frame, loop: ir.For | ir.While, results: tuple[str, ...], aliases: Aliases
) -> tuple[Lines, list[Slot]]:
    """Variables of a loop's carries, ahead of it, and where its yields go; binds the carried names."""
    if not len(loop.carried) == len(loop.initial) == len(results):
        counts = f"{len(loop.carried)} carried names, {len(loop.initial)} initial values, {len(results)} results"
        raise frame.refused(
            "loop-carries", f"the loop has {counts}", "carry, start and yield the same number of values"
        )
    attrs = dict(loop.attrs) if isinstance(loop, ir.For) else {}
    lines: Lines = []
    slots = []
    for k, (carried, initial, result) in enumerate(zip(loop.carried, loop.initial, results, strict=True)):
        rebinds = attrs.get(f"iter_arg_rebind_{k}")
        start = start_value(frame, initial)
        moves = rebinds == ir.Bool(True) if rebinds is not None else aliases.root.get(result) == result
        size = attrs.get(f"iter_arg_array_size_{k}")
        match start:
            case ScalarValue():
                name = frame.named(result)
                type_ = c_type(frame, start.dtype)
                lines += fill("orchestration/local.cpp", type=type_, name=name, value=start.text)
                value: Value = ScalarValue(name, start.dtype, frame.scope)
                frame.bind(carried, value)
                slots.append(Slot(value, name, type_))
            case TensorValue() if moves:
                name = frame.named(result)
                lines += fill("orchestration/local.cpp", type="ChipTensor", name=name, value=start.text)
                value = TensorValue(name, start.type, frame.scope)
                frame.bind(carried, value)
                slots.append(Slot(value, name, "ChipTensor"))
            case TaskValue() if isinstance(loop, ir.For) and (loop.kind == "parallel" or isinstance(size, ir.Int)):
                made, slot = _task_per_iteration(frame, loop, carried, result, start, size)
                lines += made
                slots.append(slot)
            case TaskValue():
                name = frame.named(result)
                lines += fill("orchestration/local.cpp", type=_TASK_ID, name=name, value=start.text)
                value = TaskValue(name, frame.scope, certain=False)
                frame.bind(carried, value)
                slots.append(Slot(value, name, _TASK_ID))
            case TasksValue():
                frame.bind(carried, start)
                slots.append(Slot(start, start.text, index="*"))
            case _:
                frame.bind(carried, start)
                slots.append(Slot(start))
    return lines, slots


def _task_per_iteration(
    frame: Frame, loop: ir.For, carried: str, result: str, start: TaskValue, size: ir.Expr | None
) -> tuple[Lines, Slot]:
    """Iterations that run side by side leave one task id each."""
    trips = size.value if isinstance(size, ir.Int) else trip_count(loop)
    if trips is None:
        message = f"the parallel loop carries the task id {carried}, but its trip count is not known here"
        raise frame.refused("task-carry", message, "give the loop constant bounds, or collect the ids in an array")
    name = frame.named(result)
    lines = fill("orchestration/task_id_array.cpp", name=name, size=str(trips))
    value = TasksValue(name, trips, frame.scope)
    if loop.kind == "parallel":
        frame.bind(carried, TaskValue(start.text, start.scope, certain=False))
        low, step = _bound(loop, 0), _bound(loop, 2)
        first = cpp(frame, low) if low is not None else "0"
        offset = "@" if first == "0" else f"(@ - {first})"
        by = cpp(frame, step) if step is not None else "1"
        return lines, Slot(value, name, index=offset if by == "1" else f"({offset} / {by})")
    frame.bind(carried, value)
    return lines + fill("orchestration/assign_slot.cpp", name=name, index="0", value=start.text), Slot(
        value, name, index="*"
    )


def trip_count(loop: ir.For) -> int | None:
    """How often the loop runs, where constants say it."""
    ends = [b.value if isinstance(b, ir.Int) else None for b in loop.bounds]
    if None in ends or not ends:
        return None
    numbers = [e for e in ends if e is not None]
    low, high, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    return len(range(low, high, step)) if step else None


def _bound(loop: ir.For, which: int) -> ir.Expr | None:
    if len(loop.bounds) == 1:
        return None if which != 1 else loop.bounds[0]
    return loop.bounds[which] if which < len(loop.bounds) else None


def start_value(frame: Frame, expr: ir.Expr) -> Value:
    """What a carry starts with: a variable of any kind, a scalar expression, `None` for no task."""
    if expr == ir.Name("None"):
        return TaskValue(_INVALID, 0, certain=False)
    if isinstance(expr, ir.Name) and not (expr.id in frame.symbols and expr.id not in frame.values):
        return frame.look(expr.id)
    return ScalarValue(cpp(frame, expr), scalar_type(frame, expr) or ir.DType.INDEX, frame.scope)


def before_branches(frame: Frame, branch: ir.If, entry: TensorValue | None) -> tuple[Lines, list[Slot]]:
    """Variables of a branch's results, ahead of it. `entry`: a tensor that a result can hold until it is assigned."""
    last = trailing_yield(branch.body) or trailing_yield(branch.orelse or ())
    lines: Lines = []
    slots: list[Slot] = []
    for k, target in enumerate(last.targets if last else ()):
        type_ = _merged_type(branch, k)
        name = frame.named(target)
        match type_:
            case ir.ScalarType(ir.DType.TASK_ID):
                lines += fill("orchestration/local.cpp", type=_TASK_ID, name=name, value=_INVALID)
                slots.append(Slot(TaskValue(name, frame.scope, certain=False), name, _TASK_ID))
            case ir.ScalarType(dtype):
                lines += fill("orchestration/declare.cpp", type=c_type(frame, dtype), name=name)
                slots.append(Slot(ScalarValue(name, dtype, frame.scope), name, c_type(frame, dtype)))
            case ir.TensorType():
                if entry is None:
                    raise frame.refused(
                        "branch-result", f"{target} is a tensor, but the entry takes none to start with"
                    )
                lines += fill("orchestration/local.cpp", type="ChipTensor", name=name, value=entry.text)
                slots.append(Slot(TensorValue(name, type_, frame.scope), name, "ChipTensor"))
            case _:
                raise frame.refused("branch-result", f"{target} is neither a tensor, a scalar nor a task id")
    return lines, slots


def _merged_type(branch: ir.If, position: int) -> ir.Type | None:
    """The type of a branch's result: its annotation, else that of a value that is yielded for it."""
    for body in (branch.body, branch.orelse or ()):
        last = trailing_yield(body)
        if last is None:
            continue
        if last.type is not None:
            return last.type
        value = last.values[position] if position < len(last.values) else None
        for stmt in ir.statements(body):
            if isinstance(stmt, ir.Assign) and isinstance(value, ir.Name) and value.id in stmt.targets:
                return stmt.type
    return None


def at_yield(frame: Frame, values: tuple[ir.Expr, ...], slots: list[Slot], variable: str) -> Lines:
    """Lines that hand the yielded values on; `variable` is the loop's, where it is one."""
    if len(values) != len(slots):
        raise frame.refused("yield-count", f"{len(values)} values are yielded, {len(slots)} are carried")
    texts: list[tuple[Slot, str]] = []
    for slot, expr in zip(slots, values, strict=True):
        value = start_value(frame, expr)
        if type(value) is not type(slot.value) and not (slot.index and isinstance(value, TaskValue)):
            raise frame.refused(
                "yield-kind", f"{KIND[type(value)]} is yielded where {KIND[type(slot.value)]} is carried"
            )
        if isinstance(value, ScalarValue | TensorValue | WindowValue | TaskValue | TasksValue):
            texts.append((slot, value.text))
    lines: Lines = []
    moved = [(slot, text) for slot, text in texts if slot.variable and text != slot.variable]
    for k, (slot, text) in enumerate(moved):
        if any(re.search(rf"\b{earlier.variable}\b", text) for earlier, _ in moved[:k]):
            held = frame.names.take(f"{slot.variable}_next")  # its parts are overwritten by the lines before
            lines[:0] = fill("orchestration/local.cpp", type=slot.type or "auto", name=held, value=text)
            text = held
        lines += _assigned(slot, text, variable)
    for slot, text in texts:
        if not slot.variable and isinstance(slot.value, TensorValue) and text != slot.value.text:
            raise frame.refused(
                "carry-rebinds",
                f"the loop carries {slot.value.text} on as {text}, but says that the carry is never rebound",
                "mark the carry as rebound (iter_arg_rebind_N), or carry the same tensor",
            )
    return lines


def _assigned(slot: Slot, text: str, variable: str) -> Lines:
    if slot.index == "*" and isinstance(slot.value, TasksValue):
        return [
            line
            for j in range(slot.value.size)
            for line in fill("orchestration/assign_slot.cpp", name=slot.variable, index=str(j), value=f"{text}[{j}]")
        ]
    if slot.index:
        index = slot.index.replace("@", variable)
        return fill("orchestration/assign_slot.cpp", name=slot.variable, index=index, value=text)
    return fill("orchestration/assign.cpp", name=slot.variable, value=text)
