"""Names in trees: what a statement reads and defines, which names are live, and how to rename them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pypto_rw import ir
from pypto_rw.records import fields, is_dataclass, replace

T = TypeVar("T")


def reads(*trees: Any) -> Iterator[str]:
    """Every variable that expressions, types or tuples of them name, in order."""
    stack = list(reversed(trees))
    while stack:
        tree = stack.pop()
        if isinstance(tree, ir.Name):
            yield tree.id
        elif isinstance(tree, tuple):
            stack.extend(reversed(tree))
        elif isinstance(tree, ir.Call) and tree.callee == "setitem":
            stack.extend(tree.args)  # what is stored is read before where it goes
        elif isinstance(tree, ir.Call):  # calls inside are made first
            inner = [a for a in tree.args if isinstance(a, ir.Call)]
            stack.extend(reversed([*inner, *(a for a in tree.args if not isinstance(a, ir.Call)), tree.kwargs]))
        elif is_dataclass(tree) and not isinstance(tree, type):
            stack.extend(reversed([getattr(tree, f.name) for f in fields(tree) if f.name != "span"]))


def renamed(tree: T, new: Callable[[str], str]) -> T:
    """`tree` (an expression, a type, a tuple of them) with every variable renamed."""
    return replaced(tree, lambda name: ir.Name(new(name)))


def replaced(tree: T, new: Callable[[str], ir.Expr]) -> T:
    """`tree` with every variable replaced by an expression; the same object where nothing changes."""
    if isinstance(tree, ir.Name):
        found = new(tree.id)
        return tree if found == tree else found  # type: ignore[return-value]
    if isinstance(tree, tuple):
        items = tuple(replaced(item, new) for item in tree)
        same = all(a is b for a, b in zip(items, tree, strict=True))
        return tree if same else items  # type: ignore[return-value]
    if is_dataclass(tree) and not isinstance(tree, type):
        changed: dict[str, Any] = {}
        for f in fields(tree):
            old = getattr(tree, f.name)
            if isinstance(old, tuple) or (is_dataclass(old) and f.name not in ("span", "call_span")):
                value = replaced(old, new)
                if value is not old:
                    changed[f.name] = value
        return replace(tree, **changed) if changed else tree
    return tree


def substituted(tree: T, values: Mapping[str, ir.Expr]) -> T:
    """`tree` with the variables that `values` knows replaced by what they stand for."""
    return replaced(tree, lambda name: values.get(name, ir.Name(name)))


def assigned(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """Names that a block assigns, blocks inside it included, in order; results of a region count as its own."""
    for stmt in ir.statements(body):
        if isinstance(stmt, ir.Assign | ir.Yield):
            yield from stmt.targets


def live_after(body: tuple[ir.Stmt, ...], after: frozenset[str]) -> tuple[list[frozenset[str]], frozenset[str]]:
    """For every statement the names still needed after it, and the names needed before the block."""
    out: list[frozenset[str]] = []
    live = after
    for stmt in reversed(body):
        out.append(live)
        live = _before(stmt, live)
    out.reverse()
    return out, live


def _before(stmt: ir.Stmt, after: frozenset[str]) -> frozenset[str]:
    match stmt:
        case ir.Assign():
            return (after - set(stmt.targets)) | set(reads(stmt.value, stmt.type))
        case ir.Evaluate():
            return after | set(reads(stmt.value))
        case ir.Yield() | ir.Return():
            return after | set(reads(stmt.values))
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
