"""Where a function returns: after all that it does, or in a branch that nothing follows."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir


def early(body: tuple[ir.Stmt, ...], *, last: bool = True) -> Iterator[ir.Return]:
    """Every `return` of a block that something follows; `last`: nothing follows the block.

    No instruction leaves a function early: what follows would run all the same. control-and-scalars.md §1."""
    end = len(body)
    while end and isinstance(body[end - 1], ir.Return):
        end -= 1
    if end < len(body) and not last:
        yield from (s for s in body[end:] if isinstance(s, ir.Return))
    for k, stmt in enumerate(body[:end]):
        match stmt:
            case ir.Return():
                yield stmt
            case ir.If():
                yield from early(stmt.body, last=last and k == end - 1)
                yield from early(stmt.orelse or (), last=last and k == end - 1)
            case ir.For() | ir.While():
                yield from early(stmt.body, last=False)
