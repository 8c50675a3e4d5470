"""From a planned tree back to the function: types with their `pl.MemRef`, allocations at the head, inserted moves."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.memory.tree import Block, Branch, Loop, Memory, Step, Tree, Variable
from pypto_rw.records import replace


def rebuild(tree: Tree) -> ir.Function:
    """The allocated function."""
    rebuilder = _Rebuilder()
    params = tuple(
        replace(p, type=rebuilder.type(p.type, v.memory))
        for p, v in zip(tree.function.params, tree.parameters, strict=True)
    )
    body = rebuilder.block(tree.body)
    return replace(tree.function, params=params, body=(*_allocations(tree), *body))


def _allocations(tree: Tree) -> list[ir.Assign]:
    out = []
    for base, (space, size, pinned) in tree.allocations.items():
        kwargs = (("pinned", ir.Bool(True)),) if pinned else ()
        call = ir.Call("tile.alloc", (ir.Symbol(f"Mem.{space.value}"), ir.Int(size)), kwargs)
        out.append(ir.Assign((base,), ir.OpaqueType("pl.Ptr"), call, tree.function.span))
    return out


class _Rebuilder:
    def __init__(self) -> None:
        self.types: dict[tuple[int, int], tuple[ir.Type, Memory, ir.Type]] = {}  # by id: a type and a memory, with it

    def block(self, block: Block) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        for item in block.items:
            match item:
                case Step():
                    out.append(self.step(item))
                case Loop():
                    initial = tuple(
                        ir.Name(v.name) if v is not None else e
                        for v, e in zip(item.initial, item.stmt.initial, strict=True)
                    )
                    out.append(replace(item.stmt, initial=initial, body=self.ended(item.body, item.results)))
                case Branch():
                    orelse = self.ended(item.orelse, item.results) if item.orelse is not None else None
                    out.append(replace(item.stmt, body=self.ended(item.then, item.results), orelse=orelse))
        return tuple(out)

    def ended(self, block: Block, results: list[Variable]) -> tuple[ir.Stmt, ...]:
        body = self.block(block)
        if block.end is None:
            return body
        stmt = block.end.stmt
        values = tuple(
            ir.Name(v.name) if v is not None else e for v, e in zip(block.end.values, stmt.values, strict=True)
        )
        type_ = stmt.type
        if type_ is not None and len(results) == 1:
            type_ = self.type(type_, results[0].memory)
        return (*body, replace(stmt, values=values, type=type_))

    def step(self, step: Step) -> ir.Stmt:
        stmt = step.stmt
        if not isinstance(stmt, ir.Assign | ir.Evaluate):
            return stmt
        value = stmt.value
        if isinstance(value, ir.Call) and value.attrs:
            value = replace(value, attrs=tuple(a for a in value.attrs if a[0] != "pipeline_membership"))
        if isinstance(stmt, ir.Evaluate):
            return stmt if value is stmt.value else replace(stmt, value=value)
        target, written = step.target, stmt.type
        if target is None or written is None:
            return replace(stmt, value=value)
        if step.copied is not None and target.tile is not None:
            written = target.tile
        return ir.Assign(stmt.targets, self.type(written, target.memory), value, stmt.span, stmt.comments)

    def type(self, t: ir.Type, m: Memory | None) -> ir.Type:
        """A type as written, with a memory; one object for one type and one memory."""
        if m is None or not isinstance(t, ir.TileType | ir.TensorType):
            return t
        known = self.types.get((id(t), id(m)))
        if known is None:
            memref = ir.MemRef(m.base, m.offset, m.size, m.slots, m.slot)
            known = self.types[id(t), id(m)] = (t, m, replace(t, memref=memref))  # the references keep the ids valid
        return known[2]
