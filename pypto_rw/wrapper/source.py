"""One kernel source: headers, the assembler's C++, and the entry that unpacks the runtime's arguments.

Source: kernel-wrapper.md §5, §6; newer-rules.md §9.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import dataclass
from pypto_rw.wrapper.ctypes import C_TYPE
from pypto_rw.wrapper.endpoints import LANE, Unreadable, pass_lane
from pypto_rw.wrapper.names import Names, Unfit
from pypto_rw.wrapper.preprocess import preprocess
from pypto_rw.wrapper.signature import Uses, extents, others_of, tensors_of, uses_of
from pypto_rw.wrapper.templates import Lines, fill, fill_line, text
from pypto_rw.wrapper.units import Rejected, Unit, attribute

_PIPE_BUFFER = "__gm_pipe_buffer"
_HIDDEN = """
__pypto_spmd_block_idx __pypto_spmd_block_num __pypto_spmd_subblock_idx __pypto_sdma_workspace __pypto_lane
__pypto_gm_block_num __pypto_gm_total_elems __pypto_gm_elems_per_block __pypto_gm_block_offset
"""
_LOCALS = frozenset(_HIDDEN.split())


@dataclass(frozen=True, slots=True)
class Assembled:
    """The assembler's C++ of a unit, ready for its wrappers; `lanes` names the functions with a private lane."""

    body: str
    lanes: frozenset[str]


def is_split(function: ir.Function) -> bool:
    """Whether the function's tiles are halved between the two vector cores."""
    return attribute(function, "split") not in ("", "NONE", "0")


def assembled(unit: Unit, cpp: str, *, reference: bool) -> Assembled:
    """`cpp` of the assembler for `unit`. Raises Rejected for text that cannot be read."""
    body = preprocess(cpp)
    if reference:
        return Assembled(body, frozenset())
    try:
        body, private = pass_lane(body, {f.name: uses_of(f).subblock for f in unit.printed if f.kind == "AIV"})
    except Unreadable as problem:
        message = f"{unit.name}: the assembler's C++ cannot be read: {problem}"
        raise Rejected(Diagnostic("assembler-output", message, function=unit.name)) from None
    return Assembled(body, frozenset(private))


def kernel_source(
    function: ir.Function, unit: Unit, code: Assembled, *, target: str, reference: bool, filename: str
) -> str:
    """The source of `function`, a member of `unit`. Raises Rejected for a parameter or an extent it cannot unpack."""
    uses = uses_of(function)
    shares_blocks = uses.block or any(uses_of(m).block for m in unit.members)
    has_lane = function.name in code.lanes
    lane, setup = _lane(function, uses, target, reference)
    includes = fill("kernel/deferred_include.cpp") if uses.deferred else []
    if shares_blocks or uses.subblock or uses.sdma or has_lane:
        includes = [*includes, *fill("kernel/intrinsic_include.cpp")]
    try:
        unpacking, arguments = _unpack(function, shares_blocks, filename)
    except Unfit as unfit:
        where = Diagnostic("unfit-name", str(unfit), function.span, "rename it", filename=filename)
        raise Rejected(where) from None
    entry = list(setup)
    if shares_blocks:
        entry += fill("kernel/block_ids.cpp")
    if uses.subblock:
        entry += fill("kernel/subblock_id.cpp")
    if has_lane:
        entry += fill("kernel/lane_id.cpp")
    entry += unpacking
    if uses.sdma:
        entry += fill("kernel/sdma_workspace.cpp")
    arguments += ["args"] * uses.deferred + ["__pypto_sdma_workspace"] * uses.sdma
    arguments += ["__pypto_spmd_block_idx", "__pypto_spmd_block_num"] * uses.block
    arguments += ["__pypto_spmd_subblock_idx"] * uses.subblock + [LANE] * has_lane
    entry += fill("kernel/call.cpp", name=function.name, arguments=", ".join(arguments))
    return text(
        fill(
            "kernel/source.cpp",
            name=function.name,
            lane=lane,
            includes=includes,
            adapter=fill("kernel/deferred_adapter.cpp") if uses.deferred else [],
            body=code.body.split("\n"),
            entry=entry,
        )
    )


def _lane(function: ir.Function, uses: Uses, target: str, reference: bool) -> tuple[Lines, Lines]:
    """How the library learns which vector core it is on, and what the entry sets up for it.

    A split function's endpoints take the lane as an argument instead (newer-rules.md §9), except as reference."""
    if function.kind != "AIV" or (is_split(function) and not reference):
        return [], []
    if is_split(function) and function.name.endswith("__aiv1"):
        return fill("kernel/lane_fixed.cpp"), []
    both = is_split(function) or attribute(function, "dual_aiv_dispatch") == "True"
    if target == "a2a3" and both and uses.subblock:
        return fill("kernel/lane_runtime.cpp"), fill("kernel/lane_setup.cpp")
    return [], []


def _unpack(function: ir.Function, shares_blocks: bool, filename: str) -> tuple[Lines, list[str]]:
    """Lines that make a C++ variable of every argument, and the variables in the order of the call."""
    names = Names(_LOCALS | {function.name})
    lines: Lines = []
    arguments: list[str] = []
    tensor_names: list[str] = []
    for index, (param, type_) in enumerate(tensors_of(function)):
        name = names.take(param.name, also=("_tensor", "_conv"))
        tensor_names.append(name)
        shared = param.name == _PIPE_BUFFER and shares_blocks
        form = "kernel/pipe_share.cpp" if shared else "kernel/tensor.cpp"
        lines += fill(form, name=name, index=str(index), type=_c_type(type_.dtype, param, function, filename))
    for index, param in enumerate(others_of(function), len(tensor_names)):
        name = names.take(param.name, also=("_tensor", "_conv"))
        match param.type:
            case ir.ScalarType(dtype):
                c_type = _c_type(dtype, param, function, filename)
                lines += fill("kernel/scalar.cpp", name=name, index=str(index), type=c_type)
            case ir.OpaqueType("pld.CommCtxType"):
                lines += fill("kernel/context.cpp", name=name, index=str(index))
            case _:
                raise Rejected(_no_argument(param, function, filename))
        arguments.append(name)

    def extent(tensor: int, axis: int) -> str:
        return fill_line("kernel/extent.cpp", tensor=tensor_names[tensor], axis=str(axis))

    dims = []
    for symbol, value in extents(function, extent, filename).items():
        dims.append(names.take(symbol))
        lines += fill("kernel/dimension.cpp", name=dims[-1], value=value)
    return lines, [*tensor_names, *arguments, *dims]


def _c_type(dtype: ir.DType, param: ir.Param, function: ir.Function, filename: str) -> str:
    if dtype not in C_TYPE:
        raise Rejected(_no_argument(param, function, filename))
    return C_TYPE[dtype]


_KIND = {ir.TileType: "a tile", ir.ArrayType: "an array", ir.TupleType: "a tuple", ir.ScalarType: "a scalar"}


def _no_argument(param: ir.Param, function: ir.Function, filename: str) -> Diagnostic:
    dtype = getattr(param.type, "dtype", None)
    found = _KIND.get(type(param.type), "a tensor") + (f" of {dtype.value}" if dtype is not None else "")
    if isinstance(param.type, ir.OpaqueType):
        found = f"of type {param.type.name}"
    return Diagnostic(
        "kernel-parameter",
        f"{param.name} of {function.name} is {found}; the runtime passes tensors, scalars and communication contexts",
        param.span,
        "pass a tensor, and make the value in the kernel",
        filename=filename,
        function=function.name,
    )
