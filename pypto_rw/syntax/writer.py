"""Prints a module in the reference printer's raw layout (pyir-syntax.md §1 to §6).

One statement per line, four spaces a level, LF. A parsed dump prints as the bytes it was read from.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.syntax.writer_terms import Terms, names_tuple, quoted

_INDENT = "    "
_ALLOCATIONS = frozenset({"alloc", "tile.alloc", "tensor.alloc"})


def write(module: ir.Module) -> str:
    """Text of `module`, ending in one line feed. Any module prints, well-typed or not.

    Source: pyir-syntax.md §2, §3."""
    prefix = module.prefix
    lines: list[str] = []
    if module.header is not None:
        lines.append(f"# pypto.program: {module.header}")
    plain = prefix == "pl"
    lines += ("import pypto.language as pl" if plain else f"from pypto import language as {prefix}", "")

    functions = frozenset(function.name for function in module.functions)
    outside = Terms(prefix=prefix, defined=frozenset(), functions=functions)
    lines += [f"{name} = {prefix}.dynamic({quoted(symbol)})" for name, symbol in module.dynamic]
    if module.constants:
        _block(lines, "", module.constants, outside)
    if module.dynamic or module.constants:
        lines.append("")

    indent = ""
    if module.name is not None:
        lines += (f"@{prefix}.program", f"class {module.name}:")
        indent = _INDENT
        if not module.functions:
            lines.append(f"{indent}pass")
    for number, function in enumerate(module.functions):
        if number and module.name is None:
            lines.append("")
        defined = frozenset(_allocated(function.body))
        inside = Terms(prefix=prefix, defined=defined, functions=functions) if defined else outside
        _function(lines, indent, function, outside, inside)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def head_text(stmt: ir.Stmt) -> str:
    """The first line of a statement's text."""
    lines: list[str] = []
    _block(lines, "", (stmt,), Terms(prefix="pl", defined=frozenset(), functions=frozenset()))
    return lines[0]


def _allocated(body: tuple[ir.Stmt, ...]) -> list[str]:
    return [
        stmt.targets[0]
        for stmt in ir.statements(body)
        if isinstance(stmt, ir.Assign)
        and isinstance(stmt.value, ir.Call)
        and stmt.value.callee in _ALLOCATIONS
        and len(stmt.targets) == 1
    ]


def _function(lines: list[str], indent: str, function: ir.Function, signature: Terms, inside: Terms) -> None:
    p = signature.prefix
    options = [] if function.kind is None else [f"type={p}.FunctionType.{function.kind}"]
    options += [f"{key}={signature.option(value)}" for key, value in function.options]
    lines.append(f"{indent}@{p}.function" + (f"({', '.join(options)})" if options else ""))
    params = ["self"] if function.self_ else []
    for param in function.params:
        text = signature.type(param.type)
        text = text if param.direction == "In" else f"{p}.{param.direction}[{text}]"
        params.append(f"{param.name}: {text}")
    arrow = "" if function.returns is None else f" -> {signature.type(function.returns)}"
    lines.append(f"{indent}def {function.name}({', '.join(params)}){arrow}:")
    indent += _INDENT
    if function.attrs:
        lines.append(f"{indent}{p}.func_attr({signature.attrs(function.attrs)})")
    _block(lines, indent, function.body, inside)


def _block(lines: list[str], indent: str, body: tuple[ir.Stmt, ...], terms: Terms) -> None:
    if not body:
        lines.append(f"{indent}pass")
    for stmt in body:
        if stmt.comments:
            _comments(lines, indent, stmt.comments)
        match stmt:
            case ir.Assign():
                target = _targets(stmt.targets, stmt.type, terms)
                lines.append(f"{indent}{target} = {terms.expr(stmt.value)}")
            case ir.Evaluate():
                lines.append(indent + terms.expr(stmt.value))
            case ir.Yield():
                target = f"{_targets(stmt.targets, stmt.type, terms)} = " if stmt.targets else ""
                lines.append(f"{indent}{target}{terms.prefix}.yield_({terms.exprs(stmt.values)})")
            case ir.Return():
                lines.append(f"{indent}return {_returned(stmt.values, terms)}".rstrip())
            case ir.Jump():
                lines.append(indent + stmt.kind)
            case ir.For():
                lines.append(indent + _for_head(stmt, terms))
                _block(lines, indent + _INDENT, stmt.body, terms)
            case ir.If():
                _if(lines, indent, stmt, terms)
            case ir.While():
                _while(lines, indent, stmt, terms)
            case ir.Scope():
                _scope(lines, indent, stmt, terms)


def _comments(lines: list[str], indent: str, comments: tuple[str, ...]) -> None:
    for comment in comments:
        texts = comment.splitlines() or [""]
        lines += [f"{indent}{text if text.startswith('#') else f'# {text}'}".rstrip() for text in texts]


def _targets(targets: tuple[str, ...], type_: ir.Type | None, terms: Terms) -> str:
    if type_ is None or len(targets) != 1:
        return ", ".join(targets)
    return f"{targets[0]}: {terms.type(type_)}"


def _returned(values: tuple[ir.Expr, ...], terms: Terms) -> str:
    # A parenthesised tuple alone would read back as several results.
    match values:
        case (ir.Tuple(items),):
            return terms.expr(ir.Tuple(items))
        case _:
            return terms.exprs(values)


def _initial(values: tuple[ir.Expr, ...], terms: Terms) -> str:
    return f"init_values={names_tuple([terms.expr(value) for value in values])}"


def _for_head(loop: ir.For, terms: Terms) -> str:
    arguments = [terms.expr(bound) for bound in loop.bounds]
    if loop.stage is not None:
        arguments.append(f"stage={loop.stage}")
    if loop.initial:
        arguments.append(_initial(loop.initial, terms))
    if loop.attrs:
        arguments.append(f"attrs={terms.attrs(loop.attrs)}")
    target = f"{loop.variable}, {names_tuple(loop.carried)}" if loop.carried else loop.variable
    return f"for {target} in {terms.prefix}.{loop.kind}({', '.join(arguments)}):"


def _while(lines: list[str], indent: str, loop: ir.While, terms: Terms) -> None:
    if not loop.carried:
        lines.append(f"{indent}while {terms.expr(loop.condition)}:")
        _block(lines, indent + _INDENT, loop.body, terms)
        return
    initial = _initial(loop.initial, terms)
    lines.append(f"{indent}for {names_tuple(loop.carried)} in {terms.prefix}.while_({initial}):")
    lines.append(f"{indent}{_INDENT}{terms.prefix}.cond({terms.expr(loop.condition)})")
    if loop.body:
        _block(lines, indent + _INDENT, loop.body, terms)


def _if(lines: list[str], indent: str, branch: ir.If, terms: Terms) -> None:
    word = "if"
    while True:
        lines.append(f"{indent}{word} {terms.expr(branch.condition)}:")
        _block(lines, indent + _INDENT, branch.body, terms)
        match branch.orelse:
            case None:
                return
            case (ir.If(elif_=True) as inner,):
                _comments(lines, indent, inner.comments)
                branch, word = inner, "elif"
            case orelse:
                lines.append(f"{indent}else:")
                _block(lines, indent + _INDENT, orelse, terms)
                return


def _scope(lines: list[str], indent: str, scope: ir.Scope, terms: Terms) -> None:
    call = terms.call(scope.call, quote='"')
    if scope.loop:
        lines.append(f"{indent}for {scope.name or '_'} in {call}:")
    else:
        lines.append(f"{indent}with {call}{f' as {scope.name}' if scope.name is not None else ''}:")
    _block(lines, indent + _INDENT, scope.body, terms)
