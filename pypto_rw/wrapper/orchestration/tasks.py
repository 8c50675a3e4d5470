"""Tasks of an orchestration: arguments, launch options, dependencies, submission, results.

Source: orchestration-overview.md §3, §5.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.records import dataclass
from pypto_rw.syntax import expression_text
from pypto_rw.wrapper.manifest import Direction
from pypto_rw.wrapper.orchestration.callees import Task, Unlaunchable
from pypto_rw.wrapper.orchestration.expressions import cpp, float_text
from pypto_rw.wrapper.orchestration.frame import Frame
from pypto_rw.wrapper.orchestration.tensors import described, launch_option
from pypto_rw.wrapper.orchestration.values import (
    KIND,
    ScalarValue,
    TasksValue,
    TaskValue,
    TensorValue,
    TupleValue,
    Value,
    WindowValue,
)
from pypto_rw.wrapper.templates import Lines, fill

_ADD = {
    "input": ("input", Direction.IN),
    "output": ("output", Direction.OUT),
    "output_existing": ("output", Direction.OUT),
    "inout": ("inout", Direction.INOUT),
    "no_dep": ("no_dep", Direction.INOUT),
}
_COMPARISON = {">": "GT", "<": "LT", ">=": "GE", "<=": "LE", "==": "EQ", "!=": "NE"}
_MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "==", "!=": "!="}
_WIDTH_OPTION = {"a2a3": "block_num", "a5": "core_num"}
_TASK_HELP = "name the last result of a pl.submit, or an array of such"
_NO_KERNEL = "INVALID_KERNEL_ID"


@dataclass(slots=True)
class _Launch:
    """One launch while it is written. `outputs` names its results in C++, "" where nothing needs them."""

    call: ir.Call
    name: str
    arguments: tuple[ir.Expr, ...]
    task: Task
    params: str
    outputs: str
    results: list[Value | None]


def launch(frame: Frame, call: ir.Call, targets: tuple[str, ...], type_: ir.Type | None) -> Lines:
    """Lines of a call or submit of a kernel; `targets` get its results."""
    submitted = not call.callee.startswith("self.")
    name = (call.args[0].path if submitted and isinstance(call.args[0], ir.Symbol) else call.callee)[len("self.") :]
    try:
        task = frame.program.task(name)
        returned = frame.program.outputs(name)
    except Unlaunchable as problem:
        help = "launch a kernel (AIC or AIV), a Group or an Spmd function of this program"
        raise frame.refused("launch-target", str(problem), help) from None
    if any(key == "device" for key, _ in call.kwargs):
        raise frame.refused(
            "distributed-build",
            f"{name} is launched on another device; one chip's program is built",
            "build each chip's program by itself, with its orchestration as the entry",
        )
    number, frame.tasks = frame.tasks, frame.tasks + 1
    arguments = call.args[1:] if submitted else call.args
    omitted = len(arguments) < len(task.callee.params)
    outputs = f"task_{number}_outs" if submitted or omitted else ""
    this = _Launch(call, name, arguments, task, f"params_t{number}", outputs, [])
    packed, directions = _arguments(frame, this)
    ids = [frame.kernel_id(kernel, directions) for kernel in task.kernels]
    mixed, submit = _submission(this, ids, f"mixed_{number}")
    lines = fill(
        "orchestration/task.cpp",
        params=this.params,
        arguments=packed,
        mixed=mixed,
        launch=_options(frame, this),
        dependencies=_waits(frame, call, this.params)[0],
        submit=submit,
        outputs=[],
    )
    results: list[Value | None] = [this.results[k] if k < len(this.results) else None for k in returned]
    return lines + _bind(frame, this, targets, type_, results, submitted)


# --------------------------------------------------------------------------------------- arguments


def _arguments(frame: Frame, this: _Launch) -> tuple[Lines, tuple[Direction, ...]]:
    """Lines that pack tensors, then scalars; what the task does with each tensor. Fills `this.results`."""
    params = this.task.callee.params
    if len(this.arguments) > len(params):
        raise frame.refused(
            "argument-count",
            f"{this.name} takes {len(params)} arguments, {len(this.arguments)} are given",
            "give one argument for each parameter",
        )
    written = dict(this.call.attrs).get("arg_directions")
    words = (
        [w.path.rsplit(".", 1)[-1] for w in written.items if isinstance(w, ir.Symbol)]
        if isinstance(written, ir.Tuple)
        else []
    )
    if words and len(words) != len(this.arguments):
        raise frame.refused(
            "argument-count",
            f"{this.name}: {len(words)} arg_directions for {len(this.arguments)} arguments",
            "give one direction for each argument, or leave arg_directions out",
        )
    tensors: Lines = []
    scalars: Lines = []
    directions = []
    made = 0
    for position, param in enumerate(params):
        if position >= len(this.arguments):
            tensors += _made_by_runtime(frame, this, param, made)
            directions.append(Direction.OUT)
            made += 1
        elif isinstance(param.type, ir.TensorType):
            value = frame.tensor(this.arguments[position], f"{param.name} of {this.name}")
            word = words[position] if words else _derived(frame, param, value)
            if word not in _ADD:
                raise frame.refused(
                    "argument-direction", f"{param.name} of {this.name} is a tensor, but passed as {word}"
                )
            verb, direction = _ADD[word]
            tensors += fill("orchestration/add_tensor.cpp", params=this.params, direction=verb, value=value.text)
            directions.append(direction)
            if direction is not Direction.IN:
                frame.written.add(value.text)
            this.results.append(value)
        else:
            text = _scalar(frame, this, this.arguments[position])
            scalars += fill("orchestration/add_scalar.cpp", params=this.params, value=text)
            this.results.append(None)
    return tensors + scalars, tuple(directions)


def _derived(frame: Frame, param: ir.Param, value: TensorValue) -> str:
    """The direction of an argument that no pass has given one: an output that was written before is updated.

    In a sequential loop, a tensor from outside it was written by the iteration before."""
    if param.direction != "Out":
        return "input" if param.direction == "In" else "inout"
    again = value.text in frame.written or any(value.scope < loop for loop in frame.loops)
    return "inout" if again else "output_existing"


def _made_by_runtime(frame: Frame, this: _Launch, param: ir.Param, number: int) -> Lines:
    """An output argument that is not given: the runtime makes the tensor."""
    if param.direction != "Out" or not isinstance(param.type, ir.TensorType):
        raise frame.refused("argument-count", f"{this.name}: {param.name} is not given, and no output", "give it")
    name = f"{this.params}_{number}"
    lines = described(frame, name, param.type.shape, param.type.dtype)
    this.results.append(TensorValue(f"{this.outputs}.get_ref({number})", param.type, frame.scope))
    return [
        *lines,
        *fill("orchestration/add_tensor.cpp", params=this.params, direction="output", value=f"{name}_ci"),
    ]


def _scalar(frame: Frame, this: _Launch, argument: ir.Expr) -> str:
    match argument:
        case ir.Name():
            value = frame.look(argument.id) if argument.id in frame.values or argument.id not in frame.symbols else None
            if value is None:
                return cpp(frame, argument)
            if isinstance(value, ScalarValue):
                return f"to_u64({value.text})" if value.dtype is ir.DType.FP32 else value.text
            if isinstance(value, WindowValue):
                return value.text
            raise frame.refused("operand-kind", f"{this.name} takes a scalar, but {argument.id} is {KIND[type(value)]}")
        case ir.Int():
            return f"(uint64_t){argument.value}"
        case ir.Bool():
            return f"(uint64_t){int(argument.value)}"
        case ir.Float():
            return f"to_u64({float_text(frame, argument)})"
    raise frame.refused(
        "task-argument",
        f"'{this.name}' is launched with {expression_text(argument)}, which is neither a variable nor a recognized "
        "constant",
        "assign the expression to a variable first",
        this.call.span,
    )


# ------------------------------------------------------------------------------------------ launch


def _options(frame: Frame, this: _Launch) -> Lines:
    """Width, start, early resolution, predicate, dumps."""
    lines: Lines = []

    def option(name: str) -> ir.Expr | None:
        return launch_option(this.call, this.task.layers, name)

    if (width := option("core_num")) is not None:
        what = _WIDTH_OPTION[frame.target]
        lines += fill("orchestration/launch.cpp", params=this.params, what=what, value=cpp(frame, width))
    if option("sync_start") == ir.Bool(True):
        lines += fill("orchestration/launch.cpp", params=this.params, what="require_sync_start", value="true")
    if option("allow_early_resolve") == ir.Bool(True):
        lines += fill("orchestration/early_resolve.cpp", params=this.params)
    if (predicate := option("predicate")) is not None:
        lines += _predicate(frame, this, predicate)
    dumped = option("dumps") or option("dump_vars")
    if isinstance(dumped, ir.Tuple) and dumped.items:
        names = [frame.tensor(d, "dumps").text for d in dumped.items]
        lines += fill("orchestration/dump.cpp", params=this.params, tensors=", ".join(names))
    return lines


def _predicate(frame: Frame, this: _Launch, condition: ir.Expr) -> Lines:
    """`predicate=(tensor.read(x, [i]) > 0)`, mirrored forms included."""
    if isinstance(condition, ir.Tuple) and len(condition.items) == 1:
        condition = condition.items[0]
    if isinstance(condition, ir.Binary) and condition.op in _COMPARISON:
        sides = (
            (condition.op, condition.left, condition.right),
            (_MIRRORED[condition.op], condition.right, condition.left),
        )
        for op, element, target in sides:
            if (
                isinstance(element, ir.Call)
                and element.callee == "tensor.read"
                and len(element.args) == 2
                and isinstance(target, ir.Int | ir.Name)
            ):
                tensor = frame.tensor(element.args[0], "predicate")
                indices = element.args[1].items if isinstance(element.args[1], ir.Tuple) else ()
                if len(indices) == len(tensor.type.shape):
                    placed = [
                        fill("orchestration/predicate_index.cpp", params=this.params, axis=str(k), value=cpp(frame, i))
                        for k, i in enumerate(indices)
                    ]
                    return fill(
                        "orchestration/predicate.cpp",
                        params=this.params,
                        tensor=tensor.text,
                        rank=str(len(indices)),
                        indices=[line for lines in placed for line in lines],
                        op=_COMPARISON[op],
                        target=cpp(frame, target),
                    )
    raise frame.refused(
        "task-predicate",
        "a predicate compares one element of a tensor with a constant or a variable",
        "write predicate=(pl.tensor.read(x, [i]) > 0), or put the submit under an if",
    )


def _submission(this: _Launch, ids: list[int], mixed: str) -> tuple[Lines, Lines]:
    """The kernels of a task for several cores, and the submission."""
    how = "_outputs" if this.outputs else ""
    task = this.task
    if task.vector is None or (task.cube is None and not task.both_lanes):
        core = "aic" if task.vector is None else "aiv"
        return [], fill(
            f"orchestration/submit{how}.cpp", core=core, kernel=str(ids[0]), params=this.params, outputs=this.outputs
        )
    cube = _NO_KERNEL if task.cube is None else str(ids[0])
    vector = str(ids[-1])
    second = vector if task.both_lanes else _NO_KERNEL
    return (
        fill("orchestration/mixed.cpp", name=mixed, aic=cube, first=vector, second=second),
        fill(f"orchestration/submit_mixed{how}.cpp", kernels=mixed, params=this.params, outputs=this.outputs),
    )


# ------------------------------------------------------------------------------------ dependencies


def _waits(frame: Frame, call: ir.Call, params: str) -> tuple[Lines, bool]:
    """What the task waits for, and whether that is certain to be something."""
    if any(key == "compiler_manual_dep_edges" for key, _ in call.attrs):
        raise frame.refused(
            "derived-dependencies",
            "the call has compiler_manual_dep_edges; dependencies that a pass has derived are not built",
            "name the tasks it waits for in deps=[…]",
        )
    waited = dict(call.kwargs).get("deps")
    names = [d for d in waited.items if d != ir.Name("None")] if isinstance(waited, ir.Tuple) else []
    edges: Lines = []
    count = 0
    sure = False
    for dependency in names:
        if not isinstance(dependency, ir.Name):
            raise frame.refused(
                "task-dependency", f"deps takes task ids, not {expression_text(dependency)}", _TASK_HELP
            )
        value = frame.look(dependency.id)
        match value:
            case TaskValue():
                form = "edge" if value.certain else "edge_guarded"
                edges += fill(f"orchestration/{form}.cpp", params=params, task=value.text)
                count += 1
                sure = sure or value.certain
            case TasksValue():
                for slot in range(value.size):
                    edges += fill("orchestration/edge_guarded.cpp", params=params, task=f"{value.text}[{slot}]")
                count += value.size
            case _:
                raise frame.refused(
                    "task-dependency", f"deps takes task ids; {dependency.id} is {KIND[type(value)]}", _TASK_HELP
                )
    if not count:
        return [], False
    return fill("orchestration/dependencies.cpp", params=params, count=str(count), edges=edges), sure


def dummy(frame: Frame, call: ir.Call, target: str) -> Lines:
    """`t = system.task_dummy(deps=[…])`: a task that only waits; none where there is nothing to wait for."""
    number, frame.tasks = frame.tasks, frame.tasks + 1
    params = f"params_t{number}"
    dependencies, sure = _waits(frame, call, params)
    name = frame.named(target)
    frame.bind(target, TaskValue(name, frame.scope, certain=sure))
    form = "dummy_submit" if sure or not dependencies else "dummy_submit_if"
    submit = fill(f"orchestration/{form}.cpp", name=name, params=params)
    return fill("orchestration/dummy.cpp", params=params, dependencies=dependencies, name=name, submit=submit)


# ----------------------------------------------------------------------------------------- results


def _bind(
    frame: Frame,
    this: _Launch,
    targets: tuple[str, ...],
    type_: ir.Type | None,
    results: list[Value | None],
    submitted: bool,
) -> Lines:
    """Give the results their names; a task id gets a variable only where it is read."""
    if not targets:
        return []
    if len(targets) == 1 and not submitted and not isinstance(type_, ir.TupleType):
        if results and results[0] is not None:
            frame.bind(targets[0], results[0])
        return []
    if len(targets) == 1 and isinstance(type_, ir.ScalarType):
        return name_task(frame, targets[0], this.outputs)
    items: list[Value | None] = [*results]
    if submitted:
        items.append(TaskValue(f"{this.outputs}.task_id()", frame.scope, certain=True))
    if len(targets) == 1:
        frame.bind(targets[0], TupleValue(tuple(items), frame.scope))
        return []
    if len(targets) != len(items):
        raise frame.refused("result-count", f"{this.name} has {len(items)} results, {len(targets)} names are given")
    return [line for target, item in zip(targets, items, strict=True) for line in bind_item(frame, target, item)]


def bind_item(frame: Frame, target: str, item: Value | None) -> Lines:
    """`target` is one of a task's results."""
    if isinstance(item, TaskValue) and item.text.endswith(".task_id()"):
        return name_task(frame, target, item.text.removesuffix(".task_id()"))
    if item is not None:
        frame.bind(target, item)
    return []


def name_task(frame: Frame, target: str, outputs: str) -> Lines:
    """The id of the task whose results are `outputs`, as a variable, if anything reads it."""
    if not frame.reads.get(target):
        return []
    name = frame.named(target)
    frame.bind(target, TaskValue(name, frame.scope, certain=True))
    return fill("orchestration/task_id.cpp", name=name, outputs=outputs)
