"""What a statement may ask about its function and its unit (one module): attributes, parameters, pipe regions.

Source: cross-core.md §1, §2.1."""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.records import dataclass, field

COMM_CTX = ir.OpaqueType("pld.CommCtxType")
HIDDEN = {
    "prefetch": "(Ptr (INT8))",
    "__pypto_deferred_raw_args": "(Ptr (INT64))",
    "__pypto_spmd_block_idx": "(Scalar (INT32))",
    "__pypto_spmd_block_num": "(Scalar (INT32))",
    "__pypto_spmd_subblock_idx": "(Scalar (INT32))",
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The function a statement is in, and the byte offset of each pipe's region in the unit's slot buffer.

    `clashes`: pipes that two places declare differently."""

    function: ir.Function
    regions: dict[tuple[int, int], int] = field(default_factory=dict)
    clashes: dict[tuple[int, int], str] = field(default_factory=dict)

    def attribute(self, name: str) -> str:
        """A function attribute as a word, "" when absent; `function_type` is the function's kind."""
        if name == "function_type":
            return self.function.kind or "Opaque"
        value = dict(self.function.attrs).get(name)
        if isinstance(value, ir.Bool | ir.Int | ir.Str):
            return str(value.value)
        return value.path.rsplit(".", 1)[-1] if isinstance(value, ir.Symbol) else ""

    def parameter(self, name: str) -> ir.Param | None:
        """The function's parameter of that name."""
        return next((p for p in self.function.params if p.name == name), None)


def windows_and_contexts(function: ir.Function) -> tuple[list[str], list[str]]:
    """Names of the window parameters and of the communication contexts, each in declaration order."""
    windows = [p.name for p in function.params if isinstance(p.type, ir.TensorType) and p.type.distributed]
    contexts = [p.name for p in function.params if p.type == COMM_CTX]
    return windows, contexts


def contexts_of(function: ir.Function) -> dict[str, str]:
    """Window parameters, each with its communication context: the i-th of both are a pair."""
    windows, contexts = windows_and_contexts(function)
    return dict(zip(windows, contexts, strict=False))


def pipe_key(call: ir.Call) -> tuple[int, int] | None:
    """(id or 0, dir_mask) of a pipe's set-up; None without constant keywords."""
    kwargs = dict(call.kwargs)
    mask, number = kwargs.get("dir_mask"), kwargs.get("id", ir.Int(0))
    if isinstance(mask, ir.Int) and isinstance(number, ir.Int):
        return number.value, mask.value
    return None


def _pipe_sizes(
    functions: tuple[ir.Function, ...], sets_up: frozenset[str]
) -> tuple[dict[tuple[int, int], tuple[int, int]], dict[tuple[int, int], str]]:
    """Slot size and number of slots of every pipe, and the pipes declared with different sizes in two places."""
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    clashes: dict[tuple[int, int], str] = {}
    for function in functions:
        for stmt in ir.statements(function.body):
            value = ir.called(stmt)
            if value is None or value.callee not in sets_up:
                continue
            key, kwargs = pipe_key(value), dict(value.kwargs)
            size, slots = kwargs.get("slot_size"), kwargs.get("slot_num")
            if key is None or not isinstance(size, ir.Int):
                continue
            count = slots.value if isinstance(slots, ir.Int) else (4 if key[1] == 3 else 8)
            known = sizes.setdefault(key, (size.value, count))
            if known != (size.value, count):
                clashes[key] = (
                    f"the pipe id {key[0]}, dir_mask {key[1]} has {known[1]} slots of {known[0]} bytes in one place "
                    f"and {count} slots of {size.value} bytes in {function.name}"
                )
    return sizes, clashes


def _region_bytes(key: tuple[int, int], size: int, slots: int) -> int:
    """Bytes of one pipe's region: two rings for a pipe that goes both ways."""
    return (2 if key[1] == 3 else 1) * slots * size


def pipe_regions(
    functions: tuple[ir.Function, ...], sets_up: frozenset[str]
) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], str]]:
    """Byte offset of every pipe's region, and the pipes declared with different sizes in two places."""
    sizes, clashes = _pipe_sizes(functions, sets_up)
    offset = 0
    regions = {}
    for key in sorted(sizes):
        regions[key] = offset
        offset += _region_bytes(key, *sizes[key])
    return regions, clashes


def workspace_bytes(functions: tuple[ir.Function, ...]) -> int:
    """Bytes of global memory that the regions of all pipes of `functions` take together."""
    sizes, _ = _pipe_sizes(functions, _SETS_UP)
    return sum(_region_bytes(key, *size) for key, size in sizes.items())


_SETS_UP = frozenset({"system.aic_initialize_pipe", "system.aiv_initialize_pipe"})


def surroundings_in(unit: tuple[ir.Function, ...]) -> Callable[[ir.Function], Surroundings]:
    """What each function can see, as a member of the unit, which is looked through once."""
    regions, clashes = pipe_regions(unit, _SETS_UP)
    return lambda function: Surroundings(function, regions, clashes)
