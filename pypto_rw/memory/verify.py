"""Is a plan right? Reads an allocated module and says where a tile that is still needed would be overwritten.

Independent of the planners: it looks at the finished module only, walks it backwards with the set of tiles that are
needed later, and compares bytes. What it does not judge: tiles in run-time slots of one declaration, and operands that
an op updates in place because its rules say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic, Span
from pypto_rw.memory.facts import ALIGNMENT, Facts
from pypto_rw.memory.hazards import forbidden
from pypto_rw.memory.tree import Block, Branch, Loop, Step, Tree, Variable, build, place, root, steps
from pypto_rw.records import dataclass
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.scalars import bits


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes `start..end`: of a memory space, or of an allocation where the planner gives no addresses (`within`).

    `open_`: the run-time slot of a declaration; the bytes are those of all its slots."""

    within: object
    start: int
    end: int
    base: str
    open_: bool = False

    def overlaps(self, other: Region) -> bool:
        """Whether the two may have a byte in common."""
        if self.within != other.within or (self.base == other.base and (self.open_ or other.open_)):
            return False
        return self.start < other.end and other.start < self.end


def verify_plan(
    module: ir.Module,
    *,
    planner: str,
    target: str,
    rulebook: Rulebook | None = None,
    filename: str = "<string>",
) -> list[Diagnostic]:
    """Everything that is wrong with the plan of an allocated module; empty for a right one.

    `planner` is the one that made it: without addresses (`ptoas`) tiles are compared within their allocations."""
    facts = Facts(rulebook or Rulebook(), target)
    found: list[Diagnostic] = []
    for function in module.functions:
        checker = _Checker(build(function, facts), facts, addresses=planner != "ptoas")
        found += checker.check()
    return [Diagnostic(d.code, d.message, d.span, d.help, filename=filename, function=d.function) for d in found]


