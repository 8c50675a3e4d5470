"""Tensors of an orchestration: temporaries, windows, other shapes, elements. Source: orchestration-overview.md §3."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto_rw import ir
from pypto_rw.records import dataclass
from pypto_rw.scalars import names_in
from pypto_rw.syntax import expression_text
from pypto_rw.wrapper.ctypes import PACKED, RUNTIME_DTYPE
from pypto_rw.wrapper.orchestration.callees import Unlaunchable
from pypto_rw.wrapper.orchestration.expressions import c_type, cpp, listed, unsigned
from pypto_rw.wrapper.orchestration.frame import Frame
from pypto_rw.wrapper.orchestration.values import ScalarValue, TensorValue
from pypto_rw.wrapper.templates import Lines, fill, fill_line
from pypto_rw.wrapper.units import callee_of, calls

BATCH = 16  # tensors that one call of the runtime allocates
_PIPE_BUFFER = "__gm_pipe_buffer"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The pipe buffer of one launch: FP32 elements of one block, and how many blocks there are."""

    elements: int
    blocks: ir.Expr | None


# ------------------------------------------------------------------------------------ temporaries


def is_create(stmt: ir.Stmt) -> bool:
    """Whether `stmt` makes a temporary."""
    return (
        isinstance(stmt, ir.Assign)
        and isinstance(stmt.value, ir.Call)
        and stmt.value.callee in ("tensor.create", "create_tensor")
    )


def _created_type(frame: Frame, stmt: ir.Assign) -> ir.TensorType:
    """The type of a temporary: its annotation, else what its call says."""
    if isinstance(stmt.type, ir.TensorType):
        return stmt.type
    assert isinstance(stmt.value, ir.Call)
    dtype = dict(stmt.value.kwargs).get("dtype")
    if not isinstance(dtype, ir.Symbol) or dtype.path not in ir.DType.__members__:
        raise frame.refused("tensor-create", f"{stmt.targets[0]}: the call names no dtype")
    return ir.TensorType(_tuple(frame, stmt.value, 0, "shape"), ir.DType[dtype.path])


def workspaces(frame: Frame) -> dict[str, Workspace]:
    """The pipe buffers that the body hands to a launch, by variable."""
    found: dict[str, Workspace] = {}
    for call in calls(frame.function.body):
        name = callee_of(call)
        if name is None or name not in frame.program.functions:
            continue
        callee = frame.program.functions[name]
        position = next((i for i, p in enumerate(callee.params) if p.name == _PIPE_BUFFER), None)
        arguments = call.args if call.callee.startswith("self.") else call.args[1:]
        buffer = arguments[position] if position is not None and position < len(arguments) else None
        if isinstance(buffer, ir.Name):
            try:
                task = frame.program.task(name)
            except Unlaunchable:
                continue  # the launch itself is refused where it stands
            found[buffer.id] = Workspace(
                frame.program.workspace_elements(task), launch_option(call, task.layers, "core_num")
            )
    return found


def launch_option(call: ir.Call, layers: Sequence[ir.Function], name: str) -> ir.Expr | None:
    """A launch option: of the call, else of the functions it runs."""
    places = (call.kwargs, call.attrs, *(f.attrs for f in layers))
    return next((value for place in places for key, value in place if key == name), None)


def is_ready(frame: Frame, stmt: ir.Assign, sized: dict[str, Workspace]) -> bool:
    """Whether everything that the temporary's shape reads has a value by now."""
    assert isinstance(stmt.value, ir.Call)
    exprs = list(stmt.value.args)
    workspace = sized.get(stmt.targets[0])
    if workspace is not None and workspace.blocks is not None:
        exprs.append(workspace.blocks)
    return all(n in frame.symbols or n in frame.values for n in names_in(tuple(exprs)))


def allocate(frame: Frame, creates: list[ir.Assign], sized: dict[str, Workspace]) -> Lines:
    """Lines that make the temporaries, as many at once as the runtime takes."""
    lines: Lines = []
    for start in range(0, len(creates), BATCH):
        batch = creates[start : start + BATCH]
        number, frame.allocs = frame.allocs, frame.allocs + 1
        infos, made = [], []
        for index, stmt in enumerate(batch):
            frame.span = stmt.span
            type_ = _created_type(frame, stmt)
            name = frame.named(stmt.targets[0], also=("_ci", "_ci_shapes"))
            lines += _described(frame, stmt, name, type_, sized.get(stmt.targets[0]))
            infos.append(f"{name}_ci")
            made += fill("orchestration/created.cpp", name=name, outputs=f"alloc_{number}", index=str(index))
            frame.bind(stmt.targets[0], TensorValue(name, type_, frame.scope))
        lines += fill("orchestration/alloc.cpp", number=str(number), infos=", ".join(infos), tensors=made)
    return lines


