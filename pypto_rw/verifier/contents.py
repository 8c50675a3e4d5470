"""What tiles hold when they are read: something was written, and nothing else was written over it since.

A read of a tile is *unwritten* where no write to any byte of its place is sure to come before: both regions of an
`scf.if` must write, a loop counts as run. A read is *overwritten* where, after the tile's own last write, another
handle wrote bytes of it. Handles of one range are often one value (a loop's carried tile, a merge, an in-place
result), so for equal ranges only a write that surely comes between the two, in a region still open at the read,
counts; for other overlaps any write on the path counts, and so does one later in the same loop. A copy of the tile
onto part of itself (a materialised window) counts for none. A tile whose address is a run-time value, or that has no
valid element, is not judged. In a loop, one region of an `scf.if` may read what the other one wrote a turn before.
Work is linear in the text for a fixed number of distinct ranges."""

from __future__ import annotations

from typing import NamedTuple

from pypto_rw.records import dataclass, field
from pypto_rw.verifier.findings import Findings
from pypto_rw.verifier.forms import Use
from pypto_rw.verifier.reader import Function, Operation
from pypto_rw.verifier.storage import Place, Storage

_SCRATCH = {  # ops whose n-th tile of `ins`, where given, is work space
    **{f"pto.trow{n}": 1 for n in ("sum", "max", "min", "prod", "argmax", "argmin")},
    **{f"pto.tcol{n}": 1 for n in ("sum", "argmax", "argmin")},
    **{f"pto.{n}": 1 for n in ("trsqrt", "ttrans", "trems", "txors")},
    **{f"pto.{n}": 2 for n in ("trem", "tprelu", "txor", "trowexpandadd", "tsels")},
    "pto.tsel": 3,
}
_CARRIES = frozenset({"pto.textract", "pto.tmov"})


class _Write(NamedTuple):
    """The latest write to a place: when, through which tile, in which region, out of which tiles."""

    when: int
    tile: str
    region: int
    sources: tuple[str, ...]


@dataclass(slots=True)
class _Region:
    """An open region: its number, what it wrote for the first time, and for a loop its live-in reads."""

    number: int
    opener: str
    start: int
    written: list[Place] = field(default_factory=list)
    then: list[Place] | None = None
    then_span: tuple[int, int] = (0, 0)
    reads: dict[str, tuple[Use, Place, int]] = field(default_factory=dict)
    doubtful: list[tuple[Use, Place]] = field(default_factory=list)