class _Checker:
    def __init__(self, tree: Tree, facts: Facts, *, addresses: bool) -> None:
        self.tree, self.facts, self.addresses = tree, facts, addresses
        self.found: list[Diagnostic] = []
        self.regions: dict[Variable, Region | None] = {}
        self.free: dict[Block, frozenset[Variable]] = {}

    def check(self) -> list[Diagnostic]:
        """All findings of the function."""
        self._reserved_bytes()
        self._place_block(self.tree.body)
        self._free(self.tree.body)
        self._block(self.tree.body, frozenset())
        return self.found

    def _report(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.found.append(Diagnostic(code, message, span, help, function=self.tree.function.name))

    # --------------------------------------------------------------------------- where tiles are

    def _reserved_bytes(self) -> None:
        space = ir.Space.Mat if self.tree.function.kind == "AIC" else ir.Space.Vec
        self.reserved: list[Region] = []
        for step in steps(self.tree.body):
            if step.op is None or step.op.reserves is None or not self.addresses:
                continue
            size, base = (step.expressions.get(n) for n in step.op.reserves)
            if isinstance(size, ir.Int) and isinstance(base, ir.Int):
                self.reserved.append(Region(space, base.value, base.value + size.value, "the reserved buffer"))

    def _region(self, v: Variable) -> Region | None:
        return self.regions.get(v)

    def _place_block(self, block: Block) -> None:
        for item in block.items:
            match item:
                case Step():
                    if item.target is not None and item.target.tile is not None:
                        self.regions[item.target] = self._placed(item)
                case Loop():
                    for carried, initial in zip(item.carried, item.initial, strict=False):
                        self.regions[carried] = self._region(initial) if initial is not None else None
                    self._place_block(item.body)
                    for carried, result in zip(item.carried, item.results, strict=False):
                        self.regions[result] = self._region(carried)
                case Branch():
                    for b in item.blocks:
                        self._place_block(b)
                    for k, result in enumerate(item.results):
                        if result.tile is not None:
                            self.regions[result] = self._merged(item, k, result)

    def _merged(self, branch: Branch, k: int, result: Variable) -> Region | None:
        if result.declared is not None:
            return self._bytes(result, result.declared, place(branch))
        end = branch.then.end
        value = end.values[k] if end is not None and k < len(end.values) else None
        return self._region(value) if value is not None else None

    def _placed(self, step: Step) -> Region | None:
        v = step.target
        assert v is not None
        if step.copied is not None and not self.addresses:
            return self._region(step.copied)
        if v.declared is None:
            source = step.copied or next((x for x in step.reads if x.tile is not None), None)
            popped = step.op is not None and step.op.popped is not None
            if not popped and (source is None or self._region(source) is not None):
                self._report("plan-unplaced", f"the tile {v.name} has no memory", place(step))
            return None
        if step.op is not None and step.op.window is not None:
            offsets = step.expressions.get(step.op.window[1])
            if isinstance(offsets, ir.Tuple) and not all(isinstance(e, ir.Int) for e in offsets.items):
                source = step.arguments.get(step.op.window[0])  # it may be anywhere in there
                return self._region(source) if source is not None else None
        region = self._bytes(v, v.declared, place(step))
        view = step.op is not None and step.op.inherits is not None
        if region is not None and not view and step.copied is None:
            self._require_room(v, region, place(step))
        return region

    def _bytes(self, v: Variable, m: ir.MemRef, span: Span) -> Region | None:
        t = v.tile
        if t is None or m.offset is None or m.size is None:
            return None
        within: object = t.space if self.addresses else m.base
        windowed = isinstance(v.home, Step) and v.home.op is not None and v.home.op.window is not None
        size = m.size if windowed else min(m.size, self._needed(t))
        if isinstance(m.offset, ir.Int):
            return Region(within, m.offset.value, m.offset.value + size, m.base)
        if m.slots is None:
            self._report("plan-address", f"the address of {v.name} is no constant, and it is in no declared slot", span)
            return None
        start = m.offset.left.value if isinstance(m.offset, ir.Binary) and isinstance(m.offset.left, ir.Int) else 0
        return Region(within, start, start + m.slots * m.size, m.base, True)

    def _needed(self, t: ir.TileType) -> int:
        dims = [e.value if isinstance(e, ir.Int) else 0 for e in t.shape]
        if t.space is ir.Space.Acc and len(dims) > 1:
            rows = self.facts.accumulator_rows(t.dtype)
            dims[-2] = math.ceil(dims[-2] / rows) * rows
        return math.ceil(math.prod(dims) * bits(t.dtype) / 8)

    def _require_room(self, v: Variable, region: Region, span: Span) -> None:
        t, m = v.tile, v.declared
        assert t is not None and m is not None and m.size is not None
        if m.size < self._needed(t):
            self._report("plan-size", f"{v.name} needs {self._needed(t)} bytes and has {m.size}", span)
        if not self.addresses:
            return
        capacity = self.facts.capacity.get(t.space) if t.space is not None else None
        if region.start < 0 or (capacity is not None and region.end > capacity):
            what = f"{v.name} takes bytes {region.start} to {region.end}"
            self._report("plan-capacity", f"{what}; {t.space} of {self.facts.target} has {capacity}", span)
        if region.start % ALIGNMENT:
            self._report("plan-alignment", f"{v.name} begins at byte {region.start}, no multiple of {ALIGNMENT}", span)
        for r in self.reserved:
            if region.overlaps(r):
                self._report("plan-reserved", f"{v.name} lies in reserved bytes {r.start} to {r.end}", span)

    # --------------------------------------------------------------------------- what is needed

    def _free(self, block: Block) -> frozenset[Variable]:
        """Tiles from outside that a block reads."""
        read: set[Variable] = set()
        own: set[Variable] = set()
        for item in block.items:
            match item:
                case Step():
                    read.update(item.reads)
                    if item.target is not None:
                        own.add(item.target)
                case Loop():
                    read.update(item.starts)
                    read |= self._free(item.body) - set(item.carried)
                    own.update(item.results)
                case Branch():
                    read.update(item.reads)
                    for b in item.blocks:
                        read |= self._free(b)
                    own.update(item.results)
        if block.end is not None:
            read.update(block.end.reads)
        self.free[block] = frozenset(v for v in read - own if v.tile is not None)
        return self.free[block]

    def _block(self, block: Block, after: frozenset[Variable]) -> None:
        """Check a block after which `after` is needed."""
        live = set(after)
        if block.end is not None:
            live.update(block.end.reads)
        for item in reversed(block.items):
            match item:
                case Step():
                    self._step(item, live)
                case Loop():
                    self._loop(item, live)
                case Branch():
                    self._branch(item, live)

    def _loop(self, loop: Loop, live: set[Variable]) -> None:
        live.difference_update(loop.results)
        around = self.free[loop.body] - set(loop.carried)
        self._block(loop.body, frozenset(live | around))
        if loop.body.end is not None:
            for carried, value in zip(loop.carried, loop.body.end.values, strict=False):
                self._require_same(
                    value, self._region(carried), f"is carried in {carried.name}", loop.body.end.stmt.span
                )
        live |= around
        live.update(loop.starts)

    def _branch(self, branch: Branch, live: set[Variable]) -> None:
        live.difference_update(branch.results)
        after = frozenset(live)
        for b in branch.blocks:
            self._block(b, after)
            live |= self.free[b]
            if b.end is None:
                continue
            for k, result in enumerate(branch.results):
                value = b.end.values[k] if k < len(b.end.values) else None
                region = self._region(result)
                if self.addresses:
                    self._require_same(value, region, f"becomes {result.name}", b.end.stmt.span)
                elif region is not None and value is not None and self._region(value) != region:
                    self._require_free(result.name, region, after, b.end.stmt.span, set())
        live.update(branch.reads)

    def _require_same(self, value: Variable | None, region: Region | None, why: str, span: Span) -> None:
        here = self._region(value) if value is not None else None
        if value is None or value.tile is None or here is None or region is None:
            return
        if (here.within, here.start) != (region.within, region.start):
            self._report(
                "plan-elsewhere",
                f"{value.name} {why}, but it is at byte {here.start} of {here.base} and not at {region.start} of "
                f"{region.base}; nothing moves it",
                span,
            )

    def _step(self, step: Step, live: set[Variable]) -> None:
        targets = step.elements if step.elements else [step.target] if step.target is not None else []
        written = [v for v in targets if self._region(v) is not None]
        if step.copied is not None:
            if self.addresses and step.target is not None:
                self._require_same(step.copied, self._region(step.target), f"is {step.target.name}", place(step))
        elif self._writes(step):
            for v in written:
                region = self._region(v)
                assert region is not None
                excused = set(written)
                if self._in_place(step):
                    excused |= {w for w in live if (r := self._region(w)) is not None and r.base == region.base}
                self._require_free(v.name, region, live, place(step), excused)
                for x in forbidden(step):
                    r = self._region(x)
                    if not self.addresses and r == region and root(x).role == "carried":
                        continue  # one handle: a move of a carried tile onto itself does nothing
                    if r is not None and r.overlaps(region):
                        self._report(
                            "plan-in-place",
                            f"{v.name} is written over {x.name}, which its op {step.call.callee if step.call else ''} "
                            "cannot do",
                            place(step),
                        )
                self._require_behind(step, v, region)
            for n, v in enumerate(written):
                for w in written[:n]:
                    a, b = self._region(v), self._region(w)
                    if a is not None and b is not None and a.overlaps(b):
                        self._report("plan-overlap", f"{w.name} and {v.name} are results of one call", place(step))
        live.difference_update(targets)
        live.update(x for x in step.reads if x.tile is not None)

    def _require_behind(self, step: Step, v: Variable, region: Region) -> None:
        """A result may begin where an operand begins, or before it, not inside it: it would overtake the reading."""
        for x in step.reads:
            r = self._region(x) if x.tile is not None and not self._in_place(step) else None
            if r is not None and r.within == region.within and r.start < region.start < r.end and r.overlaps(region):
                self._report(
                    "plan-in-place",
                    f"{v.name} begins at byte {region.start}, inside its operand {x.name} at {r.start} to {r.end}",
                    place(step),
                )

    def _writes(self, step: Step) -> bool:
        """Whether the call writes the bytes of its result: a view does not."""
        if step.call is None or (isinstance(step.stmt, ir.Assign) and isinstance(step.stmt.value, ir.Item)):
            return False
        if step.op is None or step.op.inherits is None:
            return True
        return step.op.signature.trait("in-place") is not None and step.op.access != "none"

    def _in_place(self, step: Step) -> bool:
        return step.op is not None and (step.op.updates is not None or step.op.inherits is not None)

    def _require_free(
        self, name: str, region: Region, live: Iterable[Variable], span: Span, excused: set[Variable]
    ) -> None:
        hit = [w for w in live if w not in excused and (r := self._region(w)) is not None and r.overlaps(region)]
        for w in sorted(hit, key=lambda w: w.name):
            self._report(
                "plan-overlap",
                f"{name} is written to bytes {region.start} to {region.end} of {_shown(region.within)}, where {w.name} "
                "still is and is needed later",
                span,
            )


def _shown(within: object) -> str:
    return within.value if isinstance(within, ir.Space) else str(within)
