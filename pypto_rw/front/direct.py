"""Blocks that a loop puts into a tile, which is then stored, are stored by the loop directly.

    acc = pl.tile.full([64, 32], …)
    for i, (acc_1,) in pl.range(4, init_values=(acc,)):      for i, (y_1,) in pl.range(4, init_values=(y,)):
        acc_2 = pl.tile.assemble(acc_1, e, [i * 16, 0])  =>      y_2 = pl.tile.store(e, [i * 16, 0], y_1)
        acc_3 = pl.yield_(acc_2)                                 y_3 = pl.yield_(y_2)
    y_4 = pl.tile.store(acc_3, [0, 0], y)

Only where the blocks are known to fill the tile, and nothing else reads it or touches the tensor in between.
"""

from __future__ import annotations

from typing import NamedTuple

from pypto_rw import ir
from pypto_rw.front.names import reads
from pypto_rw.layout import effective_view
from pypto_rw.records import replace
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.shaping.arguments import bind


class _Call(NamedTuple):
    """A call with its arguments by name, and what its op's fact says about them."""

    stmt: ir.Assign
    arguments: dict[str, ir.Expr]
    words: tuple[str, ...]

    def name(self, word: int) -> str:
        """The variable that the argument named by the fact's word is, "" for none."""
        expr = self.arguments.get(self.words[word])
        return expr.id if isinstance(expr, ir.Name) else ""


def stored_directly(function: ir.Function, rulebook: Rulebook) -> ir.Function:
    """`function` with such loops rewritten."""
    body = list(function.body)
    for at, stmt in enumerate(body):
        if isinstance(stmt, ir.For):
            found = _rewritten(body, at, stmt, rulebook)
            if found is not None:
                body[:] = found
    return replace(function, body=tuple(body))


def _rewritten(body: list[ir.Stmt], at: int, loop: ir.For, rulebook: Rulebook) -> list[ir.Stmt] | None:
    end = loop.body[-1] if loop.body else None
    if not isinstance(end, ir.Yield) or len(loop.carried) != 1:
        return None
    carried, yielded, result = loop.carried[0], end.values[0], end.targets[0]
    start = loop.initial[0]
    first = next((s for s in body[:at] if isinstance(s, ir.Assign) and ir.Name(s.targets[0]) == start), None)
    last = next((s for s in body[at + 1 :] if isinstance(s, ir.Assign) and result in reads(s.value)), None)
    write = next((s for s in loop.body if isinstance(s, ir.Assign) and ir.Name(s.targets[0]) == yielded), None)
    if first is None or last is None or write is None or not isinstance(first.value, ir.Call):
        return None
    puts, stores = _fact(write, "writes-window", rulebook), _fact(last, "stores-whole", rulebook)
    made = rulebook.signature(first.value.callee)
    if puts is None or stores is None or made is None or any(p.kind == "tile" for p in made.parameters):
        return None
    used_once = (
        puts.name(0) == carried
        and stores.name(0) == result
        and _uses(body, first.targets[0]) == 1
        and _uses(list(loop.body), carried) == 1
        and _uses(list(loop.body), write.targets[0]) == 1
        and _uses(body, result) == 1
    )
    tensor = stores.name(2)
    between = body[at : body.index(last)]
    if not used_once or not tensor or _uses(between, tensor) or not _fills(loop, puts, first, write):
        return None
    offsets, window = stores.arguments.get(stores.words[1]), puts.arguments.get(puts.words[2])
    if not isinstance(offsets, ir.Tuple) or not isinstance(window, ir.Tuple) or len(offsets.items) != 2:
        return None
    moved = tuple(
        w if o == ir.Int(0) else ir.Binary("+", w, o) for o, w in zip(offsets.items, window.items, strict=True)
    )
    assert isinstance(last.value, ir.Call)
    values = {
        stores.words[0]: puts.arguments[puts.words[1]],
        stores.words[1]: replace(offsets, items=moved),
        stores.words[2]: ir.Name(carried),
    }
    signature = rulebook.signature(last.value.callee)
    assert signature is not None
    names = [p.name for p in signature.parameters]
    args = tuple(values.get(names[k], a) for k, a in enumerate(last.value.args))
    store = replace(last, targets=write.targets, value=replace(last.value, args=args), span=write.span)
    inner = tuple(store if s is write else s for s in loop.body[:-1])
    new = replace(loop, initial=(ir.Name(tensor),), body=(*inner, replace(end, type=last.type)))
    alias = replace(last, value=ir.Name(result))
    kept = [s for s in body[:at] if s is not first]
    return [*kept, new, *(alias if s is last else s for s in body[at + 1 :])]


def _fact(stmt: ir.Assign, fact: str, rulebook: Rulebook) -> _Call | None:
    call = stmt.value
    signature = rulebook.signature(call.callee) if isinstance(call, ir.Call) else None
    words = signature.trait(fact) if signature is not None else None
    if not isinstance(call, ir.Call) or signature is None or words is None:
        return None
    return _Call(stmt, bind(call, signature), words)


def _uses(body: list[ir.Stmt], name: str) -> int:
    return sum(list(reads(stmt)).count(name) for stmt in body)


def _fills(loop: ir.For, puts: _Call, first: ir.Assign, write: ir.Assign) -> bool:
    """Whether the blocks of all rounds cover the whole tile: they move along one axis by their own extent."""
    whole = first.type
    offsets = puts.arguments.get(puts.words[2])
    source = next((s for s in loop.body if isinstance(s, ir.Assign) and puts.name(1) in s.targets), None)
    block = source.type if source is not None else None
    if not isinstance(whole, ir.TileType) or not isinstance(block, ir.TileType) or not isinstance(offsets, ir.Tuple):
        return False
    if effective_view(block).valid != block.shape or effective_view(whole).valid != whole.shape:
        return False
    stop, begin, step = _bounds(loop)
    if stop is None or begin is None or step is None:
        return False
    rounds = range(begin, stop, step)
    moving = 0
    for offset, extent, size in zip(offsets.items, block.shape, whole.shape, strict=True):
        if not isinstance(extent, ir.Int) or not isinstance(size, ir.Int):
            return False
        if offset == ir.Int(0) and extent == size:
            continue
        stride = _stride(offset, loop.variable)
        moving += 1
        if (
            stride is None
            or stride * step != extent.value
            or begin * stride
            or len(rounds) * extent.value != size.value
        ):
            return False
    return moving == 1


def _bounds(loop: ir.For) -> tuple[int | None, int | None, int | None]:
    values = [b.value if isinstance(b, ir.Int) else None for b in loop.bounds]
    if len(values) == 1:
        return values[0], 0, 1
    return values[1], values[0], values[2] if len(values) == 3 else 1


def _stride(offset: ir.Expr, variable: str) -> int | None:
    """The factor k of an offset `i * k`."""
    if offset == ir.Name(variable):
        return 1
    if isinstance(offset, ir.Binary) and offset.op == "*" and offset.left == ir.Name(variable):
        return offset.right.value if isinstance(offset.right, ir.Int) else None
    return None
