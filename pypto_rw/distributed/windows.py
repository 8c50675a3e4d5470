"""Windows: what a distributed tensor must be where an op, a branch or a loop takes one.

A window is this rank's part of a buffer that lies at the same place on every rank. It is a parameter, paired by order
with a communication context, or another name of one: a view, an alias, a loop-carried or merged name. Source:
distributed.md §1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.rewriting.declared import Signature
from pypto_rw.shaping.unit import windows_and_contexts
from pypto_rw.shaping.values import Refused, Value

WINDOW_KINDS = frozenset({"window", "window-parameter"})


def require_contexts(function: ir.Function) -> None:
    """Every window parameter has a communication context. Refused: the counts differ."""
    windows, contexts = windows_and_contexts(function)
    if len(windows) != len(contexts):
        raise Refused(
            "context-count",
            f"{function.name} has {len(windows)} window parameter{'s' * (len(windows) != 1)}, but {len(contexts)} "
            f"communication context{'s' * (len(contexts) != 1)}; the i-th of the one belongs to the i-th of the other",
            function.span,
            "give every pld.DistributedTensor parameter its own pld.CommCtxType parameter, at the end and in order",
        )


def require_windows(
    call: ir.Call,
    signature: Signature,
    arguments: Mapping[str, ir.Expr],
    lookup: Callable[[str], Value | None],
    contexts: Mapping[str, str],
) -> None:
    """The window operands of a call are windows with a context."""
    for p in signature.parameters:
        name = arguments.get(p.name)
        if p.kind not in WINDOW_KINDS or not isinstance(name, ir.Name):
            continue
        found = lookup(name.id)
        if found is None or not isinstance(found.type, ir.TensorType):
            continue  # the wrong kind of operand is reported with all others
        if not found.type.distributed:
            raise Refused(
                "not-a-window",
                f"{call.callee}: {p.name} must be a window, but {name.id} is {type_text(found.type)}",
                call.span,
                "only a window has a copy on every rank: make it a parameter of type pld.DistributedTensor",
            )
        if found.root is None:
            continue  # what it was to be has been refused already
        if found.root not in contexts:
            raise Refused(
                "no-context",
                f"{call.callee}: the window {name.id} has no communication context; none was found in the function "
                "signature",
                call.span,
                "a window is a pld.DistributedTensor parameter, or a view or another name of one",
            )
        if p.kind == "window-parameter" and found.root != name.id:
            raise Refused(
                "not-the-parameter",
                f"{call.callee}: {p.name} must be the window parameter itself, but {name.id} is a tensor.slice, a "
                f"tensor.view or another name of {found.root}",
                call.span,
                f"name {found.root}, and count in its elements",
            )


def require_one_window(name: str, first: Value, second: Value, where: str, span: Span) -> None:
    """A merged or carried window is one window on every path; `where` says which two paths meet."""
    if any(isinstance(v.type, ir.TensorType) and v.type.distributed for v in (first, second)):
        raise Refused(
            "two-windows",
            f"{name} would be the window {first.root} or the window {second.root}: {where}, and a window's context is "
            "known when the kernel is compiled",
            span,
            "do the remote accesses inside the branches",
        )


def type_text(t: ir.TensorType) -> str:
    """A tensor type for a message: `pl.Tensor[[16, n], pl.FP32]`."""
    dims = ", ".join(
        str(e.value) if isinstance(e, ir.Int) else e.id if isinstance(e, ir.Name) else "?" for e in t.shape
    )
    return f"{'pld.DistributedTensor' if t.distributed else 'pl.Tensor'}[[{dims}], pl.{t.dtype.value}]"


# ------------------------------------------------------------------------------------------------ marks
# Remote ranks see what this one wrote, and it sees what they wrote, only through global memory: after a store the
# cached lines are dropped and a fence orders it before what follows; after a wait all cached lines are dropped.


def marks(call: ir.Call, signature: Signature | None, lookup: Callable[[str], Value | None]) -> Iterator[ir.Call]:
    """The cache and fence calls that must follow `call`: `(publishes op operand)`, `(orders op)`, `(refreshes op)`."""
    if signature is None:
        return
    if trait := signature.trait("publishes"):
        positional = [p.name for p in signature.parameters]
        at = positional.index(trait[0])
        target = call.args[at] if at < len(call.args) else dict(call.kwargs).get(trait[0])
        found = lookup(target.id) if isinstance(target, ir.Name) else None
        if found is not None and isinstance(found.type, ir.TensorType) and found.type.distributed:
            shape = found.type.shape
            yield ir.Call(
                "system.cacheinvalid",
                (target, ir.Tuple(shape), ir.Tuple(tuple(ir.Int(0) for _ in shape))),  # type: ignore[arg-type]
                span=call.span,
            )
            yield ir.Call("system.fence", span=call.span)
    if signature.trait("orders") is not None:
        yield ir.Call("system.fence", span=call.span)
    if signature.trait("refreshes") is not None:
        yield ir.Call("system.cacheinvalid", span=call.span)
