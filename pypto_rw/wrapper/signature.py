"""What a kernel takes: its parameters in payload order, hidden ones, and run-time extents recovered from shapes.

The order is that of the `.pto` signature: tensors, other parameters, dimension symbols, hidden arguments.
Sources: kernel-wrapper.md §5.2-§5.4, control-and-scalars.md §1.1.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import dataclass
from pypto_rw.scalars import names_in
from pypto_rw.syntax import expression_text
from pypto_rw.wrapper.ctypes import PACKED
from pypto_rw.wrapper.units import Rejected, calls

_BLOCK_OPS = frozenset({"tile.get_block_idx", "tile.get_block_num"})
RECOVERABLE = "'var', var + const_int, var - const_int, const_int - var, var * const_int, var // const_int"


@dataclass(frozen=True, slots=True)
class Uses:
    """Hidden arguments that a function's body asks for."""

    block: bool
    subblock: bool
    sdma: bool
    deferred: bool


def uses_of(function: ir.Function) -> Uses:
    """Hidden arguments of `function`, nested regions included."""
    ops = {c.callee for c in calls(function.body)}
    return Uses(
        bool(ops & _BLOCK_OPS),
        "tile.get_subblock_idx" in ops,
        "prefetch.make_context" in ops,
        "pld.system.defer_wait" in ops,
    )


def tensors_of(function: ir.Function) -> list[tuple[ir.Param, ir.TensorType]]:
    """Tensor parameters, declaration order."""
    return [(p, p.type) for p in function.params if isinstance(p.type, ir.TensorType)]


def others_of(function: ir.Function) -> list[ir.Param]:
    """Parameters that are no tensors, declaration order."""
    return [p for p in function.params if not isinstance(p.type, ir.TensorType)]


def extents(
    function: ir.Function, shape_of: Callable[[int, int], str], filename: str, wanted: set[str] | None = None
) -> dict[str, str]:
    """C++ value of every dimension symbol (or of the `wanted`), in first-seen order over tensors, then axes.

    `shape_of(tensor, axis)` spells a run-time extent; a packed tensor's last extent counts bytes and is doubled.
    Raises Rejected for a symbol that no extent determines."""
    tensors = tensors_of(function)
    symbols: dict[str, list[tuple[int, int]]] = {}
    for t, (_, type_) in enumerate(tensors):
        for axis, dim in enumerate(type_.shape):
            for name in names_in((dim,)):
                symbols.setdefault(name, []).append((t, axis))
    values: dict[str, str] = {}
    for name, places in symbols.items():
        if wanted is not None and name not in wanted:
            continue
        for t, axis in places:
            type_ = tensors[t][1]
            known = shape_of(t, axis)
            if type_.dtype in PACKED and axis == len(type_.shape) - 1:
                known = f"({known} * 2)"
            if (value := _solved(type_.shape[axis], known)) is not None:
                values[name] = value
                break
        else:
            t, axis = places[0]
            param, type_ = tensors[t]
            message = (
                f"the extent '{name}' cannot be recovered: {param.name}.shapes[{axis}] is "
                f"{expression_text(type_.shape[axis])}; recoverable are {RECOVERABLE}"
            )
            help = f"give {name} a tensor dimension of its own, or pass it as a scalar"
            raise Rejected(
                Diagnostic(
                    "extent-not-invertible", message, param.span, help, filename=filename, function=function.name
                )
            )
    return values


def _solved(dim: ir.Expr, known: str) -> str | None:
    """The value of the only variable of `dim`, where `dim` has the value `known`; None where that is not affine."""
    match dim:
        case ir.Name():
            return known
        case (
            ir.Binary(op="+", left=ir.Name(), right=ir.Int(value=c))
            | ir.Binary(op="+", left=ir.Int(value=c), right=ir.Name())
        ):
            return f"({known} - {c})"
        case ir.Binary(op="-", left=ir.Name(), right=ir.Int(value=c)):
            return f"({known} + {c})"
        case ir.Binary(op="-", left=ir.Int(value=c), right=ir.Name()):
            return f"({c} - {known})"
        case (
            ir.Binary(op="*", left=ir.Name(), right=ir.Int(value=c))
            | ir.Binary(op="*", left=ir.Int(value=c), right=ir.Name())
        ) if c != 0:
            return f"({known} / {c})"
        case ir.Binary(op="//", left=ir.Name(), right=ir.Int(value=c)) if c != 0:
            return f"({known} * {c})"
    return None
