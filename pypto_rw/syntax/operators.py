"""Operator precedence: a flat list of operands and operators -> a tree (pyir-syntax.md §5.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_rw import ir
from pypto_rw.syntax.parts import Part, between, deepest, float_
from pypto_rw.syntax.tokens import Refusal, Token

COMPARISON = 5
NOT = 4
UNARY = 12
POWER = 13
LEVELS = {
    "or": 1,
    "xor": 2,
    "and": 3,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), COMPARISON),
    "|": 6,
    "^": 7,
    "&": 8,
    "<<": 9,
    ">>": 9,
    "+": 10,
    "-": 10,
    **dict.fromkeys(("*", "/", "//", "%"), 11),
    "**": POWER,
}


class Chain:
    """Precedence climbing over a flat list of operands (Part) and operators (Token)."""

    def __init__(self, finish: Callable[[Part], ir.Expr], items: list[Any]) -> None:
        self._finish = finish
        self._items = items
        self._at = 0

    def read(self, least: int) -> Part:
        """The longest expression from here whose operators bind at least as tightly as `least`."""
        items = self._items
        item = items[self._at]
        self._at += 1
        left = item if isinstance(item, Part) else self._prefix(item, least)
        compared = False
        while self._at < len(items):
            operator: Token = items[self._at]
            level = LEVELS[operator.text]
            if level < least:
                break
            if level == COMPARISON:
                if compared:
                    raise Refusal(
                        "chained-comparison",
                        "comparisons do not chain",
                        operator.span,
                        "compare twice and join with `and`: a < b and b < c",
                    )
                compared = True
            self._at += 1
            # `**` nests to the right, and a sign may follow it.
            right = self.read(UNARY if level == POWER else level + 1)
            first, last = left.first, right.last
            node = ir.Binary(operator.text, self._finish(left), self._finish(right), between(first, last))
            left = Part(node, first, last, deepest((left, right), first, last))
        return left

    def _prefix(self, operator: Token, least: int) -> Part:
        if operator.type == "NOT":
            if least > NOT:
                raise Refusal(
                    "not-operand", "`not` binds weaker than the operator before it", operator.span, "write (not x)"
                )
            operand = self.read(NOT)
        else:
            operand = self.read(UNARY)
            if operator.type == "PLUS":
                raise Refusal(
                    "unsupported-syntax", "a leading `+` is not part of the language", operator.span, "leave it out"
                )
            node = operand.node
            # `-3` is a constant, `-(3)` and `-pl.const(3, pl.INDEX)` are negations of one.
            if operator.type == "MINUS" and operand.first is operand.last:
                if isinstance(node, ir.Int):
                    return Part(ir.Int(-node.value), operator, operand.last)
                if isinstance(node, ir.Float):
                    return Part(float_(-node.value), operator, operand.last)
        unary = ir.Unary(operator.text, self._finish(operand), between(operator, operand.last))
        return Part(unary, operator, operand.last, deepest((operand,), operator, operand.last))
