"""Actions of the statement rules of grammar/pyir.lark."""

from __future__ import annotations

from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.syntax.constants import known_number
from pypto_rw.syntax.expressions import Expressions, one_index
from pypto_rw.syntax.parts import Argument, Dots, Part, Several, Subscript, between
from pypto_rw.syntax.tokens import Refusal, Token
from pypto_rw.syntax.types import split

_ITERATORS = "pl.range, pl.parallel, pl.unroll, pl.pipeline, pl.while_, pl.spmd, pl.split_aiv"
_DEEPEST_TREE = 100


class Statements(Expressions):
    """One method a rule; a statement that says nothing (`pass`, a docstring) is None.

    `comments` are the comment lines above a statement, by its line."""

    def __init__(self, comments: dict[int, tuple[str, ...]]) -> None:
        super().__init__()
        self._comments = comments
        # `break`, `continue` and `pl.cond` wait for the loop around them.
        self._jumps: list[ir.Jump] = []
        self._conditions: list[ir.Evaluate] = []
        self._elifs = 0

    def line(self, c: list[Any]) -> object:
        return c[0]

    def _note(self, first: Token) -> tuple[str, ...]:
        return self._comments.get(first.line, ())

    # ----------------------------------------------------------------------------- one-line forms

    def assign(self, c: list[Any]) -> ir.Stmt:
        targets, values, end = c[0], c[2], c[3]
        first = targets.parts[0].first
        node = targets.parts[0].node
        if isinstance(node, Subscript) and not targets.comma:
            # `hist[k] = v` gives `hist` a new value.
            updated = self._target(node.value)
            span = between(first, end)
            callee = "array.update_element" if one_index(node) else "setitem"
            call = ir.Call(callee, (ir.Name(updated), *self.indices(node), self._value(values)), (), (), span)
            return ir.Assign((updated,), None, call, span, self._note(first))
        return ir.Assign(self._targets(targets), None, self._value(values), between(first, end), self._note(first))

    def annotated(self, c: list[Any]) -> ir.Stmt:
        target, annotation, values, end = c[0], c[2], c[4], c[5]
        name, type_ = self._target(target), self.types.read(annotation)
        first = target.first
        return ir.Assign((name,), type_, self._value(values), between(first, end), self._note(first))

    def declared(self, c: list[Any]) -> ir.Stmt:
        raise Refusal(
            "missing-value",
            "this declares a type, but gives no value",
            between(c[0].first, c[2].last),
            "write x: T = value",
        )

    def augmented(self, c: list[Any]) -> ir.Stmt:
        operator: Token = c[1]
        name = c[0].parts[0].first.text
        raise Refusal(
            "unsupported-syntax",
            f"`{operator.text}` is not part of the language",
            operator.span,
            f"write {name} = {name} {operator.text[:-1]} ...",
        )

    def evaluate(self, c: list[Any]) -> ir.Stmt | None:
        several: Several = c[0]
        part = several.parts[0]
        span = between(part.first, c[1])
        if not several.comma:
            match part.node:
                case ir.Str():  # a docstring
                    return None
                case Dots():
                    return ir.Jump("...", span, self._note(part.first))
                case ir.Call() as call:
                    statement = ir.Evaluate(call, span, self._note(part.first))
                    if call.callee == "cond":
                        self._conditions.append(statement)
                    return statement
        raise Refusal(
            "no-effect",
            "this line is an expression whose value is not used; a statement or a call is needed",
            between(part.first, several.parts[-1].last),
            "assign it to a name, or remove it",
        )

    def func_attr(self, c: list[Any]) -> ir.Evaluate:
        # An Evaluate that `function` takes out again.
        head: Token = c[0]
        arguments: list[Argument] = c[2] if len(c) == 5 else []
        if len(arguments) != 1 or arguments[0].name is not None:
            raise Refusal(
                "attrs-not-a-dict", f'{head.text} takes one dict literal: {{"key": value}}', between(head, c[-2])
            )
        call = ir.Call("func_attr", (), (), self.entries(arguments[0].part), between(head, c[-2]))
        return ir.Evaluate(call, between(head, c[-1]))

    def yield_bare(self, c: list[Any]) -> ir.Stmt:
        return ir.Yield((), None, self._yielded(c[2:-2]), between(c[0], c[-1]), self._note(c[0]), between(c[0], c[-1]))

    def yield_bound(self, c: list[Any]) -> ir.Stmt:
        first = c[0].parts[0].first
        span, call = between(first, c[-1]), between(c[2], c[-1])
        return ir.Yield(self._targets(c[0]), None, self._yielded(c[4:-2]), span, self._note(first), call)

    def yield_typed(self, c: list[Any]) -> ir.Stmt:
        target: Part = c[0]
        name, type_ = self._target(target), self.types.read(c[2])
        span = between(target.first, c[-1])
        return ir.Yield((name,), type_, self._yielded(c[6:-2]), span, self._note(target.first), between(c[4], c[-1]))

    def _yielded(self, arguments: list[list[Argument]]) -> tuple[ir.Expr, ...]:
        positional, _ = split(arguments[0] if arguments else (), ())
        return tuple(map(self.finish, positional))

    def return_stmt(self, c: list[Any]) -> ir.Stmt:
        values: tuple[ir.Expr, ...] = ()
        if len(c) == 3:
            several: Several = c[1]
            values = tuple(map(self.finish, several.parts))
            # `return (a, b)` is `return a, b`.
            if not several.comma and isinstance(values[0], ir.Tuple) and values[0].brackets == "(":
                values = values[0].items
        return ir.Return(values, between(c[0], c[-1]), self._note(c[0]))

    def jump(self, c: list[Any]) -> ir.Stmt | None:
        word: Token = c[0]
        if word.text == "pass":
            return None
        jump = ir.Jump(word.text, word.span, self._note(word))
        self._jumps.append(jump)
        return jump

    def _target(self, part: Part) -> str:
        if isinstance(part.node, ir.Name) and part.first is part.last:
            return part.node.id
        what = {
            ir.Call: "a call",
            ir.Int: "a literal",
            ir.Float: "a literal",
            ir.Str: "a literal",
            ir.Bool: "a literal",
        }.get(type(part.node), "this")
        raise Refusal(
            "assign-target",
            f"{what} cannot be assigned to; a name is needed left of `=`",
            part.span,
            "compare with `==`" if isinstance(part.node, ir.Binary) else "",
        )

    def _targets(self, several: Several) -> tuple[str, ...]:
        parts = several.parts
        if not several.comma and isinstance(parts[0].node, ir.Tuple):
            items = parts[0].node.items
            names = tuple([item.id for item in items if isinstance(item, ir.Name)])
            if not items or len(names) != len(items):
                raise Refusal("assign-target", "only names can be assigned to", parts[0].span)
            return names
        return tuple(map(self._target, parts))

    def _value(self, several: Several) -> ir.Expr:
        values = tuple(map(self.finish, several.parts))
        return ir.Tuple(values, "(") if several.comma else values[0]

    # -------------------------------------------------------------------------------- block forms

    def block(self, c: list[Any]) -> tuple[Any, ...]:
        return tuple([item for item in c if item is not None and not isinstance(item, Token)])

    def _body(self, items: tuple[Any, ...]) -> tuple[ir.Stmt, ...]:
        for item in items:
            if isinstance(item, ir.Function):
                raise Refusal(
                    "nested-function",
                    f"function `{item.name}` stands inside a statement",
                    item.span,
                    "define it on its own",
                )
            if isinstance(item, ir.Evaluate) and isinstance(item.value, ir.Call) and item.value.callee == "func_attr":
                raise Refusal("misplaced-attributes", "pl.func_attr belongs at the start of a function", item.span)
        return items

    def if_stmt(self, c: list[Any]) -> ir.Stmt:
        word: Token = c[0]
        rest = c[4:]
        orelse: tuple[ir.Stmt, ...] | None = None
        if rest and not isinstance(rest[-1], list):
            orelse = self._body(rest.pop())
        self._elifs = max(self._elifs, len(rest))
        for start, condition, colon, body in reversed(rest):
            inner = ir.If(
                self.finish(condition), self._body(body), orelse, True, between(start, colon), self._note(start)
            )
            orelse = (inner,)
        span = between(word, c[2])
        return ir.If(self.finish(c[1]), self._body(c[3]), orelse, False, span, self._note(word))

    def elif_part(self, c: list[Any]) -> list[Any]:
        return c

    def else_part(self, c: list[Any]) -> object:
        return c[2]

    def while_stmt(self, c: list[Any]) -> ir.Stmt:
        word: Token = c[0]
        self._leave_loop(word, None)
        return ir.While(self.finish(c[1]), self._body(c[3]), (), (), between(word, c[2]), self._note(word))

    def for_range(self, c: list[Any]) -> ir.Stmt:
        word, target, head, arguments, colon, body = _loop(c)
        kind = str(head.value)
        allowed = ("init_values", "attrs", *(("stage",) if kind == "pipeline" else ()))
        positional, keywords = split(arguments, allowed)
        header = between(head, c[-3])
        if not 1 <= len(positional) <= 3:
            found = "no stop is given" if not positional else f"found {len(positional)} bounds"
            raise Refusal("loop-bounds", f"{head.text} takes stop, or start, stop[, step]; {found}", header)
        bounds = tuple(map(self.finish, positional))
        initial = self._initial(keywords)
        variable, carried = self._loop_target(target, keywords.get("init_values"), initial)
        if kind == "unroll":
            self._check_unroll(positional, keywords)
        stage: int | None = None
        if kind == "pipeline":
            if "stage" not in keywords:
                raise Refusal("pipeline-stage", f"{head.text} needs its number of stages", header, "add stage=2")
            stage = self.types.static(keywords["stage"])
            if stage < 1:
                raise Refusal("pipeline-stage", f"stage={stage}: at least one stage is needed", keywords["stage"].span)
        self._leave_loop(word, kind)
        statements = self._body(body)
        if carried:
            _check_yield(statements)
        return ir.For(
            kind,
            variable,
            bounds,
            statements,
            carried,
            initial,
            stage,
            self.entries(keywords["attrs"]) if "attrs" in keywords else (),
            between(word, colon),
            self._note(word),
        )

    def _check_unroll(self, bounds: list[Part], keywords: dict[str, Part]) -> None:
        if "init_values" in keywords:
            raise Refusal("unroll", "an unrolled loop carries no values", keywords["init_values"].span, "use pl.range")
        for number, bound in enumerate(bounds):
            value = known_number(bound, self.constants)
            if not isinstance(value, ir.Int):
                raise Refusal(
                    "unroll", "the bounds of an unrolled loop must be integer constants", bound.span, "use pl.range"
                )
            if number == 2 and value.value == 0:
                raise Refusal("unroll", "the step of a loop cannot be 0", bound.span)

    def for_while(self, c: list[Any]) -> ir.Stmt:
        word, target, head, arguments, colon, body = _loop(c)
        positional, keywords = split(arguments, ("init_values",))
        if positional or "init_values" not in keywords:
            raise Refusal(
                "while-arguments",
                f"{head.text} takes init_values= and nothing else",
                between(head, c[-3]),
                "the condition is the first line of the body: pl.cond(...)",
            )
        initial = self._initial(keywords)
        carried = self._carried(target, initial, keywords["init_values"])
        first = body[0] if body else None
        if not isinstance(first, ir.Evaluate) or first not in self._conditions:
            raise Refusal(
                "while-condition", f"the body of a {head.text} loop must begin with pl.cond(...)", between(word, colon)
            )
        self._conditions.remove(first)
        call = first.value
        if not isinstance(call, ir.Call) or len(call.args) != 1 or call.kwargs or call.attrs:
            raise Refusal("while-condition", "pl.cond takes one condition", first.span)
        self._leave_loop(word, None)
        statements = self._body(body[1:])
        _check_yield(statements)
        return ir.While(call.args[0], statements, carried, initial, between(word, colon), self._note(word))

    def for_scope(self, c: list[Any]) -> ir.Stmt:
        word, target, head, arguments, colon, body = _loop(c)
        call = self._call(head, arguments, c[-3])
        if len(target.parts) != 1 or target.comma:
            raise Refusal(
                "loop-target", f"{head.text} has one loop variable and carries no values", target.parts[-1].span
            )
        name = self._target(target.parts[0])
        self._leave_loop(word, str(head.value))
        assert isinstance(call, ir.Call)
        return ir.Scope(call, self._body(body), name, True, between(word, colon), self._note(word))

    def for_other(self, c: list[Any]) -> ir.Stmt:
        iterator: Part = c[3]
        raise Refusal(
            "loop-iterator",
            f"a loop runs over one of {_ITERATORS}; found something else",
            iterator.span,
            "write pl.range(...)" if iterator.first.text in ("range", "pl") else "",
        )

    def with_stmt(self, c: list[Any]) -> ir.Stmt:
        word, head = c[0], c[1]
        body, colon = c[-1], c[-2]
        name = c[-3].text if isinstance(c[-4], Token) and c[-4].type == "AS" else None
        close = c[-5] if name is not None else c[-3]
        arguments = c[3] if isinstance(c[3], list) else []
        call = self._call(head, arguments, close)
        if not isinstance(call, ir.Call) or "." in call.callee:
            raise Refusal(
                "unknown-scope",
                f"`{head.text}` opens no scope; scopes are pl.at, pl.cluster, pl.scope, pl.spmd",
                head.span,
            )
        return ir.Scope(call, self._body(body), name, False, between(word, colon), self._note(word))

    # --------------------------------------------------------------------------------- loop parts

    def _initial(self, keywords: dict[str, Part]) -> tuple[ir.Expr, ...]:
        part = keywords.get("init_values")
        if part is None:
            return ()
        if not isinstance(part.node, ir.Tuple) or not part.node.items:
            raise Refusal(
                "init-values", "init_values= must be a tuple or list literal", part.span, "write init_values=(x,)"
            )
        return part.node.items

    def _loop_target(
        self, target: Several, given: Part | None, initial: tuple[ir.Expr, ...]
    ) -> tuple[str, tuple[str, ...]]:
        parts = target.parts
        if len(parts) == 1 and not target.comma and not isinstance(parts[0].node, ir.Tuple):
            if given is not None and isinstance(parts[0].node, ir.Name):
                raise Refusal(
                    "init-values",
                    "init_values= is given, but the loop names no carried values",
                    parts[0].span,
                    "write for i, (x,) in ...",
                )
            return self._target(parts[0]), ()
        if len(parts) != 2 or not isinstance(parts[-1].node, ir.Tuple):
            raise Refusal(
                "loop-target",
                "a loop has one variable, or a variable and the carried values",
                parts[-1].span,
                "write for i, (a, b) in ...",
            )
        if given is None:
            raise Refusal(
                "init-values",
                "this loop carries values, but init_values= is missing",
                parts[1].span,
                "add init_values=(...)",
            )
        return self._target(parts[0]), self._carried(Several([parts[1]], False), initial, given)

    def _carried(self, target: Several, initial: tuple[ir.Expr, ...], given: Part) -> tuple[str, ...]:
        part = target.parts[0]
        if len(target.parts) != 1 or target.comma or not isinstance(part.node, ir.Tuple):
            raise Refusal(
                "loop-target", "the carried values stand in one pair of brackets", part.span, "write for (a, b) in ..."
            )
        names = self._targets(target)
        if len(names) != len(initial):
            raise Refusal(
                "init-values",
                f"the loop carries {len(names)} value{'s' * (len(names) != 1)}, but init_values= has {len(initial)}",
                given.span,
            )
        return names

    def _leave_loop(self, word: Token, kind: str | None) -> None:
        """The jumps since `word` belong to this loop, if it can be left early."""
        start = (word.line, word.column)
        while self._jumps and (self._jumps[-1].span.line, self._jumps[-1].span.column) > start:
            jump = self._jumps.pop()
            if kind in ("parallel", "unroll", "split_aiv", "spmd"):
                raise Refusal(
                    "misplaced-jump", f"`{jump.kind}` cannot stand in a pl.{kind} loop", jump.span, "use pl.range"
                )


