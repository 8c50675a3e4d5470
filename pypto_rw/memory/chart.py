"""Which tile is in which bytes, and when: the map of an allocated module, read off the module itself."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.memory.facts import Facts, aligned
from pypto_rw.memory.lifetimes import lifetimes
from pypto_rw.memory.tree import Block, Branch, Loop, Memory, Step, Tree, Variable, build, place, steps
from pypto_rw.records import dataclass
from pypto_rw.rewriting.rulebook import Rulebook


@dataclass(frozen=True, slots=True)
class Bar:
    """A tile: bytes `start..end` of its memory space over the statements `first..last`; `line` in the source, 0 for
    none. `slots`: it is in a run-time slot, and the bytes are those of all slots."""

    name: str
    start: int
    end: int
    first: int
    last: int
    line: int
    slots: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One memory space of a function. `capacity` None: the target states none; `reserved`: bytes set aside for pipes;
    `placed` False: the assembler will place the allocations, and bars are stacked in their order."""

    function: str
    space: ir.Space
    bars: tuple[Bar, ...]
    statements: int
    capacity: int | None
    reserved: int
    placed: bool

    @property
    def high_water(self) -> int:
        """The first byte above everything in use."""
        return max([self.reserved, *(b.end for b in self.bars)])


def charts(module: ir.Module, *, planner: str, target: str, rulebook: Rulebook | None = None) -> list[Chart]:
    """Charts of the device functions of an allocated module, by function and memory space.

    `planner` is the one that made the plan; `target` `a2a3` or `a5`."""
    facts = Facts(rulebook or Rulebook(), target)
    found: list[Chart] = []
    for function in module.functions:
        tree = build(function, facts)
        _read_memories(tree.body)
        found += _charts(tree, placed=planner != "ptoas")
    return found


def _read_memories(block: Block) -> None:
    """Memories as the module states them."""
    for item in block.items:
        match item:
            case Step():
                if item.target is not None:
                    item.target.memory = _stated(item.target)
            case Loop():
                for carried, initial in zip(item.carried, item.initial, strict=False):
                    carried.memory = initial.memory if initial is not None else None
                _read_memories(item.body)
                for carried, result in zip(item.carried, item.results, strict=False):
                    result.memory = carried.memory
            case Branch():
                for b in item.blocks:
                    _read_memories(b)
                for k, result in enumerate(item.results):
                    end = item.then.end
                    value = end.values[k] if end is not None and k < len(end.values) else None
                    result.memory = _stated(result) or (value.memory if value is not None else None)


def _stated(v: Variable) -> Memory | None:
    m = v.declared
    if m is None or m.offset is None or m.size is None:
        return None
    return Memory(m.base, m.offset, m.size, m.slots, m.slot)


def _charts(tree: Tree, *, placed: bool) -> list[Chart]:
    lives = lifetimes(tree)
    below = _stacked(tree) if not placed else {}
    bars: dict[ir.Space, list[Bar]] = {}
    for v in sorted(lives.definition, key=lives.definition.__getitem__):
        if v.tile is None or v.tile.space is None or v.memory is None:
            continue
        start, size, slots = _bytes(v.memory)
        start += below.get(v.memory.base, 0)
        first, last = lives.of(v)
        line = place(v.home).line if v.home is not None else 0
        bars.setdefault(v.tile.space, []).append(Bar(v.name, start, start + size, first, last, line, slots))
    reserved = _reserved(tree) if placed else {}
    count = max([last for found in bars.values() for b in found for last in (b.last,)], default=0) + 1
    spaces = [s for s in ir.Space if s in bars or s in reserved]
    capacity = tree.facts.capacity
    return [
        Chart(tree.function.name, s, tuple(bars.get(s, ())), count, capacity.get(s), reserved.get(s, 0), placed)
        for s in spaces
    ]


def _bytes(m: Memory) -> tuple[int, int, bool]:
    """First byte, byte count, and whether the slot is only known at run time."""
    if m.constant is not None:
        return m.constant, m.size, False
    left = m.offset.left if isinstance(m.offset, ir.Binary) else None
    start = left.value if isinstance(left, ir.Int) else 0
    return start, m.size * (m.slots or 1), m.slots is not None


def _stacked(tree: Tree) -> dict[str, int]:
    """Without addresses: allocations one after the other, by memory space."""
    at: dict[ir.Space, int] = {}
    found: dict[str, int] = {}
    for step in steps(tree.body):
        call = step.call
        if step.target is None or call is None or call.callee != "tile.alloc" or len(call.args) != 2:
            continue
        space, size = call.args
        if isinstance(space, ir.Symbol) and isinstance(size, ir.Int):
            where = ir.Space[space.path.rsplit(".", 1)[-1]]
            found[step.target.name] = at.get(where, 0)
            at[where] = aligned(found[step.target.name] + size.value)
    return found


def _reserved(tree: Tree) -> dict[ir.Space, int]:
    space = ir.Space.Mat if tree.function.kind == "AIC" else ir.Space.Vec
    end = 0
    for step in steps(tree.body):
        if step.op is None or step.op.reserves is None:
            continue
        size, base = (step.expressions.get(n) for n in step.op.reserves)
        if isinstance(size, ir.Int) and isinstance(base, ir.Int):
            end = max(end, base.value + size.value)
    return {space: end} if end else {}
