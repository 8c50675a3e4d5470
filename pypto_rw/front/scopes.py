"""Kernels written as scopes of a host function: each scope becomes a function of its own.

    @pl.function                                   @pl.function(type=pl.FunctionType.InCore)
    def f(self, a: …, b: Out[…]):                  def f_incore_0(a: …, b: Out[…]):
        with pl.at(level=pl.Level.CORE_GROUP):  =>     b[:] = pl.exp(a)
            b[:] = pl.exp(a)

`for i in pl.spmd(n)` is such a scope whose variable is the block's index. control-and-scalars.md §5, cross-core.md §6.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.front.names import assigned, reads
from pypto_rw.records import replace
from pypto_rw.shaping.values import Refused


def outlined(function: ir.Function) -> list[ir.Function]:
    """The kernels of a host function, in order. Raises Refused for a scope that is more than a plain kernel."""
    kernels: list[ir.Function] = []
    for stmt in function.body:
        match stmt:
            case ir.Scope():
                kernels.append(_kernel(function, stmt, len(kernels)))
            case ir.Return():
                continue
            case _:
                raise _refused("a statement beside the scopes", stmt.span)
    return kernels


def _kernel(function: ir.Function, scope: ir.Scope, number: int) -> ir.Function:
    call, keywords = scope.call, dict(scope.call.kwargs)
    plain = call.callee == "at" and keywords.get("level") == ir.Symbol("Level.CORE_GROUP") and not scope.loop
    spmd = call.callee == "spmd" and scope.loop
    extra = next((k for k in keywords if k not in ("level", "name_hint", "sync_start")), None)
    if not (plain or spmd) or extra is not None:
        raise _refused(f"pl.{call.callee}" + (f" with {extra}" if extra else ""), call.span)
    hint = keywords.get("name_hint")
    name = hint.value if isinstance(hint, ir.Str) else f"{function.name}_incore_{number}"
    body = scope.body
    if spmd and scope.name is not None:
        index = ir.Assign((scope.name,), ir.ScalarType(ir.DType.INDEX), ir.Call("tile.get_block_idx"), call.span)
        body = (index, *body)
    used = list(dict.fromkeys([*reads(body), *assigned(body)]))  # parameters come in the order of their first use
    params = tuple(sorted((p for p in function.params if p.name in used), key=lambda p: used.index(p.name)))
    return replace(function, name=name, params=params, body=body, kind="InCore", returns=None, options=())


def _refused(what: str, span: Span) -> Refused:
    return Refused(
        "scope",
        f"{what} needs the tensor-level pipeline, which this compiler does not have",
        span,
        "write the kernel as a function of type InCore",
    )
