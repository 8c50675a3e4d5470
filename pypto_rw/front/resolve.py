"""Unified names: `pl.add(tile, 0.5)` is the op `tile.adds`. Which op a name means is a fact in the op's rule file."""

from __future__ import annotations

from itertools import takewhile

from pypto_rw import ir
from pypto_rw.front.asking import Asker
from pypto_rw.records import replace
from pypto_rw.rewriting.declared import FAMILIES, OPERAND_KINDS, Signature
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.shapes import FLOATS
from pypto_rw.shaping.values import Refused, kind_of
from pypto_rw.syntax.parts import float_


def resolved(call: ir.Call, asker: Asker, makers: dict[str, ir.Call]) -> ir.Call:
    """`call` under its op's full name, its arguments as the op takes them; `makers` are the calls that made variables.

    Raises Refused when no op has that name."""
    call = replace(call, callee=_op(call, asker))
    popped = asker.signature(call).trait("as-popped")
    if popped is not None and call.args and isinstance(call.args[0], ir.Name) and call.args[0].id in makers:
        given = {k for k, _ in call.kwargs}
        known = {p.name for p in asker.signature(call).parameters}
        maker = makers[call.args[0].id]
        for key, value in maker.kwargs:
            if key in given and dict(call.kwargs)[key] != value:
                raise Refused(
                    "popped-elsewhere",
                    f"{call.callee}: {key} must be that of the {maker.callee} that made {call.args[0].id}: "
                    f"{_shown(value)}; got {_shown(dict(call.kwargs)[key])}",
                    call.span,
                    f"leave {key} out",
                )
        missing = (kw for kw in maker.kwargs if kw[0] in known - given)
        call = replace(call, kwargs=(*call.kwargs, *missing))
    return _arguments(_without_stated(call, asker), asker.signature(call), asker)


def _without_stated(call: ir.Call, asker: Asker) -> ir.Call:
    """`call` without the keyword that only states the dtype of its result: `(stated-dtype op keyword)`."""
    trait = asker.signature(call).trait("stated-dtype")
    stated = dict(call.kwargs).get(trait[0]) if trait is not None else None
    if trait is None or not isinstance(stated, ir.Symbol):
        return call
    call = replace(call, kwargs=tuple(kw for kw in call.kwargs if kw[0] != trait[0]))
    found = asker.ask(call).type
    if isinstance(found, ir.TileType) and found.dtype.value != stated.path:
        raise Refused(
            "out-dtype",
            f"{call.callee}: {trait[0]} is {stated.path}, but the result has the dtype {found.dtype.value}",
            call.span,
            f"leave {trait[0]} out, and convert the result with pl.cast",
        )
    return call


def _shown(expr: ir.Expr) -> str:
    return str(expr.value) if isinstance(expr, ir.Int | ir.Str) else "a run-time value"


def full_name(callee: str, rulebook: Rulebook) -> str:
    """The op that a name means whatever its arguments are; the name itself where that depends on them."""
    if "." in callee:
        return callee
    known = (f"{family}.{callee}" for family in FAMILIES)
    return next((op for op in known if rulebook.op_file(op) is not None), callee)


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
        given = _with_named(call, op, kinds, asker) if call.kwargs else tuple(kinds)
        if given[: len(wanted)] == wanted:
            return op
    first = kinds[0] if kinds else "tile"
    for family in dict.fromkeys((first, *FAMILIES)):
        if family in FAMILIES and book.op_file(f"{family}.{call.callee}") is not None:
            return f"{family}.{call.callee}"
    from pypto_rw.front.unknown import unknown  # only a refusal needs it

    raise unknown(call, kinds, asker)


def _with_named(call: ir.Call, op: str, kinds: list[str], asker: Asker) -> tuple[str, ...]:
    """Kinds of the leading operands of `op`, those that are written by keyword among them."""
    signature, given = asker.engine.rulebook.signature(op), dict(call.kwargs)
    behind = signature.usage.positional[len(kinds) :] if signature is not None else ()
    named = takewhile(lambda p: p.name in given and p.kind in OPERAND_KINDS, behind)
    return (*kinds, *(kind(given[p.name], asker) for p in named))


def _arguments(call: ir.Call, signature: Signature, asker: Asker) -> ir.Call:
    """The arguments as the op takes them: codes for their names, constants in the dtype that the signature names."""
    trailing = (signature.trait("trailing") or ("",))[0]
    if any(k == trailing for k, _ in call.kwargs):
        last = next(a for k, a in call.kwargs if k == trailing)
        call = replace(call, args=(*call.args, last), kwargs=tuple(a for a in call.kwargs if a[0] != trailing))
    codes = {t[1:3]: int(t[3]) for t in signature.traits if t[0] == "code-name"}
    stamped = signature.trait("stamped") or ("", "")
    written = {t[1]: ir.DType[t[2]] for t in signature.traits if t[0] == "written-as"}
    arguments = bind(call, signature)
    new: dict[int, ir.Expr] = {}
    for p in signature.parameters:
        expr = arguments.get(p.name)
        if isinstance(expr, ir.Str | ir.Symbol):
            word = expr.value if isinstance(expr, ir.Str) else expr.path.rsplit(".", 1)[-1]
            if (p.name, word) in codes:
                new[id(expr)] = ir.Int(codes[p.name, word])
        elif isinstance(expr, ir.Int | ir.Float) and p.name == stamped[0]:
            dtype = asker.shaper.like(p, signature, arguments)
            new[id(expr)] = _stamped(expr, dtype, call) if dtype is not None else expr
        elif isinstance(expr, ir.Int) and expr.dtype is ir.DType.INDEX and p.name in written:
            new[id(expr)] = replace(expr, dtype=written[p.name])
        elif isinstance(expr, ir.Int) and expr.dtype is ir.DType.INDEX and p.like is not None:
            new[id(expr)] = asker.shaper.adopted(expr, p, signature, arguments)
    if not new:
        return call
    return replace(
        call,
        args=tuple(new.get(id(a), a) for a in call.args),
        kwargs=tuple((k, new.get(id(a), a)) for k, a in call.kwargs),
    )


def _stamped(constant: ir.Int | ir.Float, dtype: ir.DType, call: ir.Call) -> ir.Expr:
    """A constant in the dtype, a value of an unsigned dtype as the signed one of the same bits."""
    if dtype in FLOATS:
        return float_(float(constant.value), dtype)
    value = int(constant.value)
    if value != constant.value:
        raise Refused(
            "scalar-value", f"{call.callee}: {constant.value} is no {dtype.value}", call.span, "write an integer"
        )
    if dtype.value.startswith("UINT"):
        bits = int(dtype.value[4:])
        value = (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
        dtype = ir.DType[dtype.value[1:]]
    return ir.Int(value, dtype)
