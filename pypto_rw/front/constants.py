"""Module-level constants (`N = 64`, `HALF = N // 2`) are put in wherever functions name them.

A constant is a number, a string, a member of pl, a list of such, or an expression of numbers and of constants above it.
A parameter or variable of the same name hides it in its function, as in Python.
"""

from __future__ import annotations

from operator import is_
from typing import Any, TypeVar

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError
from pypto_rw.front.names import NO_TREES, assigned, parts, reads, substituted
from pypto_rw.records import replace
from pypto_rw.shaping.values import Refused
from pypto_rw.syntax.constants import constant, folded

T = TypeVar("T")
_FOLDED = frozenset({"+", "-", "*", "//", "%"})
_WHOLE = NO_TREES | {ir.Name}
_TYPE_PARTS = frozenset({"MemRef", "TensorView", "TileView"})  # the parser puts these into types


def with_constants(module: ir.Module, *, filename: str, source: str = "") -> ir.Module:
    """`module` with its constants in their places. Raises CompileError for one that is used and is no constant."""
    values: dict[str, ir.Expr] = {}
    wrong: dict[str, Refused] = {}
    for item in module.constants:
        if isinstance(item.value, ir.Call) and item.value.callee in _TYPE_PARTS:
            continue
        for name in item.targets:
            if name in values or name in wrong:
                wrong[name] = Refused(
                    "module-constant",
                    f"{name} is a constant, but it is given a value twice",
                    item.span,
                    "name the second one otherwise: a constant is one for all functions of the file",
                )
                continue
            if len(item.targets) > 1:
                wrong[name] = Refused(
                    "module-constant",
                    f"{', '.join(item.targets)} are given values together",
                    item.span,
                    "write one constant a line: N = 16",
                )
                continue
            try:
                values[name] = constant(item.value, values)
            except ValueError as error:
                wrong[name] = _wrong(item, str(error))
    functions = []
    diagnostics = []
    for function in module.functions:
        own = {p.name for p in function.params} | set(assigned(function.body)) | set(_variables(function.body))
        named = set(reads(function.params, function.body, function.returns)) - own
        for name, refused in wrong.items():
            if name in named:
                diagnostics.append(refused.diagnostic(refused.span or function.span, filename, function.name))
        known = {n: v for n, v in values.items() if n in named}
        try:
            _extents(function, known)
        except Refused as refused:
            diagnostics.append(refused.diagnostic(refused.span or function.span, filename, function.name))
        functions.append(substituted(function, known) if known else function)
    if diagnostics:
        raise CompileError(list({(d.span, d.message): d for d in diagnostics}.values()), source)
    left = tuple(c for c in module.constants if not values.keys() & set(c.targets))
    return replace(module, functions=tuple(functions), constants=left)


def folded_indices(tree: T) -> T:
    """`tree` with the arithmetic of bare integers done: `[64 // 4, N]` is `[16, N]`."""
    node: Any = tree
    kind = type(node)
    if (kind is ir.Assign or kind is ir.Evaluate) and _folds_nothing(node):
        return tree
    if kind is tuple:
        items = tuple([item if type(item) in NO_TREES else folded_indices(item) for item in node])
        return tree if all(map(is_, items, node)) else items  # type: ignore[return-value]
    changed: dict[str, Any] = {}
    for name in parts(kind):
        old = getattr(node, name)
        if type(old) not in NO_TREES:
            new = folded_indices(old)
            if new is not old:
                changed[name] = new
    if changed:
        node = replace(node, **changed)
    if kind is ir.Binary and node.op in _FOLDED and _bare(node.left) and _bare(node.right):
        return folded(node)  # type: ignore[return-value]
    return node  # type: ignore[no-any-return]


def _folds_nothing(stmt: ir.Assign | ir.Evaluate) -> bool:
    """Whether a statement is a call without a type, with variables, constants and lists of them as arguments."""
    call = stmt.value
    if not isinstance(call, ir.Call) or call.attrs or (isinstance(stmt, ir.Assign) and stmt.type is not None):
        return False
    for a in (*call.args, *[a for _, a in call.kwargs]) if call.kwargs else call.args:
        if type(a) not in _WHOLE and not (isinstance(a, ir.Tuple) and _WHOLE.issuperset(map(type, a.items))):
            return False
    return True


def _bare(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Int) and expr.dtype is ir.DType.INDEX


def _variables(body: tuple[ir.Stmt, ...]) -> list[str]:
    """Names that loops define."""
    loops = [s for s in ir.statements(body) if isinstance(s, ir.For | ir.While)]
    return [n for s in loops for n in (*s.carried, *([s.variable] if isinstance(s, ir.For) else ()))]


def _wrong(item: ir.Assign, why: str) -> Refused:
    return Refused(
        "module-constant",
        f"{', '.join(item.targets)} is no constant: {why}",
        item.span,
        "write a number, or an expression of numbers and of constants above it",
    )


def _extents(function: ir.Function, known: dict[str, ir.Expr]) -> None:
    """Raises Refused where a constant that is no integer stands in a type."""
    places: list[tuple[str, ir.Type | None, ir.Stmt | ir.Param]] = [(p.name, p.type, p) for p in function.params]
    places += [
        (", ".join(s.targets), s.type, s)
        for s in ir.statements(function.body)
        if isinstance(s, ir.Assign | ir.Yield) and s.type is not None
    ]
    for what, t, place in places:
        for name in reads(t):
            if name in known and not isinstance(known[name], ir.Int):
                raise Refused(
                    "constant-extent",
                    f"the type of {what} names {name}, which is no integer",
                    place.span,
                    "an extent is an integer: make the constant one (// divides integers)",
                )
