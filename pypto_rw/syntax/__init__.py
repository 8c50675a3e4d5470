"""The syntax layer: text of `.pyir` -> ir.Module and back."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.syntax.reader import parse

__all__ = ["expression_text", "parse", "type_text", "write"]


def write(module: ir.Module) -> str:
    """Text of `module`, ending in one line feed."""
    from pypto_rw.syntax.writer import write as write_text  # a compilation prints no module

    return write_text(module)


def expression_text(expr: ir.Expr) -> str:
    """`expr` as it is written, for a message."""
    from pypto_rw.syntax.writer_terms import Terms  # only a refusal spells an expression

    return Terms(prefix="pl", defined=frozenset(), functions=frozenset()).expr(expr)


def type_text(t: ir.Type) -> str:
    """`t` as it is written, for a message."""
    from pypto_rw.syntax.writer_terms import Terms

    return Terms(prefix="pl", defined=frozenset(), functions=frozenset()).type(t)