def _loop(c: list[Any]) -> tuple[Token, Several, Token, list[Argument], Token, tuple[Any, ...]]:
    # "for" exprs "in" HEAD "(" arguments? ")" ":" block
    return c[0], c[1], c[3], c[5] if isinstance(c[5], list) else [], c[-2], c[-1]


def _check_yield(body: tuple[ir.Stmt, ...]) -> None:
    for stmt in body:
        if isinstance(stmt, ir.Yield) and not stmt.targets:
            raise Refusal(
                "yield-target",
                "in a loop that carries values the yield must name the results",
                stmt.span,
                "write x = pl.yield_(...)",
            )


def too_deep(body: tuple[ir.Stmt, ...], levels: int = _DEEPEST_TREE) -> Span | None:
    """The place of a statement more than `levels` deep; an `elif` is one deeper than its `if`."""
    pending = [(stmt, 1) for stmt in body]
    while pending:
        stmt, level = pending.pop()
        if level > levels:
            return stmt.span
        inner: tuple[ir.Stmt, ...] = ()
        if isinstance(stmt, ir.For | ir.While | ir.Scope):
            inner = stmt.body
        elif isinstance(stmt, ir.If):
            inner = stmt.body + (stmt.orelse or ())
        pending += [(item, level + 1) for item in inner]
    return None
