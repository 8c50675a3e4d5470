"""Actions of the expression rules of grammar/pyir.lark."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.syntax.operators import Chain
from pypto_rw.syntax.parts import (
    Applied,
    Argument,
    Bounds,
    Dots,
    Entries,
    Part,
    Record,
    Several,
    Subscript,
    between,
    deepest,
    float_,
)
from pypto_rw.syntax.tokens import DTYPES, GROUPS, MARKERS, OPAQUES, TYPES, Refusal, Token, near
from pypto_rw.syntax.types import Types

_LONGEST_CHAIN = 200
# The memories by the names that the chip's documents have for them.
_DOCUMENTED = {"UB": "Vec", "L1": "Mat", "L0A": "Left", "L0B": "Right", "L0C": "Acc", "GM": "DDR", "BT": "Bias"}
_PYTHON_CALLS = {
    "float": "pl.cast(x, pl.FP32)",
    "int": "pl.cast(x, pl.INT32)",
    "bool": "x != 0",
    "min": "pl.min(a, b)",
    "max": "pl.max(a, b)",
    "range": "pl.range(n)",
    "len": "the extent itself",
    "print": "a pl.store; kernels do not print",
    **dict.fromkeys(("enumerate", "zip", "map", "filter", "reversed", "iter"), "a loop over pl.range(n)"),
    **dict.fromkeys(("sum", "any", "all", "sorted", "round", "pow"), "the op of pl that does it"),
    **dict.fromkeys(("list", "dict", "set", "str"), "the value itself"),
}


class Expressions:
    """One method a rule. `constants` are the module-level names met so far; `plain_calls` the calls of bare
    names, checked when the functions of the module are known."""

    def __init__(self) -> None:
        self.constants: dict[str, Part] = {}
        self.plain_calls: list[tuple[str, Span]] = []
        self.types = Types(self.constants, self.finish)

    # -------------------------------------------------------------------------------------- atoms

    def name(self, c: list[Token]) -> Part:
        return Part(ir.Name(c[0].text), c[0], c[0])

    def symbol(self, c: list[Token]) -> Part:
        token = c[0]
        path = str(token.value)
        if token.type == "TYPE":
            raise Refusal(
                "type-arguments",
                f"`{token.text}` needs its arguments in brackets",
                token.span,
                f"write {token.text}[...]",
            )
        if token.type == "PATH":
            raise _unknown_prefix(token)
        group, dot, member = path.partition(".")
        if dot and group in GROUPS:
            if member not in GROUPS[group]:
                close = near(member, GROUPS[group])
                head = token.text[: -len(member)]
                hints = f"did you mean {' or '.join(head + word for word in close.split(' or '))}?" if close else ""
                if group == "Mem" and member in _DOCUMENTED:
                    hints = f"what the chip's documents call {member} is {head}{_DOCUMENTED[member]}"
                raise Refusal(
                    "unknown-name",
                    f"`{token.text}` is not known; {head[:-1]} has {', '.join(sorted(GROUPS[group]))}",
                    token.span,
                    hints,
                )
        elif dot and (close := near(group, [*GROUPS])) and group != "pld" and group != "self":
            head = token.text[: len(token.text) - len(path)]
            hints = " or ".join(f"{head}{word}.{member}" for word in close.split(" or "))
            raise Refusal("unknown-name", f"`{token.text}` is not known", token.span, f"did you mean {hints}?")
        elif not dot and path not in DTYPES and path not in MARKERS and path not in ("program", "function"):
            raise _unknown_constant(token, path)
        return Part(ir.Symbol(path), token, token)

    def number(self, c: list[Token]) -> Part:
        token = c[0]
        if token.type == "INT":
            assert isinstance(token.value, int)
            return Part(ir.Int(token.value), token, token)
        return Part(float_(float(token.text)), token, token)

    def truth(self, c: list[Token]) -> Part:
        return Part(ir.Bool(c[0].text == "True"), c[0], c[0])

    def nothing(self, c: list[Token]) -> Part:
        # Only host functions have it (`task = None`); there is no such value in ir, and no variable of that name.
        return Part(ir.Name("None"), c[0], c[0])

    def string(self, c: list[Token]) -> Part:
        return Part(ir.Str("".join([str(token.value) for token in c])), c[0], c[-1])

    def ellipsis(self, c: list[Token]) -> Part:
        return Part(Dots(), c[0], c[0])

    def opaque(self, c: list[Token]) -> Part:
        return Part(Applied(c[0], ()), c[0], c[0])

    # ----------------------------------------------------------------------------------- brackets

    def argument(self, c: list[Any]) -> Argument:
        return Argument(None, c[0]) if len(c) == 1 else Argument(c[0], c[2])

    def arguments(self, c: list[Any]) -> list[Argument]:
        arguments: list[Argument] = c[::2]
        seen: dict[str, Token] = {}
        for argument in arguments:
            name = argument.name
            if name is None:
                if seen:
                    raise Refusal(
                        "positional-after-keyword",
                        "an argument without a name cannot follow one with a name",
                        argument.part.span,
                        "move it before the keyword arguments, or name it",
                    )
            elif name.text in seen:
                first = seen[name.text]
                raise Refusal(
                    "repeated-keyword",
                    f"`{name.text}=` is given twice; the first stands at {first.line}:{first.column}",
                    name.span,
                    "remove one of them",
                )
            else:
                seen[name.text] = name
        return arguments

    def type_of(self, c: list[Any]) -> Part:
        return self._over(Applied(c[0], c[2]), c[2], c[0], c[3])

    def record(self, c: list[Any]) -> Part:
        arguments = c[2] if len(c) == 4 else []
        return self._over(Record(c[0], arguments), arguments, c[0], c[-1])

    def subscript(self, c: list[Any]) -> Part:
        value: Part = c[0]
        if isinstance(value.node, ir.Tuple) and value.node.brackets == "[":
            raise Refusal(
                "missing-comma",
                "`[` stands directly after `]`; a comma is missing between them",
                c[1].span,
                "write `,` between two arguments",
            )
        return self._over(Subscript(value, c[2]), [*c[2], Argument(None, value)], value.first, c[3])

    def _over(
        self, node: Applied | Record | Subscript, arguments: Sequence[Argument], first: Token, last: Token
    ) -> Part:
        return Part(node, first, last, deepest([argument.part for argument in arguments], first, last))

    def bracketed(self, c: list[Any]) -> Part:
        return self._tuple(c[1:-1], "[", c[0], c[-1])

    def paren(self, c: list[Any]) -> Part:
        if len(c) == 3:
            part: Part = c[1]
            return Part(part.node, c[0], c[2], part.depth)
        return self._tuple(c[1:-1], "(", c[0], c[-1])

    def _tuple(self, items: list[Any], brackets: str, first: Token, last: Token) -> Part:
        parts: list[Part] = items[::2]
        finished = tuple([self.finish(part) for part in parts])
        return Part(ir.Tuple(finished, brackets), first, last, deepest(parts, first, last))

    def pair(self, c: list[Any]) -> tuple[Part, Part]:
        return c[0], c[2]

    def braced(self, c: list[Any]) -> Part:
        pairs: list[tuple[Part, Part]] = c[1:-1:2]
        return Part(Entries(pairs), c[0], c[-1], deepest([part for pair in pairs for part in pair], c[0], c[-1]))

    def exprs(self, c: list[Any]) -> Several:
        return Several(c[::2], len(c) > 1)

    # -------------------------------------------------------------------------------------- calls

    def call(self, c: list[Any]) -> Part:
        head: Token = c[0]
        last: Token = c[-1]
        arguments: list[Argument] = c[2] if len(c) == 4 else []
        depth = deepest([argument.part for argument in arguments], head, last)
        return Part(self._call(head, arguments, last), head, last, depth)

    def _call(self, head: Token, arguments: list[Argument], last: Token) -> ir.Expr:
        span = between(head, last)
        positional = [argument.part for argument in arguments if argument.name is None]
        plain = len(positional) == len(arguments)
        if head.type == "NAME":
            if head.text == "abs" and plain and len(positional) == 1:
                return ir.Unary("abs", self.finish(positional[0]), span)
            if head.text in _PYTHON_CALLS:
                raise Refusal(
                    "unsupported-syntax",
                    f"`{head.text}()` is Python, but not part of the kernel language",
                    head.span,
                    f"write {_PYTHON_CALLS[head.text]}",
                )
            self.plain_calls.append((head.text, head.span))
        elif head.type == "PATH":
            raise _unknown_prefix(head)
        callee = unescaped(str(head.value))
        if plain and len(positional) == 2:
            if callee == "const":
                return self._const(positional[0], positional[1], span)
            if callee == "cast":
                node = positional[1].node
                if isinstance(node, ir.Symbol) and node.path in DTYPES:
                    return ir.Cast(self.finish(positional[0]), DTYPES[node.path], span)
            elif callee in ("min", "max"):
                left, right = positional
                return ir.Binary(callee, self.finish(left), self.finish(right), span)
        elif callee == "const":
            raise Refusal(
                "const-arguments",
                f"`{head.text}` takes a number and its element type",
                span,
                f"write {head.text}(1, pl.INT32)",
            )
        attrs: tuple[tuple[str, ir.Expr], ...] = ()
        kwargs: list[tuple[str, ir.Expr]] = []
        for argument in arguments:
            if argument.name is None:
                continue
            if argument.name.text == "attrs":
                attrs = self.entries(argument.part)
            else:
                kwargs.append((argument.name.text, self.finish(argument.part)))
        args = tuple([self.finish(part) for part in positional])
        return ir.Call(callee, args, tuple(kwargs), attrs, span)

    def _const(self, value: Part, dtype: Part, span: Span) -> ir.Expr:
        symbol, node = dtype.node, value.node
        if isinstance(symbol, ir.Symbol) and symbol.path in DTYPES:
            type_ = DTYPES[symbol.path]
            floating = type_.value.startswith(("FP", "BF", "HF"))
            match node:
                case ir.Int() if floating:
                    return float_(float(node.value), type_)
                case ir.Int():
                    return ir.Int(node.value, type_)
                case ir.Float() if floating:
                    return float_(node.value, type_)
                case ir.Bool() if type_ is ir.DType.BOOL:
                    return node
                case ir.Float():
                    raise Refusal("const-arguments", f"a fraction is no value of pl.{type_.value}", value.span)
        if not isinstance(symbol, ir.Symbol) or symbol.path not in DTYPES:
            raise Refusal("const-arguments", "an element type is needed here, for example pl.INT32", dtype.span)
        raise Refusal(
            "const-arguments", "a literal number is needed here", value.span, "use pl.cast(x, pl.INT32) for a value"
        )

    def entries(self, part: Part) -> tuple[tuple[str, ir.Expr], ...]:
        """The pairs of a dict literal with string keys, each key once."""
        node = part.node
        if not isinstance(node, Entries):
            raise Refusal("attrs-not-a-dict", 'a dict literal is needed here: {"key": value}', part.span)
        found: dict[str, ir.Expr] = {}
        for key, value in node.pairs:
            if not isinstance(key.node, ir.Str):
                raise Refusal("attrs-not-a-dict", "the keys of this dict must be string literals", key.span)
            if key.node.value in found:
                raise Refusal(
                    "repeated-keyword", f'the key "{key.node.value}" is given twice', key.span, "remove one of them"
                )
            found[key.node.value] = self.finish(value)
        return tuple(found.items())

    def finish(self, part: Part) -> ir.Expr:
        """The expression of `part`; refuses what is only grammatical in another place."""
        node = part.node
        match node:
            case Applied():
                return ir.TypeExpr(self.types.read(part))
            case Record():
                return self._call(node.head, list(node.arguments), part.last)
            case Subscript():
                return self._item(node, part.span)
            case Bounds():
                raise Refusal("unsupported-syntax", "`:` between bounds can only stand in a subscript", part.span)
            case Entries():
                raise Refusal(
                    "unsupported-syntax", "a dict can only stand in attrs= or in pl.func_attr(...)", part.span
                )
            case Dots():
                raise Refusal("unsupported-syntax", "`...` can only stand alone, as the body of a function", part.span)
            case _:
                return node

    def slice(self, c: list[Any]) -> Part:
        parts = [item for item in c if isinstance(item, Part)]
        colons = [item for item in c if isinstance(item, Token)]
        first = c[0] if isinstance(c[0], Token) else c[0].first
        last = c[-1] if isinstance(c[-1], Token) else c[-1].last
        if len(colons) > 1:
            raise Refusal("unsupported-syntax", "a slice has no step", between(first, last), "write start:stop")
        if len(parts) == 1:
            raise Refusal(
                "subscript", "a slice needs both bounds, or none", between(first, last), "write start:stop, or :"
            )
        return Part(Bounds(parts, not parts), first, last, deepest(parts, first, last))

    def _item(self, node: Subscript, span: Span) -> ir.Expr:
        """`pair[0]` is an ir.Item, `hist[k]` reads an array; every other subscript is a call of `getitem`."""
        index = node.arguments[0].part.node
        if len(node.arguments) == 1 and isinstance(index, ir.Int) and node.arguments[0].name is None:
            if index.value >= 0:
                return ir.Item(self.finish(node.value), index.value)
            raise Refusal("subscript", "an element is counted from 0", span)
        callee = "array.get_element" if one_index(node) else "getitem"
        return ir.Call(callee, (self.finish(node.value), *self.indices(node)), (), (), span)

    def indices(self, node: Subscript) -> list[ir.Expr]:
        """What stands in the brackets: `i` as it is, `a : b` as [a, b], `:` as []."""
        found: list[ir.Expr] = []
        for argument in node.arguments:
            if argument.name is not None:
                raise Refusal("subscript", "a name and `=` cannot stand in a subscript", argument.name.span)
            inner = argument.part.node
            if isinstance(inner, Bounds):
                found.append(ir.Tuple(tuple(map(self.finish, inner.items))))
            else:
                found.append(self.finish(argument.part))
        return found

    # ---------------------------------------------------------------------------------- operators

    def chain(self, c: list[Any]) -> Part:
        if len(c) > _LONGEST_CHAIN:
            raise Refusal(
                "too-deep",
                f"more than {_LONGEST_CHAIN // 2} operators in one expression",
                _whole(c),
                "assign a part of it to a name",
            )
        return Chain(self.finish, c).read(0)


def _whole(items: list[Any]) -> Span:
    first = items[0] if isinstance(items[0], Token) else items[0].first
    last = items[-1] if isinstance(items[-1], Token) else items[-1].last
    return between(first, last)


def one_index(node: Subscript) -> bool:
    """Is it `hist[k]`? Tuples have constant indices, tensors and tiles are read by op or by window: an array."""
    return len(node.arguments) == 1 and not isinstance(node.arguments[0].part.node, Bounds)


def unescaped(callee: str) -> str:
    """`tile.and_` -> `tile.and`: the `_` only escapes a Python keyword."""
    if callee.endswith("_"):
        last = callee.rpartition(".")[2][:-1]
        if keyword.iskeyword(last) and last not in ("while", "yield"):
            return callee[:-1]
    return callee


def _unknown_prefix(token: Token) -> Refusal:
    head = token.text.partition(".")[0]
    help_ = ""
    if head == "pl":
        help_ = "the file imports pypto.language under another name: begin with that, or import it as pl"
    return Refusal(
        "unknown-prefix",
        f"`{token.text}`: nothing named `{head}` has parts; names of the language start with the imported prefix",
        token.span,
        help_,
    )


def _unknown_constant(token: Token, path: str) -> Refusal:
    words = [*DTYPES, *MARKERS, *TYPES, *OPAQUES, *GROUPS]
    close = near(path, words)
    head = token.text[: len(token.text) - len(path)]
    return Refusal(
        "unknown-name",
        f"`{token.text}` is not known: it is no element type, layout or other constant of the language",
        token.span,
        f"did you mean {' or '.join(head + word for word in close.split(' or '))}?" if close else "",
    )
