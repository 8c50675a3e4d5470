"""Pairs of allocations the DSA_RP planner would rather keep apart: sharing would make two pipes wait for each other.

Source: memory-planning.md §7, item 3. An allocation takes part only if every access to it is known, covers it whole and
lies on one path of the control flow.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.layout import effective_view
from pypto_rw.memory.facts import Facts, in_l0
from pypto_rw.memory.intervals import Interval
from pypto_rw.memory.tree import Block, Branch, Loop, Step, Tree, Variable
from pypto_rw.records import dataclass, field

_Path = tuple[int, bool]  # innermost branch or loop, and whether it is in a loop


@dataclass(frozen=True, slots=True)
class _Access:
    at: int
    pipe: str
    write: bool
    path: _Path
    whole: bool


@dataclass(slots=True)
class _Accesses:
    found: list[_Access] = field(default_factory=list)
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class _Summary:
    """`first`: the first write; `last`: by pipe, the last access."""

    path: _Path
    first: _Access
    last: dict[str, _Access]


def wishes(tree: Tree, facts: Facts, intervals: list[Interval], apart: list[set[int]]) -> list[tuple[int, int]]:
    """Pairs (lower number first) that should not share memory; `apart` are pairs that may not anyway."""
    recorder = _Recorder(facts, intervals)
    recorder.block(tree.body, (0, False))
    groups: dict[tuple[ir.Space, _Path], list[tuple[int, _Summary]]] = {}
    for k, accesses in enumerate(recorder.accesses):
        summary = _summary(accesses)
        if summary is not None:
            groups.setdefault((intervals[k].space, summary.path), []).append((k, summary))
    out = []
    for group in groups.values():
        for n, (b, later) in enumerate(group):
            for a, earlier in group[:n] + group[n + 1 :]:
                if intervals[a].end <= intervals[b].start and b not in apart[a] and _waits(earlier, later):
                    out.append((min(a, b), max(a, b)))
    return sorted(set(out))


def _waits(earlier: _Summary, later: _Summary) -> bool:
    if any(p != later.first.pipe and x.at <= later.first.at for p, x in earlier.last.items()):
        return True
    if not later.path[1]:
        return False
    return any(p != earlier.first.pipe and x.at > earlier.first.at for p, x in later.last.items())


def _summary(accesses: _Accesses) -> _Summary | None:
    found = accesses.found
    if accesses.unknown or not found or any(x.path != found[0].path or not x.whole for x in found):
        return None
    start = min(x.at for x in found)
    heads = [x for x in found if x.at == start]
    if not all(x.write for x in heads) or len({x.pipe for x in heads}) > 1:
        return None
    last: dict[str, _Access] = {}
    for x in found:
        known = last.get(x.pipe)
        if known is None or known.at < x.at or (known.at == x.at and x.write and not known.write):
            last[x.pipe] = x
    return _Summary(found[0].path, heads[-1], last)


class _Recorder:
    def __init__(self, facts: Facts, intervals: list[Interval]) -> None:
        self.facts, self.intervals = facts, intervals
        self.number = {i.base: k for k, i in enumerate(intervals)}
        self.accesses = [_Accesses() for _ in intervals]
        self.at, self.paths = 0, 1

    def block(self, block: Block, path: _Path) -> None:
        for item in block.items:
            match item:
                case Step():
                    if item.call is not None:
                        self._record(item, path)
                    if not isinstance(item.stmt, ir.Jump):
                        self.at += 1
                case Loop():
                    self.block(item.body, (self._path(), True))
                case Branch():
                    for b in item.blocks:
                        self.block(b, (self._path(), path[1]))

    def _path(self) -> int:
        self.paths += 1
        return self.paths - 1

    def _where(self, v: Variable | None) -> int | None:
        return self.number.get(v.base) if v is not None and v.tile is not None and v.base is not None else None

    def _record(self, step: Step, path: _Path) -> None:
        if step.op is None:
            return
        reads = [(k, v) for v in step.operands if v is not None and (k := self._where(v)) is not None]
        k = self._where(step.target)
        writes = [(k, step.target)] if k is not None and step.target is not None else []
        whole = _whole_assemble(step)
        if whole:
            reads = reads[1:] if step.operands[0] is not step.operands[1] else reads
        if step.op.access == "none" or not (reads or writes):
            return
        known = step.op.access == "functional" or whole or _full_store(step)
        pipe = pipe_of(step, self.facts) if known else None
        for write, accesses in ((False, reads), (True, writes)):
            for k, v in accesses:
                if pipe is None:
                    self.accesses[k].unknown = True
                    continue
                m, t = v.memory, v.tile
                assert m is not None and t is not None
                full = m.constant == 0 and m.size == self.intervals[k].size and effective_view(t).valid == t.shape
                self.accesses[k].found.append(_Access(self.at, pipe, write, path, full))


def _full_store(step: Step) -> bool:
    """A store of a fully valid tile: offsets only, no other option."""
    assert step.call is not None and step.op is not None
    source = step.operands[0] if step.operands else None
    if step.op.updates is None or len(step.call.args) != 3 or source is None or source.tile is None:
        return False
    target = step.arguments.get(step.op.updates)
    to_global = target is not None and isinstance(target.type, ir.TensorType)
    return to_global and effective_view(source.tile).valid == source.tile.shape


def _whole_assemble(step: Step) -> bool:
    """An insert that overwrites all of its target."""
    assert step.op is not None and step.call is not None
    if step.op.inherits is None or step.op.access or len(step.operands) != 3 or step.target is None:
        return False
    tiles = [v.tile if v is not None else None for v in (*step.operands[:2], step.target)]
    if any(t is None for t in tiles) or step.call.args[2] != ir.Tuple((ir.Int(0), ir.Int(0))):
        return False
    found = [t for t in tiles if t is not None]
    if any(t.shape != found[0].shape or effective_view(t).valid != t.shape for t in found):
        return False
    target = step.operands[0]
    return target is not None and target.base == step.target.base


def pipe_of(step: Step, facts: Facts) -> str | None:
    """The pipe that runs a call, by the memory spaces it reads and writes; None where that is not known."""
    result = _space(step.target)
    if result is None and step.op is not None and step.op.updates is not None:
        result = _space(step.arguments.get(step.op.updates))
    inputs = [s for v in step.operands if (s := _space(v)) is not None]
    if step.op is not None and step.op.signature.op == "tile.move":
        if len(inputs) != 1 or result is None:
            return None
        return "V" if inputs[0] is result and result is not ir.Space.DDR else facts.route(inputs[0], result)
    if result is not None and result is not ir.Space.DDR:
        if ir.Space.DDR in inputs:
            return facts.route(ir.Space.DDR, result)
        foreign = {s for s in inputs if s is not result}
        if len(foreign) == 1 and (pipe := facts.route(next(iter(foreign)), result)) is not None:
            return pipe
        if result is ir.Space.Vec and all(s is ir.Space.Vec for s in inputs):
            return "V"
        return "M" if in_l0(result) and all(in_l0(s) for s in inputs) else None
    if result is ir.Space.DDR:
        foreign = {s for s in inputs if s is not ir.Space.DDR}
        if len(foreign) == 1:
            return facts.route(next(iter(foreign)), ir.Space.DDR)
    return None


def _space(v: Variable | None) -> ir.Space | None:
    if v is None:
        return None
    if isinstance(v.type, ir.TensorType):
        return ir.Space.DDR
    return v.tile.space if v.tile is not None else None