def _described(frame: Frame, stmt: ir.Assign, name: str, type_: ir.TensorType, workspace: Workspace | None) -> Lines:
    assert isinstance(stmt.value, ir.Call)
    kwargs = dict(stmt.value.kwargs)
    initial = kwargs.get("init_value")
    manual = kwargs.get("manual_dep") == ir.Bool(True)
    if workspace is None:
        return described(frame, name, type_.shape, type_.dtype, manual=manual, initial=initial)
    if workspace.elements == 0:
        raise frame.refused("pipe-workspace", f"{stmt.targets[0]} is the buffer of a task that sets up no pipe")
    extent = str(workspace.elements)
    if workspace.blocks is not None:
        extent = f"static_cast<uint32_t>(({extent}) * ({cpp(frame, workspace.blocks)}))"
    return fill(
        "orchestration/create_manual.cpp",
        name=name,
        rank="1",
        shape=extent,
        dtype="FLOAT32",
        initial=[],
    )


def described(
    frame: Frame,
    name: str,
    shape: tuple[ir.Expr, ...],
    dtype: ir.DType,
    *,
    manual: bool = False,
    initial: ir.Expr | None = None,
) -> Lines:
    """Lines that say what a tensor to be made looks like; its `TensorCreateInfo` is `name` + `_ci`."""
    if dtype not in RUNTIME_DTYPE:
        raise frame.refused(
            "runtime-dtype",
            f"the runtime has no tensors of dtype {dtype.value}",
            "pass such a tensor to the orchestration instead of making it there",
        )
    return fill(
        "orchestration/create_manual.cpp" if manual else "orchestration/create.cpp",
        name=name,
        rank=str(len(shape)),
        shape=listed(frame, shape),
        dtype=RUNTIME_DTYPE[dtype],
        initial=[] if initial is None else _initial(frame, name, initial, dtype),
    )


def _initial(frame: Frame, name: str, value: ir.Expr, dtype: ir.DType) -> Lines:
    """An exact integer, or a float; floats narrower than 32 bits only zero."""
    number = value.operand if isinstance(value, ir.Unary) and value.op == "-" else value
    if not isinstance(number, ir.Int | ir.Float | ir.Bool):
        raise frame.refused("initial-value", f"init_value={expression_text(value)} is no constant")
    is_float = dtype in (ir.DType.FP32, ir.DType.FP16, ir.DType.BF16)
    if isinstance(number, ir.Float) and not is_float and not number.value.is_integer():
        raise frame.refused("initial-value", f"init_value={expression_text(value)} is no {dtype.value}")
    if is_float and dtype is not ir.DType.FP32 and number.value != 0:
        raise frame.refused(
            "initial-value", f"init_value={expression_text(value)}: a tensor of {dtype.value} starts as 0 or unset"
        )
    sign = "-" if number is not value else ""
    constant: ir.Expr = ir.Float(float(number.value)) if is_float else ir.Int(int(number.value))
    return fill("orchestration/create_initial.cpp", name=name, value=f"{sign}{cpp(frame, constant)}")


# ------------------------------------------------------------------------------- windows and shapes


def slice_(frame: Frame, target: str, type_: ir.Type | None, call: ir.Call) -> Lines:
    """`s = tensor.slice(x, extents, offsets)`: a window, no larger than what is left of `x`."""
    kwargs = dict(call.kwargs)
    parent = frame.tensor(call.args[0] if call.args else ir.Tuple(()), "tensor.slice")
    extents, offsets = _tuple(frame, call, 1, "extents"), _tuple(frame, call, 2, "offsets")
    dropped = kwargs.get("drop_dims")
    if len(call.args) > 3 or set(kwargs) - {"drop_dims"}:
        raise frame.refused("tensor-slice", "tensor.slice takes a tensor, extents, offsets and drop_dims on the host")
    rank = len(parent.type.shape)
    if not len(extents) == len(offsets) == rank:
        raise frame.refused(
            "tensor-slice", f"tensor.slice: {len(extents)} extents, {len(offsets)} offsets, rank {rank}"
        )
    if parent.type.dtype in PACKED:
        extents, offsets = _halved(frame, extents, "extent"), _halved(frame, offsets, "offset")
    name = frame.named(target, also=("_offsets", "_shapes"))
    window = [
        fill_line(
            "orchestration/slice_extent.cpp", name=name, tensor=parent.text, axis=str(k), extent=unsigned(frame, e)
        )
        for k, e in enumerate(extents)
    ]
    lines = fill(
        "orchestration/slice.cpp",
        name=name,
        rank=str(rank),
        offsets=listed(frame, offsets),
        shape=", ".join(window),
        tensor=parent.text,
    )
    if dropped is not None:
        lines += _drop(frame, name, extents, dropped)
    frame.bind(target, TensorValue(name, _tensor_type(type_, parent), frame.scope))
    return lines


