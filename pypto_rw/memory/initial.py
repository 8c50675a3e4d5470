"""The first memory of every variable: shared with an operand, declared, or an allocation of its own.

Source: memory-planning.md §3; one counter a function names the allocations, in the order stated there.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.memory.declared import Declaration, declarations, require_own_buffer
from pypto_rw.memory.sizes import tensor_bytes, tile_bytes, window
from pypto_rw.memory.tree import ZERO, Block, Branch, Loop, Memory, Step, Tree, Variable, place
from pypto_rw.shaping.values import Refused


def assign_memory(tree: Tree) -> dict[str, Declaration]:
    """Give every tile and tensor variable its memory, and list the allocations; the declared ones are returned.

    Refused: a tile without a static shape or a memory space; declarations that cannot be kept."""
    for v in tree.variables:
        v.memory = None
    tree.allocations.clear()
    tree.next = 0
    declared = declarations(tree, tree.facts)
    tree.names |= set(declared)
    assigner = _Assigner(tree, declared)
    for p in tree.parameters:
        if isinstance(p.type, ir.TensorType):
            p.memory = fresh(tree, p)
    assigner.block(tree.body)
    return declared


def fresh(tree: Tree, v: Variable) -> Memory:
    """A new allocation for `v`, not listed yet."""
    t = v.type
    if isinstance(t, ir.TileType):
        if t.space is None:
            raise Refused(
                "memory-space-unknown",
                f"the memory space of the tile {v.name} is not known",
                help="annotate it, e.g. pl.Mem.Vec",
            )
        space, size = t.space, tile_bytes(v, tree.facts)
    else:
        assert isinstance(t, ir.TensorType)
        space, size = ir.Space.DDR, tensor_bytes(t)
    while (name := f"mem_{space.value.lower()}_{tree.next}") in tree.names:
        tree.next += 1
    tree.next += 1
    return Memory(name, ZERO, size)


class _Assigner:
    def __init__(self, tree: Tree, declared: dict[str, Declaration]) -> None:
        self.tree, self.declared = tree, declared

    def fresh(self, v: Variable) -> Memory:
        return fresh(self.tree, v)

    def _allocate(self, v: Variable, memory: Memory) -> None:
        v.memory = memory
        t = v.tile
        if t is None or t.space is None or memory.base in self.tree.allocations:
            return
        d = self.declared.get(memory.base)
        size = d.size * (d.slots or 1) if d is not None else memory.size
        self.tree.allocations[memory.base] = (t.space, size, d is not None)

    def block(self, block: Block) -> None:
        for item in block.items:
            match item:
                case Step():
                    try:
                        self._step(item)
                    except Refused as refused:
                        refused.span = refused.span or place(item)
                        raise
                case Loop():
                    self._loop(item)
                case Branch():
                    self._branch(item)

    def _step(self, step: Step) -> None:
        v = step.target
        if v is None or not isinstance(v.type, ir.TileType | ir.TensorType):
            return
        if step.op is not None and step.op.popped:
            return
        if step.op is not None and step.op.inherits is not None:
            source = step.arguments.get(step.op.inherits)
            if source is not None and source.memory is not None:
                require_own_buffer(step, source)
                v.memory = self._inherited(step, source)
                return
            if source is not None and source.tile is not None and not self._writes(step):
                return  # a view of a tile without memory has none either
        if step.op is not None and step.op.updates is not None:
            source = step.arguments.get(step.op.updates)
            if source is not None and source.memory is not None:
                require_own_buffer(step, source)
                v.memory = source.memory
                return
        if step.copied is not None and v.tile is not None:
            source = step.copied
            if source.role != "carried" and source.memory is not None:
                v.memory = source.memory
                return
            if source.tile is not None and source.memory is None:
                return
        if v.declared is not None and v.declared.base in self.declared:
            self._allocate(v, self.declared[v.declared.base].memory(v.declared))
            return
        self._allocate(v, self.fresh(v))

    def _writes(self, step: Step) -> bool:
        """Whether an op that inherits its operand's buffer also writes into it."""
        assert step.op is not None
        return step.op.signature.trait("in-place") is not None and step.op.access != "none"

    def _inherited(self, step: Step, source: Variable) -> Memory:
        assert step.op is not None and source.memory is not None
        if step.op.window is None:
            return source.memory
        return window(source, step.expressions.get("shape"), step.expressions.get(step.op.window[1]))

    def _loop(self, loop: Loop) -> None:
        for carried, initial in zip(loop.carried, loop.initial, strict=False):
            carried.memory = initial.memory if initial is not None else None
        self.block(loop.body)
        for k, result in enumerate(loop.results):
            if isinstance(result.type, ir.TileType | ir.TensorType):
                own = self.fresh(result)
                carried_ = loop.carried[k] if k < len(loop.carried) else None
                tile = result.tile is not None and carried_ is not None
                result.memory = carried_.memory if tile and carried_ is not None else own

    def _branch(self, branch: Branch) -> None:
        for block in branch.blocks:
            self.block(block)
        for k, result in enumerate(branch.results):
            if not isinstance(result.type, ir.TileType | ir.TensorType):
                continue
            own = self.fresh(result)
            if result.tile is None:
                result.memory = own
                continue
            values = [b.end.values[k] for b in branch.blocks if b.end is not None and k < len(b.end.values)]
            plain = (v.memory for v in values if v is not None and v.role != "carried" and v.memory is not None)
            found = next(plain, None)
            if found is not None:
                result.memory = found
            else:
                self._allocate(result, own)
