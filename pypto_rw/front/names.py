"""Names in trees: what a statement reads and defines, which names are live, and how to rename them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import is_
from typing import Any, TypeVar

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.records import fields, is_dataclass, replace

T = TypeVar("T")
NO_TREES = frozenset({ir.Int, ir.Float, ir.Bool, ir.Str, ir.Symbol, Span, str, int, bool, type(None)})
"""Classes of which no tree has variables inside."""


def reads(*trees: Any) -> Iterator[str]:
    """Every variable that expressions, types or tuples of them name, in order."""
    stack = list(reversed(trees))
    while stack:
        tree = stack.pop()
        kind = type(tree)
        if kind is ir.Name:
            yield tree.id
        elif kind is tuple:
            stack.extend(tree[::-1])
        elif kind is ir.Call and tree.callee == "setitem":
            stack.extend(tree.args)  # what is stored is read before where it goes
        elif kind is ir.Call:  # calls inside are made first
            inner = [a for a in tree.args if type(a) is ir.Call]
            stack.extend(reversed([*inner, *(a for a in tree.args if type(a) is not ir.Call), tree.kwargs]))
        elif kind not in NO_TREES:
            stack.extend([getattr(tree, name) for name in reversed(parts(kind))])


def renamed(tree: T, new: Callable[[str], str]) -> T:
    """`tree` (an expression, a type, a tuple of them) with every variable renamed."""
    return replaced(tree, lambda name: ir.Name(new(name)))


def replaced(tree: T, new: Callable[[str], ir.Expr]) -> T:
    """`tree` with every variable replaced by an expression; the same object where nothing changes."""
    kind = type(tree)
    if kind is ir.Name:
        found = new(tree.id)  # type: ignore[attr-defined]
        return tree if found == tree else found  # type: ignore[return-value]
    if kind in NO_TREES:
        return tree
    node: Any = tree
    if kind is tuple:
        items = tuple([item if type(item) in NO_TREES else replaced(item, new) for item in node])
        return tree if all(map(is_, items, node)) else items  # type: ignore[return-value]
    changed: dict[str, Any] = {}
    for name in parts(kind):
        old = getattr(node, name)
        if type(old) not in NO_TREES:
            value = replaced(old, new)
            if value is not old:
                changed[name] = value
    return replace(node, **changed) if changed else node  # type: ignore[no-any-return]


_known_parts: dict[Any, tuple[str, ...]] = {}


def parts(kind: Any) -> tuple[str, ...]:
    """The fields of a class of trees, without places; of another class none."""
    found = _known_parts.get(kind)
    if found is None:
        named = tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()
        found = _known_parts[kind] = tuple(name for name in named if name not in ("span", "call_span"))
    return found


def substituted(tree: T, values: Mapping[str, ir.Expr]) -> T:
    """`tree` with the variables that `values` knows replaced by what they stand for."""
    return replaced(tree, lambda name: values.get(name, ir.Name(name)))


def assigned(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """Names that a block assigns, blocks inside it included, in order; results of a region count as its own."""
    for stmt in ir.statements(body):
        if isinstance(stmt, ir.Assign | ir.Yield):
            yield from stmt.targets


def live_after(body: tuple[ir.Stmt, ...], after: frozenset[str]) -> tuple[dict[int, frozenset[str]], frozenset[str]]:
    """For every statement with a body, by position, the names still needed after it; the names needed before all."""
    out: dict[int, frozenset[str]] = {}
    live = set(after)
    for k in range(len(body) - 1, -1, -1):
        stmt = body[k]
        match stmt:
            case ir.Assign():
                live.difference_update(stmt.targets)
                live.update(reads(stmt.value, stmt.type))
            case ir.Evaluate():
                live.update(reads(stmt.value))
            case ir.Yield() | ir.Return():
                live.update(reads(stmt.values))
            case _:
                out[k] = frozenset(live)
                live = set(_before(stmt, out[k]))
    return out, frozenset(live)


def _before(stmt: ir.Stmt, after: frozenset[str]) -> frozenset[str]:
    match stmt:
        case ir.If():
            results = _results(stmt.body)
            then = live_after(stmt.body, after - results)[1]
            other = live_after(stmt.orelse or (), after - results)[1]
            return then | other | set(reads(stmt.condition))
        case ir.For() | ir.While():
            outside = after - _results(stmt.body)
            inside = frozenset(stmt.carried)
            head: tuple[Any, ...] = stmt.bounds if isinstance(stmt, ir.For) else (stmt.condition,)
            if isinstance(stmt, ir.For):
                inside |= {stmt.variable}
            else:
                outside |= frozenset(reads(head)) - inside
            # What a body needs, it needs at its end too; that adds nothing that it does not need at its start.
            body = live_after(stmt.body, outside)[1] - inside
            first = set(reads(head)) if isinstance(stmt, ir.For) else set()
            return outside | body | first | set(reads(stmt.initial))
        case ir.Scope():
            return live_after(stmt.body, after)[1] | set(reads(stmt.call))
    return after


def _results(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    last = body[-1] if body else None
    return frozenset(last.targets) if isinstance(last, ir.Yield) else frozenset()


def fresh(taken: set[str], name: str) -> str:
    """`name`, numbered where it is taken; it is taken afterwards."""
    new, number = name, 0
    while new in taken:
        number += 1
        new = f"{name}_{number}"
    taken.add(new)
    return new
