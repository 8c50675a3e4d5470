"""Op terms that a legalization made, as calls: the inverse of what `shapes.Shaper` does for the term's op."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import InternalError
from pypto_rw.rewriting.declared import CONTEXT_KINDS, OPERAND_KINDS, Parameter, Signature
from pypto_rw.rewriting.engine import Term
from pypto_rw.shaping.typing import expression
from pypto_rw.syntax.parts import float_

_SYMBOLS = {
    "dtype": ("", "no-dtype"),
    "space": ("Mem.", "no-space"),
    "layout": ("TileLayout.", "no-layout"),
    "tensor-layout": ("TensorLayout.", "no-tensor-layout"),
    "pad": ("PadValue.", "no-pad"),
}


_POSITIONAL = OPERAND_KINDS | {"shape", "tuple", "sizes", "extents", "extent", "int"}


class Decoder:
    """Terms of one statement; `sources` and `extents` are its numbered expressions, `made` names what is made,
    `looked_into` what a window looks into."""

    def __init__(
        self,
        signature: Callable[[str], Signature],
        sources: tuple[ir.Expr | None, ...],
        extents: tuple[ir.Expr, ...],
        made: Callable[[Term], str],
        looked_into: Callable[[str], str],
    ) -> None:
        self.signature, self.sources, self.extents, self.made = signature, sources, extents, made
        self.looked_into = looked_into

    def calls(self, op: Term) -> Iterator[tuple[ir.Call, str | None]]:
        """The calls of an op term in order, each with the name of what it makes; None: the statement's target."""
        if op[0] == "then":
            yield from self.calls(op[1])
            yield from self.calls(op[2])
            return
        name, arguments, result = (op[1], op[2][1:], op[3]) if op[0] == "call" else (op[0], op[1:-1], op[-1])
        args: list[ir.Expr] = []
        kwargs: list[tuple[str, ir.Expr]] = []
        for k, (p, term) in enumerate(zip(self.signature(name).parameters, arguments, strict=False)):
            value = self._argument(p, term) if p.kind not in CONTEXT_KINDS else None
            if value is None:
                continue
            if not p.keyword and p.kind in _POSITIONAL and len(args) == k:
                args.append(value)
            else:
                kwargs.append((p.name, value))
        yield ir.Call(name, tuple(args), tuple(kwargs)), self._made(result)

    def _made(self, result: Term) -> str | None:
        return self.made(result) if result[0] in ("made", "made-of") else None

    def _argument(self, p: Parameter, term: Any) -> ir.Expr | None:
        if p.kind in OPERAND_KINDS:
            return self.operand(term)
        if p.kind in ("shape", "tuple", "sizes"):
            items = [self.operand(t) for t in term[1:]]
            return ir.Tuple(tuple(i for i in items if i is not None)) if items or p.default is None else None
        if p.kind == "extents":
            items = [expression(t, self.extents) for t in term[1:]]
            return ir.Tuple(tuple(i for i in items if i is not None)) if items or p.default is None else None
        if p.kind == "extent":
            return None if term[0] == "open" else expression(term, self.extents)
        if p.kind in _SYMBOLS:
            prefix, absent = _SYMBOLS[p.kind]
            return None if term[0] == absent else ir.Symbol(prefix + term[0].removeprefix("pad-"))
        if p.kind == "flag":
            return ir.Bool(term) if term or p.default != "False" else None
        if p.kind == "int":
            return None if p.default is not None and str(term) == p.default else ir.Int(term)
        return None if term == "" or term == p.default else ir.Str(term)

    def operand(self, term: Term) -> ir.Expr | None:
        """The expression of an operand term; None for an optional operand that is absent."""
        match term[0]:
            case "arg" | "const" | "lit":
                return self.sources[term[1]]
            case "int":
                return ir.Int(term[1], ir.DType[term[2][0]])
            case "real":
                return float_(term[1], ir.DType[term[2][0]])
            case "made" | "made-of":
                return ir.Name(self.made(term))
            case "none":
                return None
            case "window-source":
                window = self.operand(term[1])
                return ir.Name(self.looked_into(window.id)) if isinstance(window, ir.Name) else None
        raise InternalError(f"a legalization names an operand that is no value: {term}")
