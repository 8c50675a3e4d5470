"""Paths into a module: field names and positions from the top."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypto_rw.records import fields, is_dataclass, replace

Path = tuple[str | int, ...]
_PLACES = frozenset({"span", "call_span"})


def at(tree: Any, path: Path) -> Any:
    """What stands at `path`."""
    for step in path:
        tree = tree[step] if isinstance(step, int) else getattr(tree, step)
    return tree


def put(tree: Any, path: Path, new: Any) -> Any:
    """`tree` with `new` at `path`."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return (*tree[:step], put(tree[step], rest, new), *tree[step + 1 :])
    return replace(tree, **{step: put(getattr(tree, step), rest, new)})


def nodes(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every data class below `tree` with its path, outer before inner, in order."""
    if isinstance(tree, tuple):
        for k, item in enumerate(tree):
            yield from nodes(item, (*path, k))
    elif is_dataclass(tree):
        yield path, tree
        for f in fields(tree):
            if f.name not in _PLACES:
                yield from nodes(getattr(tree, f.name), (*path, f.name))
