"""Says in words what is wrong where the grammar stops."""

from __future__ import annotations

from pypto_rw.syntax.lexer import Lexer
from pypto_rw.syntax.machine import Unexpected
from pypto_rw.syntax.tokens import Refusal


def explain(error: Unexpected, lexer: Lexer) -> Refusal:
    """The refusal for the token the grammar could not take."""
    return Refusal("syntax", f"unexpected {error.token.type}; expected {sorted(error.expected)}", error.token.span)