def _drop(frame: Frame, name: str, extents: tuple[ir.Expr, ...], dropped: ir.Expr) -> Lines:
    rank = len(extents)
    axes = [a.value % rank for a in dropped.items if isinstance(a, ir.Int)] if isinstance(dropped, ir.Tuple) else []
    if not axes or any(extents[a] != ir.Int(1) for a in axes) or len(set(axes)) == rank:
        raise frame.refused(
            "tensor-slice", "drop_dims takes axes whose extent is 1, not all", "slice one row to drop its axis"
        )
    kept = [a for a in range(rank) if a not in axes]
    moved = [fill("orchestration/drop_axis.cpp", name=name, axis=str(k), source=str(a)) for k, a in enumerate(kept)]
    return fill(
        "orchestration/drop_axes.cpp",
        name=name,
        rank=str(len(kept)),
        axes=[line for k, lines in enumerate(moved) if kept[k] != k for line in lines],
    )


def reshape(frame: Frame, target: str, type_: ir.Type | None, call: ir.Call) -> Lines:
    """`y = tensor.reshape(x, shape)` or `tensor.view(x, shape)`."""
    source = frame.tensor(call.args[0] if call.args else ir.Tuple(()), call.callee)
    if len(call.args) != 2 or call.kwargs:
        raise frame.refused("tensor-reshape", f"{call.callee} takes a tensor and a shape on the host")
    shape = _tuple(frame, call, 1, "shape")
    if source.type.dtype in PACKED:
        shape = _halved(frame, shape, "extent")
    name = frame.named(target, also=("_shapes",))
    frame.bind(target, TensorValue(name, _tensor_type(type_, source), frame.scope))
    return fill(
        "orchestration/reshape.cpp", name=name, rank=str(len(shape)), shape=listed(frame, shape), tensor=source.text
    )


def transpose(frame: Frame, target: str, type_: ir.Type | None, call: ir.Call) -> Lines:
    """`y = tensor.transpose(x, a, b)`: two axes change places."""
    source = frame.tensor(call.args[0] if call.args else ir.Tuple(()), call.callee)
    rank = len(source.type.shape)
    axes = [_constant(a) for a in call.args[1:]]
    if len(axes) != 2 or any(a is None or not -rank <= a < rank for a in axes):
        raise frame.refused("tensor-transpose", f"tensor.transpose takes two constant axes of its {rank}")
    first, second = (str((a or 0) % rank) for a in axes)
    if source.type.dtype in PACKED and str(rank - 1) in (first, second):
        raise frame.refused("tensor-transpose", "the packed last axis of a 4-bit tensor cannot change places")
    name = frame.named(target)
    frame.bind(target, TensorValue(name, _tensor_type(type_, source), frame.scope))
    return fill("orchestration/transpose.cpp", name=name, tensor=source.text, first=first, second=second)


def dim(frame: Frame, target: str, type_: ir.Type | None, call: ir.Call) -> Lines:
    """`n = tensor.dim(x, axis)`: a run-time extent."""
    source = frame.tensor(call.args[0] if call.args else ir.Tuple(()), call.callee)
    rank = len(source.type.shape)
    axis = _constant(call.args[1]) if len(call.args) == 2 else None
    if axis is None or not -rank <= axis < rank:
        raise frame.refused("tensor-dim", f"tensor.dim takes a constant axis of its {rank}")
    name = frame.named(target)
    frame.bind(target, ScalarValue(name, ir.DType.INDEX, frame.scope))
    lines = fill("orchestration/dim.cpp", name=name, tensor=source.text, axis=str(axis % rank))
    if source.type.dtype in PACKED and axis % rank == rank - 1:
        lines += fill("orchestration/assign.cpp", name=name, value=f"{name} * 2")
    return lines


