"""Conditions of the fact files: small expressions over an instruction, in three-valued logic.

`src0.vc + src1.vc <= dst.cols` reads fields of operands (operand.py); what the text does not know (a `?` extent, a
value that is no constant, an operand that is not there) is None, and a comparison with None is neither true nor
false. A condition refuses only where it is false. The spelling is Python's; the nodes allowed are those below."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

Lookup = Callable[[str], Any]

_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in (b.split() if isinstance(b, str) else b),
    ast.NotIn: lambda a, b: a not in (b.split() if isinstance(b, str) else b),
}
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _agree(a: Any, b: Any) -> bool | None:
    """No position where two lists hold different known numbers; lists of two lengths do not agree."""
    if a is None or b is None:
        return None
    return len(a) == len(b) and not any(x is not None and y is not None and x != y for x, y in zip(a, b, strict=True))


def _within(offsets: Any, sizes: Any, bounds: Any) -> bool | None:
    """offset + size <= bound wherever all three are known."""
    if offsets is None or sizes is None or bounds is None:
        return None
    return not any(
        None not in (o, s, b) and o + s > b for o, s, b in zip(offsets, sizes, bounds, strict=False)
    )


def _low(items: Any) -> int | None:
    """The smallest known number of a list."""
    known = [i for i in items or () if i is not None]
    return min(known) if known else None


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil": lambda a, b: None if a is None or not b else -(-a // b),
    "max": lambda *a: None if None in a else max(a),
    "agree": _agree,
    "within": _within,
    "low": _low,
    "length": lambda items: None if items is None else len(items),
    "known": lambda value: value is not None,
    "contains": lambda text, part: None if text is None else part in text,
}


@lru_cache(maxsize=1024)
def parsed(text: str) -> ast.expr:
    """The expression of a condition."""
    return ast.parse(text, mode="eval").body


def holds(text: str, lookup: Lookup) -> Any:
    """The value of a condition: True, False, or None when it cannot be told."""
    return _value(parsed(text), lookup)


def fields(text: str) -> Iterator[tuple[str, str]]:
    """Every `operand.field` a condition reads, once, in order."""
    seen: set[tuple[str, str]] = set()
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            key = (node.value.id, node.attr)
            if key not in seen:
                seen.add(key)
                yield key


def _value(node: ast.expr, lookup: Lookup) -> Any:
    if isinstance(node, ast.Compare):
        return _comparison(node, lookup)
    if isinstance(node, ast.Attribute):
        base = _value(node.value, lookup)
        return base.get(node.attr) if isinstance(base, dict) else None
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return lookup(node.id)
    if isinstance(node, ast.BoolOp):
        return _boolean(isinstance(node.op, ast.And), node.values, lookup)
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, lookup)
        if inner is None:
            return None
        return not inner if isinstance(node.op, ast.Not) else -inner
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, lookup), _value(node.right, lookup)
        if left is None or right is None or (right == 0 and isinstance(node.op, ast.FloorDiv | ast.Mod)):
            return None
        return _ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Tuple):
        return tuple(_value(n, lookup) for n in node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _FUNCTIONS[node.func.id](*(_value(a, lookup) for a in node.args))
    if isinstance(node, ast.Subscript):
        base, index = _value(node.value, lookup), _value(node.slice, lookup)
        return base[index] if base is not None and index is not None and -len(base) <= index < len(base) else None
    raise ValueError(f"a condition may not hold {ast.unparse(node)}")


def _comparison(node: ast.Compare, lookup: Lookup) -> bool | None:
    left = _value(node.left, lookup)
    unknown = False
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = _value(right_node, lookup)
        if left is None or right is None:
            unknown = True
        elif not _COMPARE[type(op)](left, right):
            return False
        left = right
    return None if unknown else True


def _boolean(every: bool, nodes: list[ast.expr], lookup: Lookup) -> bool | None:
    unknown = False
    for node in nodes:
        value = _value(node, lookup)
        if value is None:
            unknown = True
        elif bool(value) is not every:
            return not every
    return None if unknown else every