class _Contents:
    def __init__(self, storage: Storage, findings: Findings) -> None:
        self.storage = storage
        self.findings = findings
        self.clock = 0
        self.regions: list[_Region] = []
        self.open: set[int] = set()
        self.written: set[int] = set()  # ids of places surely written
        self.last: dict[int, _Write] = {}
        self.own: dict[str, int] = {}
        self.told: set[str] = set()

    def write(self, name: str, sources: tuple[str, ...] = ()) -> None:
        """A write through handle `name`."""
        place = self.storage.places.get(name)
        if place is None or not self.regions:
            return
        root = self.storage.roots[name]
        self.clock += 1
        self.own[root] = self.clock
        self.last[id(place)] = _Write(self.clock, root, self.regions[-1].number, sources)
        if id(place) not in self.written:
            self.written.add(id(place))
            self.regions[-1].written.append(place)

    def read(self, use: Use) -> None:
        """A read through a handle: of something, and of what was put there."""
        place = self.storage.places.get(use.token.text)
        if place is None:
            return
        root = self.storage.roots[use.token.text]
        if root in self.storage.unjudged or root in self.told:
            return
        if id(place) not in self.written and not any(id(p) in self.written for p in place.overlapping):
            self._maybe_unwritten(use, place)
            return
        own = self.own.get(root)
        if own is None:
            return
        for region in self.regions:
            if region.opener in ("scf.for", "scf.while") and own <= region.start:
                region.reads.setdefault(root, (use, place, own))
        for other in (place, *place.overlapping):
            last = self.last.get(id(other))
            if last is not None and last.when > own and self._destroys(last, other, place, root):
                self._overwritten(use, last)
                return

    def _maybe_unwritten(self, use: Use, place: Place) -> None:
        looping = False
        for region in self.regions:
            looping = looping or region.opener in ("scf.for", "scf.while")
            if looping and region.opener == "scf.if":
                if region.then is None:
                    region.doubtful.append((use, place))
                    return
                if place in region.then:
                    return
        self._unwritten(use)

    def _unwritten(self, use: Use) -> None:
        self.told.add(self.storage.roots[use.token.text])
        self.findings.report(
            "read-before-write",
            use.token,
            f"{use.token.text} is read, but nothing is sure to have been written to it",
            "write the tile first, on every path",
        )

    def _destroys(self, last: _Write, other: Place, place: Place, root: str) -> bool:
        if last.tile == root or root in last.sources:
            return False
        if other is place:
            return last.region in self.open
        return not any(first < last.when <= end for first, end in (r.then_span for r in self.regions))

    def _overwritten(self, use: Use, last: _Write) -> None:
        root = self.storage.roots[use.token.text]
        self.told.add(root)
        self.findings.report(
            "overlapping-live-tiles",
            use.token,
            f"{use.token.text} is read here, but {last.tile}, which shares bytes with it, was written since",
            "give the two tiles addresses that do not overlap",
        )

    def enter(self, opener: str, number: int) -> None:
        """A region opens."""
        self.regions.append(_Region(number, opener, self.clock))
        self.open.add(number)

    def other_part(self, number: int) -> None:
        """`} else {` or `} do {`: the second region of the same op."""
        region = self.regions[-1]
        self.open.discard(region.number)
        region.number = number
        self.open.add(number)
        if region.opener == "scf.if":
            region.then, region.written = region.written, []
            region.then_span = (region.start, self.clock)
            self.written.difference_update(id(p) for p in region.then)

    def leave(self) -> None:
        """A region closes: what it surely wrote stays written."""
        region = self.regions.pop()
        self.open.discard(region.number)
        sure = region.written
        for use, place in region.doubtful:
            if region.then is None or place not in region.written:
                self._unwritten(use)
        if region.opener == "scf.if":
            self.written.difference_update(id(p) for p in region.written)
            both = {id(p) for p in region.then or ()}
            sure = [p for p in region.written if id(p) in both]
        for place in sure:
            self.written.add(id(place))
            if self.regions:
                self.regions[-1].written.append(place)
        for root, (use, place, own) in region.reads.items():
            if root in self.told or self.own[root] != own:
                continue
            for other in place.overlapping:
                last = self.last.get(id(other))
                if last is not None and last.when > region.start and last.tile != root and root not in last.sources:
                    self._overwritten(use, last)
                    break


def check_contents(function: Function, storage: Storage, findings: Findings) -> None:
    """Check every read of a tile in `function`."""
    walk = _Contents(storage, findings)
    for number, operation in enumerate(function.operations):
        if operation.opens:
            walk.enter(operation.name, number)
        elif operation.name in ("} else {", "} do {"):
            walk.other_part(number)
        elif operation.name == "}":
            walk.leave()
        else:
            _access(operation, walk)


def _access(operation: Operation, walk: _Contents) -> None:
    name = operation.name
    if name == "pto.tget_scale_addr":  # binds an address; no data moves
        return
    if name.startswith("pto.tpop"):
        walk.write(operation.results[0].text)
        return
    tiles = [u for u in operation.group("i") if u.token.text in walk.storage.places]
    if name == '"pto.trandom"':
        walk.write(tiles[-1].token.text)
        return
    scratch = _scratch(name, tiles)
    for use in tiles:
        if use is not scratch:
            walk.read(use)
    written = [*operation.group("o"), *operation.group("t")] if name != "pto.make_tensor_view" else []
    sources = tuple(walk.storage.roots[u.token.text] for u in tiles) if name in _CARRIES else ()
    if scratch is not None:
        walk.write(scratch.token.text)
    for use in written:
        walk.write(use.token.text, sources)


def _scratch(name: str, tiles: list[Use]) -> Use | None:
    """The operand of `ins` that is work space."""
    if name == "pto.tgather" or name == "pto.tmrgsort":
        # index form (source, indices, scratch); compare form (source, scratch); merge (sources, scratch)
        return tiles[-1] if len(tiles) > 1 else None
    position = _SCRATCH.get(name)
    return tiles[position] if position is not None and position < len(tiles) else None
