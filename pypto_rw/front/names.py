"""Names in trees: what a statement reads and defines, which names are live, and how to rename them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import is_
from typing import Any, TypeVar

from pypto_rw import ir
from pypto_rw.records import fields, is_dataclass, replace

T = TypeVar("T")
_LEAVES = (ir.Int, ir.Float, ir.Bool, ir.Str, ir.Symbol)


def reads(*trees: Any) -> Iterator[str]:
    """Every variable that expressions, types or tuples of them name, in order."""
    stack = list(reversed(trees))
    while stack:
        tree = stack.pop()
        if isinstance(tree, ir.Name):
            yield tree.id
        elif isinstance(tree, tuple):
            stack.extend(tree[::-1])
        elif isinstance(tree, ir.Call) and tree.callee == "setitem":
            stack.extend(tree.args)  # what is stored is read before where it goes
        elif isinstance(tree, ir.Call):  # calls inside are made first
            inner = [a for a in tree.args if isinstance(a, ir.Call)]
            stack.extend(reversed([*inner, *(a for a in tree.args if not isinstance(a, ir.Call)), tree.kwargs]))
        elif not isinstance(tree, _LEAVES):
            stack.extend([getattr(tree, name) for name in reversed(_parts(type(tree))) if name != "span"])


def renamed(tree: T, new: Callable[[str], str]) -> T:
    """`tree` (an expression, a type, a tuple of them) with every variable renamed."""
    return replaced(tree, lambda name: ir.Name(new(name)))


def replaced(tree: T, new: Callable[[str], ir.Expr]) -> T:
    """`tree` with every variable replaced by an expression; the same object where nothing changes."""
    if isinstance(tree, ir.Name):
        found = new(tree.id)
        return tree if found == tree else found  # type: ignore[return-value]
    if isinstance(tree, _LEAVES):
        return tree
    if isinstance(tree, tuple):
        items = tuple([replaced(item, new) for item in tree])
        same = all(map(is_, items, tree))
        return tree if same else items  # type: ignore[return-value]
    node: Any = tree
    changed: dict[str, Any] = {}
    for name in _parts(type(node)):
        old = getattr(node, name)
        if name not in ("span", "call_span") and (isinstance(old, tuple) or _parts(type(old))):
            value = replaced(old, new)
            if value is not old:
                changed[name] = value
    return replace(node, **changed) if changed else node  # type: ignore[no-any-return]


_known_parts: dict[Any, tuple[str, ...]] = {}


def _parts(kind: Any) -> tuple[str, ...]:
    """The fields of a class of trees; of another class none."""
    found = _known_parts.get(kind)
    if found is None:
        found = _known_parts[kind] = tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()
    return found


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
