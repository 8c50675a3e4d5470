"""Conditions of the fact files: small expressions over an instruction, in three-valued logic.

`src0.vc + src1.vc <= dst.cols` reads fields of operands (operand.py). What the text does not know (a `?` extent, a
value that is no constant, an operand that is not there) is None, and a comparison with None is neither true nor
false. A condition refuses only where it is false.

    condition  =  and, or, not, comparisons (== != < <= > >= in, not in; also in a chain), + - * // %, negation
    value      =  number, 'text', name, name.field, list[number], function(value, …), (value, …)

`x in 'a b'` asks whether x is one of the words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Lookup = Callable[[str], Any]
Node = Callable[[Lookup], Any]

_TOKEN = re.compile(r"\s*(?:(\d+)|'([^']*)'|([A-Za-z_]\w*)|(==|!=|<=|>=|//|[-<>+*%().,\[\]]))")
_FIELD = re.compile(r"\b([A-Za-z_]\w*)\.(\w+)")


def _one_of(value: Any, words: Any) -> bool:
    return value in (words.split() if isinstance(words, str) else words)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "in": _one_of,
    "not in": lambda a, b: not _one_of(a, b),
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b if b else None,
    "%": lambda a, b: a % b if b else None,
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
    return not any(None not in (o, s, b) and o + s > b for o, s, b in zip(offsets, sizes, bounds, strict=False))


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
_parsed: dict[str, Node] = {}  # a condition is parsed once a process


def holds(text: str, lookup: Lookup) -> Any:
    """The value of a condition: True, False, or None when it cannot be told. ValueError for a misspelled one."""
    node = _parsed.get(text)
    if node is None:
        node = _parsed[text] = _Parser(text).whole()
    return node(lookup)


def fields(text: str) -> Iterator[tuple[str, str]]:
    """Every `operand.field` a condition reads, once, in order."""
    yield from dict.fromkeys((m[1], m[2]) for m in _FIELD.finditer(re.sub(r"'[^']*'", "''", text)))


class _Parser:
    """Recursive descent; each method gives the function that evaluates its part."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            m = _TOKEN.match(text, at)
            if m is None:
                raise ValueError(f"cannot read the condition {text!r} at column {at + 1}")
            kind = ("number", "text", "name", "sign")[(m.lastindex or 1) - 1]
            self.tokens.append((kind, m[m.lastindex or 1]))
            at = m.end()
        self.at = 0

    def whole(self) -> Node:
        node = self.either()
        if self.at < len(self.tokens):
            raise ValueError(f"the condition {self.text!r} goes on after its end")
        return node

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) and self.tokens[self.at][0] != "text" else ""

    def take(self, *words: str) -> str:
        """The next word, if it is one of these."""
        word = self.peek()
        if word and word in words:
            self.at += 1
            return word
        return ""

    def either(self) -> Node:
        return self.joined("or", self.both, False)

    def both(self) -> Node:
        return self.joined("and", self.negated, True)

    def joined(self, word: str, part: Callable[[], Node], every: bool) -> Node:
        nodes = [part()]
        while self.take(word):
            nodes.append(part())
        if len(nodes) == 1:
            return nodes[0]

        def value(lookup: Lookup) -> bool | None:
            unknown = False
            for node in nodes:
                found = node(lookup)
                if found is None:
                    unknown = True
                elif bool(found) is not every:
                    return not every
            return None if unknown else every

        return value

    def negated(self) -> Node:
        if not self.take("not"):
            return self.comparison()
        inner = self.negated()

        def value(lookup: Lookup) -> bool | None:
            found = inner(lookup)
            return None if found is None else not found

        return value

    def comparison(self) -> Node:
        first = self.sum()
        rest: list[tuple[Callable[[Any, Any], bool], Node]] = []
        while True:
            sign = self.take("==", "!=", "<", "<=", ">", ">=", "in")
            if not sign and self.peek() == "not":
                self.at += 1
                sign = f"not {self.take('in')}"
            if not sign:
                break
            rest.append((_COMPARE[sign], self.sum()))
        if not rest:
            return first

        def value(lookup: Lookup) -> bool | None:
            left = first(lookup)
            unknown = False
            for compare, node in rest:
                right = node(lookup)
                if left is None or right is None:
                    unknown = True
                elif not compare(left, right):
                    return False
                left = right
            return None if unknown else True

        return value

    def sum(self) -> Node:
        return self.arithmetic(self.product, "+", "-")

    def product(self) -> Node:
        return self.arithmetic(self.unary, "*", "//", "%")

    def arithmetic(self, part: Callable[[], Node], *signs: str) -> Node:
        node = part()
        while sign := self.take(*signs):
            node = _applied(_ARITHMETIC[sign], node, part())
        return node

    def unary(self) -> Node:
        if self.take("-"):
            return _applied(_ARITHMETIC["-"], lambda lookup: 0, self.unary())
        return self.postfix()

    def postfix(self) -> Node:
        node = self.primary()
        while sign := self.take(".", "["):
            if sign == ".":
                node = _field_of(node, self.tokens[self.at][1])
                self.at += 1
            else:
                node = _item_of(node, self.either())
                self.expect("]")
        return node

    def primary(self) -> Node:
        if self.at >= len(self.tokens):
            raise ValueError(f"the condition {self.text!r} is not complete")
        kind, word = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            number = int(word)
            return lambda lookup: number
        if kind == "text":
            return lambda lookup: word
        if word == "(":
            items = [self.either()]
            while self.take(","):
                items.append(self.either())
            self.expect(")")
            return items[0] if len(items) == 1 else lambda lookup: tuple(i(lookup) for i in items)
        if kind == "name":
            return self.call(word) if self.take("(") else lambda lookup: lookup(word)
        raise ValueError(f"the condition {self.text!r} has {word!r} where a value should be")

    def call(self, name: str) -> Node:
        function = _FUNCTIONS[name]
        arguments = [self.either()]
        while self.take(","):
            arguments.append(self.either())
        self.expect(")")
        return lambda lookup: function(*(a(lookup) for a in arguments))

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise ValueError(f"the condition {self.text!r} misses {sign!r}")


def _applied(operation: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    def value(lookup: Lookup) -> Any:
        a, b = left(lookup), right(lookup)
        return None if a is None or b is None else operation(a, b)

    return value


def _field_of(node: Node, name: str) -> Node:
    def value(lookup: Lookup) -> Any:
        base = node(lookup)
        return base.get(name) if isinstance(base, dict) else None

    return value


def _item_of(node: Node, index: Node) -> Node:
    def value(lookup: Lookup) -> Any:
        base, at = node(lookup), index(lookup)
        return base[at] if base is not None and at is not None and -len(base) <= at < len(base) else None

    return value
