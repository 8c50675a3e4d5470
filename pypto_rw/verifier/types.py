"""Types as the text spells them (types-and-memory.md §5)."""

from __future__ import annotations

from functools import lru_cache

from pypto_rw.records import dataclass

_BITS = {
    "i1": 8,
    **{f"{sign}i{n}": n for sign in ("", "u") for n in (8, 16, 32, 64)},
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "!pto.f8E8M0": 8,
    "!pto.hif8": 8,
    "!pto.f4E2M1x2": 8,  # two values a byte; extents count bytes
}
FLOATS = frozenset({"f16", "bf16", "f32"})
INTEGERS = frozenset({"index", "i1", *(f"{sign}i{n}" for sign in ("", "u") for n in (8, 16, 32, 64))})
_OPAQUE = frozenset({"!pto.prefetch_async_context", "!pto.async_event", "!pto.async_session"})
_TILE_KEYS = ["loc", "dtype", "rows", "cols", "v_row", "v_col", "blayout", "slayout", "fractal", "pad"]
_SPACES = frozenset({"gm", "vec", "mat", "left", "right", "acc", "bias", "scaling"})
_LAYOUTS = frozenset({"none_box", "row_major", "col_major"})
Extent = int | None  # None: printed as `?`


@dataclass(frozen=True, slots=True)
class Tile:
    """`!pto.tile_buf<…>`."""

    space: str
    element: str
    rows: int
    cols: int
    valid: tuple[Extent, Extent]
    bank: str  # tiles of one bank share addresses

    def size(self, target: str) -> int:
        """Bytes it takes. An accumulator holds whole fractal rows (memory-planning.md §3)."""
        rows = self.rows
        if self.space == "acc":
            granule = 32 if self.element == "i32" and target == "a2a3" else 16
            rows = -(-rows // granule) * granule
        return rows * self.cols * _BITS[self.element] // 8


@dataclass(frozen=True, slots=True)
class Regions:
    """`!pto.multi_tile_buf<TILE, count=N>`."""

    tile: str
    count: int


@dataclass(frozen=True, slots=True)
class Dense:
    """A pointer, tensor view, partition or local array: `kind`, its dims (empty for a pointer), its element."""

    kind: str
    dims: tuple[Extent, ...]
    element: str


@dataclass(frozen=True, slots=True)
class Plain:
    """A scalar, vector or opaque type."""

    text: str


Type = Tile | Regions | Dense | Plain


@lru_cache(maxsize=4096)
def parse(text: str) -> Type | str:
    """The type `text` spells, or what is wrong with it as a sentence part."""
    if text in INTEGERS or text in FLOATS or text in _OPAQUE or text in ("vector<4xi16>", "none"):
        return Plain(text)
    head, bracket, rest = text.partition("<")
    if not bracket:
        return f"unknown type {text}"
    body = rest[:-1]
    match head:
        case "!pto.tile_buf":
            return _tile(body)
        case "!pto.multi_tile_buf":
            tile, _, count = body.rpartition(", count=")
            if not isinstance(parse(tile), Tile) or not count.isdecimal() or not 2 <= int(count) <= 16:
                return "a multi-buffer region holds 2 to 16 tiles: `!pto.multi_tile_buf<TILE, count=N>`"
            return Regions(tile, int(count))
        case "!pto.ptr":
            return Dense("ptr", (), body) if body in _BITS else f"unknown element type {body}"
        case "!pto.tensor_view" | "!pto.partition_tensor_view" | "!pto.local_array":
            return _dense(head.removeprefix("!pto."), body)
    return f"unknown type {text}"


def _dense(kind: str, body: str) -> Type | str:
    dims: list[Extent] = []
    while True:
        dim, cross, rest = body.partition("x")
        if not cross or not (dim == "?" or dim.isdecimal()):
            break
        dims.append(None if dim == "?" else int(dim))
        body = rest
    if not dims:
        return f"a {kind} has at least one dim"
    if body not in _BITS:
        return f"unknown element type {body}"
    if kind == "local_array" and (len(dims) != 1 or not dims[0]):
        return "a local array has one positive extent"
    return Dense(kind, tuple(dims), body)


def _tile(body: str) -> Type | str:
    fields = dict(part.partition("=")[::2] for part in body.split(", "))
    compact = fields.pop("compact", "1")
    if list(fields) != _TILE_KEYS:
        return f"a tile type has the fields {', '.join(_TILE_KEYS)} in this order"
    if fields["loc"] not in _SPACES:
        return f"unknown memory space {fields['loc']}"
    if fields["dtype"] not in _BITS:
        return f"unknown element type {fields['dtype']}"
    if not {fields["blayout"], fields["slayout"]} <= _LAYOUTS:
        return f"unknown layout {fields['blayout']}/{fields['slayout']}"
    if fields["fractal"] not in ("32", "512", "1024"):
        return f"unknown fractal {fields['fractal']}"
    if fields["pad"] not in ("0", "1", "2", "3") or compact not in ("0", "1", "2"):
        return "pad is 0 to 3 and compact, where printed, 0 to 2"
    if not (fields["rows"].isdecimal() and fields["cols"].isdecimal()) or "0" in (fields["rows"], fields["cols"]):
        return "rows and cols are positive numbers"
    valid = [fields["v_row"], fields["v_col"]]
    if any(v != "?" and not v.isdecimal() for v in valid):
        return "v_row and v_col are numbers or `?`"
    row, col = (None if v == "?" else int(v) for v in valid)
    # The two scale memories of a5 are one `scaling` in the text; their layouts tell them apart.
    bank = f"scaling/{fields['blayout']}" if fields["loc"] == "scaling" else fields["loc"]
    return Tile(fields["loc"], fields["dtype"], int(fields["rows"]), int(fields["cols"]), (row, col), bank)


def element_fits(kind: str, text: str) -> bool:
    """Whether `text` may stand where an op takes `kind`: `int`, `float`, `tile`, `ptr`, `array`, `view`, …"""
    found = parse(text)
    match kind:
        case "any":
            return True
        case "int":
            return text in INTEGERS
        case "float":
            return text in FLOATS
        case "tile":
            return isinstance(found, Tile)
        case "regions":
            return isinstance(found, Regions)
        case _:
            return isinstance(found, Dense) and found.kind == kind
