"""Arguments of a call by parameter, and the terms of those that are no operands."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_rw import ir
from pypto_rw.rewriting.declared import SORTS, Parameter, Signature
from pypto_rw.shaping import terms
from pypto_rw.shaping.values import Refused

NONE_TERMS = {
    "Operand": "(none)",
    "Operands": "(vec-empty)",
    "Extents": "(vec-empty)",
    "Extent": "(open)",
    "Dtype": "(no-dtype)",
    "Space": "(no-space)",
    "Layout": "(no-layout)",
    "TensorLayout": "(no-tensor-layout)",
    "Pad": "(no-pad)",
    "bool": "false",
    "i64": "-1",
    "String": '""',
}
# kinds of parameters that are a member of an enumeration: the members, and what else is told to be one
_MEMBERS = {
    "dtype": (ir.DType.__members__, "a dtype such as pl.FP32"),
    "space": (ir.Space.__members__, "a memory space such as pl.Mem.Vec"),
    "layout": (ir.TileLayout.__members__, "a tile layout such as pl.TileLayout.row_major"),
    "tensor-layout": (ir.TensorLayout.__members__, "a tensor layout such as pl.TensorLayout.DN"),
}
_CODED = {
    "AtomicType.None_": 0,
    "AtomicType.Add": 1,
    "NotifyOp.AtomicAdd": 0,
    "NotifyOp.Set": 1,
    "WaitCmp.Eq": 0,
    "WaitCmp.Ge": 1,
}


def bind(call: ir.Call, signature: Signature) -> dict[str, ir.Expr]:
    """Arguments by parameter name. Refused: too many, unknown, repeated or missing ones."""
    usage = signature.usage
    positional, names = usage.positional, usage.names
    if len(call.args) > len(positional):
        most = len(positional)
        raise Refused(
            "operand-count",
            f"{call.callee} takes at most {most} operand{'s' * (most != 1)}; got {len(call.args)}",
            call.span,
            _takes(signature),
        )
    bound = _in_order(positional, call.args)
    for name, value in call.kwargs:
        if name not in names:
            raise Refused("unknown-keyword", f"{call.callee} has no keyword {name}", call.span, _takes(signature))
        if name in bound:
            raise Refused("repeated-argument", f"{call.callee}: {name} is given twice", call.span)
        bound[name] = value
    for p in usage.required:
        if p.name not in bound:
            raise Refused(
                "operand-count", f"{call.callee} needs {p.name}", call.span, scratch_help(p) or _takes(signature)
            )
    return bound


def scratch_help(p: Parameter) -> str:
    """How to make the operand, where it is a tile that an op only computes in."""
    if p.kind != "tile" or not p.name.startswith("tmp"):
        return ""
    return (
        "make a tile for it to compute in, of the shape and dtype of the operand: "
        f"{p.name} = pl.create_tile([16, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)"
    )


def _takes(signature: Signature) -> str:
    """What an op takes, for a message."""
    return f"it takes {', '.join(p.name for p in signature.parameters if p.written) or 'nothing'}"


def _in_order(positional: Sequence[Parameter], args: tuple[ir.Expr, ...]) -> dict[str, ir.Expr]:
    """Positional arguments by name; a list passes by an optional operand that cannot be one."""
    bound: dict[str, ir.Expr] = {}
    names = iter(positional)
    for a in args:
        p = next(names, None)
        while p is not None and isinstance(a, ir.Tuple) and p.default == "none" and p.kind == "tile":
            p = next(names, None)
        if p is not None:
            bound[p.name] = a
    return bound


def default_term(p: Parameter) -> str:
    """The term of a parameter that is left out."""
    assert p.default is not None
    sort = SORTS[p.kind]
    if sort == "bool":
        return p.default.lower()
    if sort == "i64":
        return p.default if p.default.lstrip("-").isdigit() else NONE_TERMS[sort]
    if sort == "String":
        return terms.string(p.default if p.default != "none" else "")
    if sort in ("Operand", "Operands", "Extents", "Extent") or p.default == "none":
        return NONE_TERMS[sort]
    return f"({'pad-' if sort == 'Pad' and not p.default.endswith('-pad') else ''}{p.default})"


def attribute_term(p: Parameter, expr: ir.Expr, call: ir.Call) -> str:
    """The term of an argument that is no operand. Refused: one that is not of the parameter's kind."""

    def wrong(what: str) -> Refused:
        return Refused("attribute-value", f"{call.callee}: {p.name} must be {what}", call.span)

    last = expr.path.rsplit(".", 1)[-1] if isinstance(expr, ir.Symbol) else None
    if p.kind in _MEMBERS:
        members, what = _MEMBERS[p.kind]
        if last is None or last not in members:
            raise wrong(what)
        return f"({last})"
    match p.kind:
        case "pad":
            if last is not None and last in ir.Pad.__members__:
                return f"(pad-{last})"
            if isinstance(expr, ir.Int) and expr.value == 0:
                return "(pad-zero)"
            if isinstance(expr, ir.Float) and expr.value in (float("inf"), float("-inf")):
                return "(pad-max)" if expr.value > 0 else "(pad-min)"
            if isinstance(expr, ir.Float) and expr.value == 0:
                return "(pad-zero)"
            raise wrong("a pad value such as pl.PadValue.zero")
        case "flag":
            if not isinstance(expr, ir.Bool):
                raise wrong("True or False")
            return "true" if expr.value else "false"
        case "int" if isinstance(expr, ir.Symbol) and expr.path.removeprefix("pld.") in _CODED:
            return str(_CODED[expr.path.removeprefix("pld.")])
        case "int":
            if not isinstance(expr, ir.Int):
                raise wrong("an integer constant")
            return str(expr.value)
        case "identifier":
            text = expr.value if isinstance(expr, ir.Str) else None
            if text is None:
                raise wrong("a name in quotes")
            if not text:
                raise Refused("attribute-value", f"{call.callee}: {p.name} must not be empty", call.span)
            odd = next((c for c in text if not (c.isascii() and (c.isalnum() or c == "_"))), None)
            if odd is not None:
                raise Refused(
                    "attribute-value",
                    f"{call.callee}: {p.name} may contain only letters, digits and underscore; found {odd!r}",
                    call.span,
                )
            return terms.string(text)
        case "word":
            if isinstance(expr, ir.Str):
                return terms.string(expr.value)
            if isinstance(expr, ir.Int):
                return terms.string(str(expr.value))
            if last is not None:
                return terms.string(last)
            raise wrong("a word in quotes")
    raise wrong("something else")
