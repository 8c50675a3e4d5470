"""Where tiles live: addresses against alignment and capacity, and which handles name which bytes."""

from __future__ import annotations

from pypto_rw.records import dataclass, field
from pypto_rw.verifier.findings import Findings
from pypto_rw.verifier.reader import Function, Operation
from pypto_rw.verifier.types import Tile, parse

ALIGNMENT = 32
# types-and-memory.md §10. `scaling` is both scale memories, each of this size.
CAPACITY = {
    "a2a3": {"vec": 188416, "mat": 524288, "left": 65536, "right": 65536, "acc": 131072, "bias": 1024},
    "a5": {
        "vec": 245760,
        "mat": 524288,
        "left": 65536,
        "right": 65536,
        "acc": 262144,
        "bias": 4096,
        "scaling": 4096,
    },
}
_VIEWS = frozenset({"pto.subview", "pto.treshape", "pto.multi_tile_get"})


@dataclass(slots=True, eq=False)
class Place:
    """Bytes of one bank that handles name. `start` None: an address of its own, not known to the text."""

    bank: str
    start: int | None
    size: int
    overlapping: list[Place] = field(default_factory=list)

    @property
    def end(self) -> int:
        return (self.start or 0) + self.size


@dataclass(slots=True)
class Storage:
    """The place of every tile handle, and the tile each name is a view of (itself, if none)."""

    places: dict[str, Place] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    unjudged: set[str] = field(default_factory=set)  # handles with a run-time address, or with no valid element


def check_storage(function: Function, target: str, planner: str, findings: Findings) -> Storage:
    """Check every `pto.alloc_tile` of `function`; where each handle lives."""
    storage = Storage()
    constants: dict[str, int] = {}
    by_range: dict[tuple[str, int, int], Place] = {}
    for operation in function.operations:
        if operation.name == "arith.constant" and operation.literals[0].removeprefix("-").isdecimal():
            constants[operation.results[0].text] = int(operation.literals[0])
        if operation.name in _VIEWS:
            source = operation.group("a")[0].token.text
            if source in storage.places:
                storage.places[operation.results[0].text] = storage.places[source]
                storage.roots[operation.results[0].text] = storage.roots[source]
                continue
        if not operation.results or operation.opens:
            continue
        tile = parse(operation.result_types[0])
        if operation.name == "pto.alloc_multi_tile":
            _own(operation, Place("", None, 0), storage)
        elif isinstance(tile, Tile):
            place = _allocated(operation, tile, constants, target, planner, findings)
            if place.start is not None:
                place = by_range.setdefault((place.bank, place.start, place.size), place)
            elif operation.group("p"):
                storage.unjudged.add(operation.results[0].text)
            if any(constants.get(u.token.text) == 0 for u in (*operation.group("m"), *operation.group("n"))):
                storage.unjudged.add(operation.results[0].text)
            _own(operation, place, storage)
    _link(list(by_range.values()))
    return storage


def _own(operation: Operation, place: Place, storage: Storage) -> None:
    name = operation.results[0].text
    storage.places[name], storage.roots[name] = place, name


def _allocated(
    operation: Operation, tile: Tile, constants: dict[str, int], target: str, planner: str, findings: Findings
) -> Place:
    size = tile.size(target)
    elsewhere = Place(tile.bank, None, size)
    if operation.name != "pto.alloc_tile":
        return elsewhere
    name, address = operation.results[0], operation.group("p")
    if bool(address) == (planner == "ptoas"):
        code, message = (
            ("unexpected-address", "has an address, which the assembler is to choose")
            if address
            else ("missing-address", "has no address")
        )
        findings.report(
            code,
            name,
            f"{name.text} {message}",
            f"planner {planner}: " + ("print no `addr =`" if address else "print `addr = …` on every `pto.alloc_tile`"),
        )
    if not address or address[0].token.text not in constants:
        return elsewhere
    start, at = constants[address[0].token.text], address[0].token
    capacity = CAPACITY.get(target, {}).get(tile.space)
    if start % ALIGNMENT:
        findings.report(
            "address-alignment",
            at,
            f"{name.text} starts at byte {start}, off {ALIGNMENT} bytes",
            f"start at {start - start % ALIGNMENT} or {start - start % ALIGNMENT + ALIGNMENT}",
        )
    if capacity is None and tile.space != "gm":
        findings.report("address-capacity", at, f"{target} has no memory space {tile.space}", "use another space")
    elif capacity is not None and not 0 <= start <= capacity - size:
        findings.report(
            "address-capacity",
            at,
            f"{name.text} takes bytes {start} to {start + size}; {tile.space} of {target} has {capacity}",
            "use smaller tiles, or fewer at a time",
        )
    return Place(tile.bank, start, size)


def _link(places: list[Place]) -> None:
    """Note which places share bytes, by a sweep over their starts."""
    places.sort(key=lambda p: (p.bank, p.start or 0))
    active: list[Place] = []
    for place in places:
        active = [p for p in active if p.bank == place.bank and p.end > (place.start or 0)]
        for other in active:
            other.overlapping.append(place)
            place.overlapping.append(other)
        active.append(place)