def assemble(frame: Frame, target: str, type_: ir.Type | None, call: ir.Call) -> Lines:
    """`y = tensor.assemble(destination, …)`: y is the destination."""
    if any(key == "atomic" and value != ir.Symbol("AtomicType.None_") for key, value in call.kwargs):
        raise frame.refused(
            "tensor-assemble", "an atomic tensor.assemble runs in a kernel", "move it into a kernel, and launch that"
        )
    frame.bind(target, frame.tensor(call.args[0] if call.args else ir.Tuple(()), call.callee))
    return []


# ---------------------------------------------------------------------------------------- elements


def read(frame: Frame, target: str, type_: ir.Type | None, call: ir.Call) -> Lines:
    """`k = tensor.read(x, [i, …])`: the host waits for the element."""
    source = frame.tensor(call.args[0] if call.args else ir.Tuple(()), call.callee)
    indices = _indices(frame, source, call)
    name = frame.named(target)
    frame.bind(target, ScalarValue(name, source.type.dtype, frame.scope))
    return fill(
        "orchestration/read.cpp",
        name=name,
        rank=str(len(indices)),
        indices=listed(frame, indices),
        type=c_type(frame, source.type.dtype),
        tensor=source.text,
    )


def write(frame: Frame, call: ir.Call) -> Lines:
    """`tensor.write(x, [i, …], value)`."""
    destination = frame.tensor(call.args[0] if call.args else ir.Tuple(()), call.callee)
    indices = _indices(frame, destination, call)
    if len(call.args) != 3:
        raise frame.refused("tensor-write", "tensor.write takes a tensor, indices and a value")
    return fill(
        "orchestration/write.cpp",
        rank=str(len(indices)),
        indices=listed(frame, indices),
        type=c_type(frame, destination.type.dtype),
        tensor=destination.text,
        value=cpp(frame, call.args[2]),
    )


def _indices(frame: Frame, tensor: TensorValue, call: ir.Call) -> tuple[ir.Expr, ...]:
    indices = _tuple(frame, call, 1, "indices")
    rank = len(tensor.type.shape)
    if len(indices) != rank:
        raise frame.refused("element-indices", f"{call.callee}: {len(indices)} indices into a tensor of rank {rank}")
    if tensor.type.dtype in PACKED:
        raise frame.refused("element-indices", f"{call.callee}: half a byte of a {tensor.type.dtype.value} tensor")
    return indices


# ------------------------------------------------------------------------------------------ common


def _tuple(frame: Frame, call: ir.Call, position: int, what: str) -> tuple[ir.Expr, ...]:
    value = call.args[position] if position < len(call.args) else None
    if not isinstance(value, ir.Tuple) or not value.items:
        raise frame.refused("operand-kind", f"{call.callee} takes its {what} as a list")
    return value.items


def _constant(expr: ir.Expr) -> int | None:
    if isinstance(expr, ir.Unary) and expr.op == "-" and isinstance(expr.operand, ir.Int):
        return -expr.operand.value
    return expr.value if isinstance(expr, ir.Int) else None


def _halved(frame: Frame, exprs: tuple[ir.Expr, ...], what: str) -> tuple[ir.Expr, ...]:
    """`exprs` with the last one in bytes: two elements each, so it must be even."""
    last = exprs[-1]
    if not _even(last):
        raise frame.refused(
            "packed-parity", f"the last {what} {expression_text(last)} of a 4-bit tensor is not known to be even"
        )
    half: ir.Expr = ir.Int(last.value // 2) if isinstance(last, ir.Int) else ir.Binary("//", last, ir.Int(2))
    return (*exprs[:-1], half)


def _even(expr: ir.Expr) -> bool:
    match expr:
        case ir.Int(value):
            return value % 2 == 0
        case ir.Binary(op="*"):
            return _even(expr.left) or _even(expr.right)
        case ir.Binary(op="+" | "-"):
            return _even(expr.left) and _even(expr.right)
    return False


def _tensor_type(type_: ir.Type | None, source: TensorValue) -> ir.TensorType:
    return type_ if isinstance(type_, ir.TensorType) else source.type


Maker = Callable[[Frame, str, "ir.Type | None", ir.Call], Lines]
MAKERS: dict[str, Maker] = {
    "tensor.slice": slice_,
    "tensor.reshape": reshape,
    "tensor.view": reshape,
    "tensor.transpose": transpose,
    "tensor.dim": dim,
    "tensor.assemble": assemble,
    "tensor.read": read,
}
