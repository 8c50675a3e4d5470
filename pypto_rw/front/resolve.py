"""Unified names: `pl.add(tile, 0.5)` is the op `tile.adds`. Which op a name means is a fact in the op's rule file."""

from __future__ import annotations

from dataclasses import replace

from pypto_rw import ir
from pypto_rw.front.asking import Asker
from pypto_rw.rulebook import Signature
from pypto_rw.shapes import FLOATS, Refused, bind, kind_of

_FAMILIES = ("tile", "tensor", "array", "system", "prefetch")


def resolved(call: ir.Call, asker: Asker) -> ir.Call:
    """`call` under its op's full name, bare integer constants in the dtype that the op asks for.

    Raises Refused when no op has that name."""
    call = replace(call, callee=_op(call, asker))
    return _adopted(call, asker.signature(call), asker)


def kind(expr: ir.Expr, asker: Asker) -> str:
    """`tile`, `tensor`, `array`, `other` for a variable of that type, `list` for `[…]`, else `scalar`."""
    if isinstance(expr, ir.Tuple):
        return "list"
    found = asker.values.get(expr.id) if isinstance(expr, ir.Name) else None
    return kind_of(found.type) if found is not None else "scalar"


def _op(call: ir.Call, asker: Asker) -> str:
    if "." in call.callee:
        return call.callee
    kinds = [kind(a, asker) for a in call.args]
    book = asker.engine.rulebook
    for op, wanted in book.surfaces.get(call.callee, ()):
        if tuple(kinds[: len(wanted)]) == wanted:
            return op
    first = kinds[0] if kinds else "tile"
    for family in dict.fromkeys((first, *_FAMILIES)):
        if family in _FAMILIES and book.op_file(f"{family}.{call.callee}") is not None:
            return f"{family}.{call.callee}"
    if "tensor" in kinds:
        raise Refused(
            "tensor-level",
            f"pl.{call.callee} of a tensor needs the tensor-level pipeline, which this compiler does not have",
            call.span,
            "load the tensor into a tile first (pl.load), and store the result (pl.store)",
        )
    near = ", ".join(book.nearest(f"tile.{call.callee}"))
    raise Refused(
        "unknown-op", f"there is no operation pl.{call.callee}", call.span, f"the nearest ops are {near}" if near else ""
    )


def _adopted(call: ir.Call, signature: Signature, asker: Asker) -> ir.Call:
    """A bare integer takes the dtype of the operand (or the dtype) that the op's signature names."""
    arguments = bind(call, signature)
    new: dict[int, ir.Expr] = {}
    for p in signature.parameters:
        expr = arguments.get(p.name)
        if p.like is None or not isinstance(expr, ir.Int) or expr.dtype is not ir.DType.INDEX:
            continue
        dtype = _dtype(p.like, arguments.get(p.like), asker)
        if dtype is not None:
            new[id(expr)] = (
                ir.Float(float(expr.value), dtype) if dtype in FLOATS else ir.Int(expr.value, dtype)
            )
    if not new:
        return call
    return replace(
        call,
        args=tuple(new.get(id(a), a) for a in call.args),
        kwargs=tuple((k, new.get(id(a), a)) for k, a in call.kwargs),
    )


def _dtype(like: str, argument: ir.Expr | None, asker: Asker) -> ir.DType | None:
    if like in ir.DType.__members__:
        return ir.DType[like]
    if isinstance(argument, ir.Symbol):
        last = argument.path.rsplit(".", 1)[-1]
        return ir.DType[last] if last in ir.DType.__members__ else None
    found = asker.values.get(argument.id) if isinstance(argument, ir.Name) else None
    return getattr(found.type, "dtype", None) if found is not None else None
