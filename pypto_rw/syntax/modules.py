"""Actions of the file-level rules of grammar/pyir.lark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.records import dataclass
from pypto_rw.syntax.constants import known_number
from pypto_rw.syntax.heads import ClassHead, Head, Parameter
from pypto_rw.syntax.memo import Annotation
from pypto_rw.syntax.parts import Applied, Part, Record, between
from pypto_rw.syntax.statements import Statements, too_deep
from pypto_rw.syntax.tokens import Refusal, Token, near

_IMPORTS = "import pypto.language as pl"


@dataclass(slots=True)
class _Program:
    name: str
    functions: tuple[ir.Function, ...]
    span: Span


class Modules(Statements):
    """The actions of the whole grammar; `file` gives the ir.Module."""

    def __init__(self, comments: dict[int, tuple[str, ...]], prefix: str, header: str | None) -> None:
        super().__init__(comments)
        self.learn: Callable[[Part, Annotation], None] = lambda part, annotation: None
        self.learn_decorator: Callable[[Token, Part, Token], None] = lambda at, part, end: None
        self._import_name = prefix
        self._header = header
        self._locals: list[tuple[str, Part | None]] = []

    def file(self, c: list[Any]) -> ir.Module:
        """The module of one file's statements."""
        programs = [item for item in c if isinstance(item, _Program)]
        functions = [item for item in c if isinstance(item, ir.Function)]
        dynamic: list[tuple[str, str]] = []
        constants: list[ir.Assign] = []
        for item in c:
            if item is None or isinstance(item, _Program | ir.Function):
                continue
            if not isinstance(item, ir.Assign):
                what = "`return`" if isinstance(item, ir.Return) else "this statement"
                raise Refusal(
                    "outside-function",
                    f"{what} stands outside a function",
                    item.span,
                    "indent it into a function; at file level only imports and assignments can stand",
                )
            symbol = _dynamic(item)
            if symbol is None:
                constants.append(item)
            else:
                dynamic.append((item.targets[0], symbol))
        if len(programs) > 1:
            raise Refusal(
                "two-programs",
                f"a second program `{programs[1].name}`; a file has one, here `{programs[0].name}`",
                programs[1].span,
                "put it into a file of its own",
            )
        if programs and functions:
            raise Refusal(
                "outside-program",
                f"function `{functions[0].name}` stands outside the program `{programs[0].name}`",
                functions[0].span,
                "move it into the class",
            )
        if not programs and not functions:
            raise Refusal(
                "no-function", "no function is defined in this file", Span(1, 1, 1, 1), "define one below @pl.function"
            )
        name = programs[0].name if programs else None
        members = programs[0].functions if programs else tuple(functions)
        self._check_names(members)
        return ir.Module(name, members, tuple(dynamic), tuple(constants), self._header, self._import_name)

    def _check_names(self, functions: tuple[ir.Function, ...]) -> None:
        names: dict[str, ir.Function] = {}
        for function in functions:
            if function.name in names:
                first = names[function.name].span.line
                raise Refusal(
                    "repeated-function",
                    f"function `{function.name}` is defined twice; the first stands in line {first}",
                    function.span,
                    "rename one of them",
                )
            names[function.name] = function
        for called, span in self.plain_calls:
            if called not in names:
                close = near(called, [*names])
                raise Refusal(
                    "unknown-function",
                    f"no function `{called}` is defined in this file, and ops start with `{self._import_name}.`",
                    span,
                    f"did you mean {close}?" if close else f"write {self._import_name}.{called}(...) for an op",
                )
        if self._jumps:
            jump = self._jumps[0]
            raise Refusal("misplaced-jump", f"`{jump.kind}` stands outside a loop", jump.span)
        if self._conditions:
            raise Refusal(
                "misplaced-condition",
                "pl.cond belongs at the start of a pl.while_ loop, and nowhere else",
                self._conditions[0].span,
            )

    # ------------------------------------------------------------------------------------ imports

    def path(self, c: list[Token]) -> Token:
        return c[0]

    def import_stmt(self, c: list[Any]) -> None:
        module: Token = c[1]
        if module.text not in ("pypto.language", "pypto.language.distributed") or len(c) != 5:
            raise self._import(between(c[0], c[-2]))

    def from_import(self, c: list[Any]) -> None:
        if c[1].text != "pypto" or c[3].text != "language":
            raise self._import(between(c[0], c[-2]))

    def _import(self, span: Span) -> Refusal:
        return Refusal(
            "unsupported-import", "only pypto.language can be imported, under a name", span, f"write {_IMPORTS}"
        )

    def assign(self, c: list[Any]) -> ir.Stmt:
        statement = super().assign(c)
        first: Token = c[0].parts[0].first
        # Column 1 is the file level: nothing else can stand there. In a function, a name for a type or for a part
        # of one holds to the function's end.
        if not c[0].comma and not c[2].comma:
            part: Part = c[2].parts[0]
            if first.column == 1:
                number = known_number(part, self.constants)
                self.constants[first.text] = part if number is None else Part(number, part.first, part.last)
            elif isinstance(part.node, Record | Applied):
                self._locals.append((first.text, self.constants.get(first.text)))
                self.constants[first.text] = part
        return statement

    def _forget_locals(self) -> None:
        while self._locals:
            name, before = self._locals.pop()
            if before is None:
                del self.constants[name]
            else:
                self.constants[name] = before

    # --------------------------------------------------------------------------------- definitions

    def decorator(self, c: list[Any]) -> Part:
        if len(c) == 1:
            known: Part = c[0].value
            return known
        part: Part = c[1]
        self.learn_decorator(*c)
        return part

    def bases(self, c: list[Any]) -> Token:
        if len(c) == 3:
            raise Refusal("unsupported-syntax", "a program has no base classes", between(c[0], c[-1]), "remove them")
        token: Token = c[0]
        return token

    def class_head(self, c: list[Any]) -> ClassHead:
        if len(c) == 1:
            known: ClassHead = c[0].value
            return known
        return ClassHead(c[0], c[1], c[-1])

    def program(self, c: list[Any]) -> _Program:
        head: ClassHead = c[-2]
        name, span = head.name, between(head.word, head.colon)
        decorators: list[Part] = c[:-2]
        if not decorators:
            raise Refusal(
                "missing-decorator",
                f"class `{name.text}` is not marked as a program",
                span,
                f"write @{self._import_name}.program above it",
            )
        for part in decorators:
            if _decorator(part) != "program" or part is not decorators[0]:
                raise _unknown_decorator(part, "program", self._import_name, part is not decorators[0])
        for item in c[-1]:
            if not isinstance(item, ir.Function):
                raise Refusal(
                    "outside-function",
                    "this statement stands in the class, outside a function",
                    item.span,
                    "indent it into a function",
                )
        return _Program(name.text, c[-1], span)

    def parameters(self, c: list[Any]) -> list[Parameter]:
        return c[::2]

    def parameter(self, c: list[Any]) -> Parameter:
        name: Token = c[0]
        if len(c) > 1 and c[-2].type == "EQUAL":
            raise Refusal(
                "unsupported-syntax",
                f"parameter `{name.text}` has a default value; parameters have none",
                c[-1].span,
                "remove it",
            )
        return Parameter(name, c[2] if len(c) > 1 else None)

    def returns(self, c: list[Any]) -> Part:
        part: Part = c[1]
        return part

    def head(self, c: list[Any]) -> Head:
        if len(c) == 1:
            known: Head = c[0].value
            return known
        return Head(
            c[0], c[1], c[3] if isinstance(c[3], list) else [], c[-2] if isinstance(c[-2], Part) else None, c[-1]
        )

    def function(self, c: list[Any]) -> ir.Function:
        head: Head = c[-2]
        name, parameters = head.name, head.parameters
        span = between(head.word, head.colon)
        kind, options = self._options(c[:-2], name, span)
        self_ = bool(parameters) and parameters[0].name.text == "self" and parameters[0].annotation is None
        params: dict[str, ir.Param] = {}
        for parameter in parameters[self_:]:
            if parameter.name.text in params:
                raise Refusal(
                    "repeated-parameter", f"parameter `{parameter.name.text}` is there twice", parameter.name.span
                )
            params[parameter.name.text] = self._param(parameter)
        result: ir.Type | None = None
        if isinstance(head.returns, Part):
            result = self.types.read(head.returns)
            self.learn(head.returns, ("In", result))
        elif head.returns is not None:
            result = head.returns
        self._forget_locals()
        body = c[-1]
        attrs: tuple[tuple[str, ir.Expr], ...] = ()
        match body:
            case (ir.Evaluate(ir.Call("func_attr") as call), *_):
                attrs, body = call.attrs, body[1:]
        body = self._body(body)
        if self._elifs > 8 or len(body) < 200:
            place = too_deep(body)
            if place is not None:
                raise Refusal("too-deep", "blocks are nested too deep here", place, "move the inner part to a function")
        return ir.Function(name.text, tuple(params.values()), body, kind, options, attrs, result, self_, span)

    def _param(self, parameter: Parameter) -> ir.Param:
        name, part = parameter.name, parameter.annotation
        if isinstance(part, Token):
            known: Any = part.value
            return ir.Param(name.text, known[1], known[0], between(name, part))
        if part is None:
            raise Refusal(
                "parameter-type",
                f"parameter `{name.text}` has no type",
                name.span,
                f"write {name.text}: pl.Tensor[[64, 64], pl.FP32]",
            )
        direction, span, whole = "In", between(name, part.last), part
        node = part.node
        if isinstance(node, Applied) and node.head.value in ("Out", "InOut"):
            direction = str(node.head.value)
            arguments = node.arguments
            if len(arguments) != 1 or arguments[0].name is not None:
                raise Refusal("type-arguments", f"`{node.head.text}` needs one type in its brackets", part.span)
            part = arguments[0].part
        type_ = self.types.read(part)
        self.learn(whole, (direction, type_))
        return ir.Param(name.text, type_, direction, span)

    def _options(
        self, decorators: list[Part], name: Token, span: Span
    ) -> tuple[str | None, tuple[tuple[str, ir.Expr], ...]]:
        if not decorators:
            raise Refusal(
                "missing-decorator",
                f"function `{name.text}` is not marked as one",
                span,
                f"write @{self._import_name}.function above it",
            )
        for part in decorators:
            if _decorator(part) != "function" or part is not decorators[0]:
                raise _unknown_decorator(part, "function", self._import_name, part is not decorators[0])
        call = decorators[0].node
        if not isinstance(call, ir.Call):
            return None, ()
        if call.args or call.attrs:
            raise Refusal("decorator", "this decorator takes keyword arguments only", decorators[0].span)
        kind: str | None = None
        options: list[tuple[str, ir.Expr]] = []
        for key, value in call.kwargs:
            if key != "type":
                options.append((key, value))
            elif isinstance(value, ir.Symbol) and value.path.startswith("FunctionType."):
                kind = value.path.partition(".")[2]
            else:
                raise Refusal("decorator", "type= must be one of pl.FunctionType", decorators[0].span)
        return kind, tuple(options)


def _decorator(part: Part) -> str:
    match part.node:
        case ir.Symbol(path):
            return path
        case ir.Call(callee):
            return callee
        case _:
            return ""


def _unknown_decorator(part: Part, wanted: str, prefix: str, again: bool) -> Refusal:
    if again:
        return Refusal("decorator", "there is a second decorator; one is allowed", part.span, "remove it")
    return Refusal(
        "decorator",
        f"this is not the decorator that belongs here: @{prefix}.{wanted}",
        part.span,
        f"write @{prefix}.{wanted}",
    )


def _dynamic(item: ir.Assign) -> str | None:
    match item:
        case ir.Assign((_,), None, ir.Call("dynamic", (ir.Str(symbol),), (), ())):
            return symbol
        case _:
            return None
