"""What the grammar's actions hand to each other: expressions with their first and last token."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE, Span
from pypto_rw.records import dataclass, replace
from pypto_rw.syntax.tokens import Refusal, Token

DEEPEST_TERM = 100


@dataclass(slots=True)
class Part:
    """An expression, from token `first` to token `last`; `depth` is the height of its tree."""

    node: ir.Expr | Applied | Record | Subscript | Entries | Bounds | Dots
    first: Token
    last: Token
    depth: int = 1

    @property
    def span(self) -> Span:
        """Where it stands."""
        return between(self.first, self.last)


@dataclass(slots=True)
class Argument:
    """`x` or `name=x`."""

    name: Token | None
    part: Part


@dataclass(slots=True)
class Applied:
    """A type with its arguments: `pl.Tile[...]`, or without: `pl.Ptr`."""

    head: Token
    arguments: Sequence[Argument]


@dataclass(slots=True)
class Record:
    """`pl.MemRef(...)`, `pl.TensorView(...)`, `pl.TileView(...)`."""

    head: Token
    arguments: Sequence[Argument]


@dataclass(slots=True)
class Subscript:
    """`x[i]`."""

    value: Part
    arguments: Sequence[Argument]


@dataclass(slots=True)
class Entries:
    """`{"key": value}`."""

    pairs: Sequence[tuple[Part, Part]]


@dataclass(slots=True)
class Bounds:
    """`a : b` in a subscript, either may be missing."""

    items: list[Part]
    whole: bool


@dataclass(slots=True)
class Dots:
    """`...`."""


@dataclass(slots=True)
class Several:
    """`a, b` without brackets; `comma`: more than one expression, or a comma behind one."""

    parts: list[Part]
    comma: bool


def between(first: Token, last: Token) -> Span:
    """From the start of `first` to the end of `last`."""
    return Span(first.line, first.column, last.end_line, last.end_column)


def deepest(parts: Sequence[Part], first: Token, last: Token) -> int:
    """Height of a node over `parts`; refuses a tree that later recursion could not walk."""
    depth = 1 + max([part.depth for part in parts], default=0)
    if depth > DEEPEST_TERM:
        raise Refusal(
            "too-deep",
            f"this expression is nested more than {DEEPEST_TERM} deep",
            between(first, last),
            "assign a part of it to a name",
        )
    return depth


def float_(value: float, dtype: ir.DType = ir.DType.FP32) -> ir.Float:
    """The constant with its bits."""
    return ir.Float(value, dtype, struct.pack("<d", value))


def unplaced(expr: ir.Expr) -> ir.Expr:
    """`expr` without spans: expressions inside types are shared between all places that name the type."""
    match expr:
        case ir.Binary():
            return replace(expr, left=unplaced(expr.left), right=unplaced(expr.right), span=NOWHERE)
        case ir.Unary() | ir.Cast():
            return replace(expr, operand=unplaced(expr.operand), span=NOWHERE)
        case ir.Call():
            kwargs = tuple([(key, unplaced(value)) for key, value in expr.kwargs])
            attrs = tuple([(key, unplaced(value)) for key, value in expr.attrs])
            args = tuple(map(unplaced, expr.args))
            return replace(expr, args=args, kwargs=kwargs, attrs=attrs, span=NOWHERE)
        case ir.Tuple():
            return replace(expr, items=tuple(map(unplaced, expr.items)))
        case ir.Item():
            return replace(expr, value=unplaced(expr.value))
        case _:
            return expr
