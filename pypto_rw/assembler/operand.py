"""What a printed type says about an operand: element, bytes, space, extents, layout."""

from __future__ import annotations

import re
from functools import lru_cache

_TILE = re.compile(
    r"!pto\.tile_buf<loc=(\w+), dtype=([^,<>]+), rows=(\d+), cols=(\d+), v_row=(\?|\d+), v_col=(\?|\d+), "
    r"blayout=(\w+), slayout=(\w+), fractal=(\d+), pad=(\d+)(?:, compact=(\d+))?>$"
)
_MULTI = re.compile(r"!pto\.multi_tile_buf<(.*), count=(\d+)>$")
_SHAPED = re.compile(r"!pto\.(tensor_view|partition_tensor_view|local_array)<((?:(?:\?|\d+)x)+)([^<>]+)>$")
_POINTER = re.compile(r"!pto\.ptr<([^<>]+)>$")
_BITS = re.compile(r"\d+")
BYTES = {"f8E4M3FN": 1, "f8E5M2": 1, "!pto.hif8": 1, "!pto.f8E8M0": 1, "!pto.f4E2M1x2": 1, "i1": 1}

Properties = dict[str, object]


def element_bytes(element: str) -> int | None:
    """Bytes of one stored element; None for one that has no size (`index`)."""
    if element in BYTES:
        return BYTES[element]
    found = _BITS.search(element)
    return int(found[0]) // 8 if found and found[0] in ("8", "16", "32", "64") else None


def _extent(text: str) -> int | None:
    return None if text == "?" else int(text)


@lru_cache(maxsize=2048)
def properties(text: str) -> Properties:
    """Fields of a type, by the names rules use; a missing key is not known or does not apply."""
    if not text:
        return {}
    found: Properties = {"type": text}
    if m := _TILE.match(text):
        space, element, rows, cols, vr, vc, blayout, slayout, fractal, pad, compact = m.groups()
        found |= {
            "kind": "tile",
            "space": space,
            "elem": element,
            "bytes": element_bytes(element),
            "rows": int(rows),
            "cols": int(cols),
            "vr": _extent(vr),
            "vc": _extent(vc),
            "dynr": vr == "?",
            "dync": vc == "?",
            "blayout": blayout,
            "slayout": slayout,
            "layout": f"{blayout}/{slayout}",
            "fractal": int(fractal),
            "pad": int(pad),
            "compact": int(compact or 0),
            "boxed": slayout != "none_box",
        }
        # A dimension is the static valid extent, or the allocated one where the type says `?`.
        found["r"] = int(rows) if vr == "?" else int(vr)
        found["c"] = int(cols) if vc == "?" else int(vc)
        return found
    if m := _MULTI.match(text):
        return {**properties(m[1]), "type": text, "slot": m[1], "kind": "multi", "count": int(m[2])}
    if m := _SHAPED.match(text):
        dims = [_extent(d) for d in m[2].split("x")[:-1]]
        found |= {"kind": m[1], "elem": m[3], "bytes": element_bytes(m[3]), "rank": len(dims)}
        total: int | None = 1
        for d in dims:
            total = None if total is None or d is None else total * d
        found["count"] = total
        found["dimlist"] = dims
        found["dims"] = "x".join("?" if d is None else str(d) for d in dims) if total is not None else None
        return found
    if m := _POINTER.match(text):
        return found | {"kind": "ptr", "elem": m[1], "bytes": element_bytes(m[1])}
    return found | {"kind": "scalar", "elem": text, "bytes": element_bytes(text)}


def is_tile(text: str) -> bool:
    """Whether the type is spelled as a tile, well or not."""
    return text.startswith("!pto.tile_buf<")
