"""Spelling of types, constants and names in MLIR text. One-to-one; nothing here decides anything."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

from pypto_rw.ir import DType

ELEMENT = {
    "BOOL": "i1",
    "INT8": "i8",
    "INT16": "i16",
    "INT32": "i32",
    "INT64": "i64",
    "UINT8": "ui8",
    "UINT16": "ui16",
    "UINT32": "ui32",
    "UINT64": "ui64",
    "INDEX": "index",
    "FP16": "f16",
    "BF16": "bf16",
    "FP32": "f32",
    "FP8E4M3FN": "f8E4M3FN",
    "FP8E5M2": "f8E5M2",
    "FP8E8M0": "!pto.f8E8M0",
    "HF8": "!pto.hif8",
    "FP4": "!pto.f4E2M1x2",
}
_LOCATION = {
    "DDR": "gm",
    "Vec": "vec",
    "Mat": "mat",
    "Left": "left",
    "Right": "right",
    "Acc": "acc",
    "Bias": "bias",
    "LeftScale": "scaling",
    "RightScale": "scaling",
}
_PAD = {"pad-null": 0, "pad-zero": 1, "pad-max": 2, "pad-min": 3}
FLOATS = frozenset({"FP16", "BF16", "FP32"})
_UNSIGNED = re.compile(r"UINT(\d+)")


def element(dtype: str) -> str:
    """MLIR element type of the dtype named `dtype`; KeyError for one that has no spelling."""
    return ELEMENT[dtype]


def _extent(term: Any) -> str:
    return str(term[1]) if term[0] == "at" else "?"


def _half(term: Any) -> Any:
    return ("at", term[1] // 2) if term[0] == "at" else term


def _items(vec: Any) -> tuple[Any, ...]:
    items: tuple[Any, ...] = vec[1:]
    return items


def _tile(t: Any) -> str:
    _, rows, cols, vrows, vcols, dtype, space, (_, blayout, slayout, fractal, pad, compact) = t
    if dtype[0] == "FP4":  # an element of the text is a pair, along the axis on which elements follow one another
        if blayout[0] == "col_major":
            rows, vrows = rows // 2, _half(vrows)
        else:
            cols, vcols = cols // 2, _half(vcols)
    return (
        f"!pto.tile_buf<loc={_LOCATION[space[0]]}, dtype={element(dtype[0])}, rows={rows}, cols={cols}, "
        f"v_row={_extent(vrows)}, v_col={_extent(vcols)}, blayout={blayout[0]}, slayout={slayout[0]}, "
        f"fractal={fractal}, pad={_PAD[pad[0]]}{', compact=1' if compact else ''}>"
    )


_SPELLED: dict[str, Callable[[Any], str]] = {
    "Tile": _tile,
    "Scalar": lambda t: element(t[1][0]),
    "Part": lambda t: (
        f"!pto.partition_tensor_view<{''.join(_extent(e) + 'x' for e in _items(t[1]))}{element(t[2][0])}>"
    ),
    "TensorView": lambda t: f"!pto.tensor_view<{'?x' * t[1]}{element(t[2][0])}>",
    "Array": lambda t: f"!pto.local_array<{t[1]}x{element(t[2][0])}>",
    "Ptr": lambda t: f"!pto.ptr<{element(t[1][0])}>",
    "Opaque": lambda t: str(t[1]),
    "MultiTile": lambda t: f"!pto.multi_tile_buf<{_tile(t[1])}, count={t[2]}>",
}


def type_text(term: Any) -> str:
    """MLIR text of a type term (nested tuples as the engine returns them)."""
    return _SPELLED[term[0]](term)


def float_text(value: float) -> str:
    """A float as the reference prints it: 17 digits after the point, exponent of at least 2 digits; inf, nan."""
    return f"{value:.17e}"


def float_bits(value: float, dtype: str) -> str:
    """Bit pattern of an infinity or NaN as a hex literal of the element's width."""
    if dtype == "FP16":
        return f"0x{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    pattern = struct.unpack("<I", struct.pack("<f", value))[0]
    return f"0x{pattern >> 16:04X}" if dtype == "BF16" else f"0x{pattern:08X}"


def signless(dtype: str) -> str | None:
    """Signed dtype of the same width for an unsigned one, else None."""
    m = _UNSIGNED.fullmatch(dtype)
    return f"INT{m[1]}" if m else None


_OTHER = re.compile(r"[^A-Za-z0-9_.$]")


def sanitized(name: str) -> str:
    """`name` with every character an SSA name cannot hold replaced by `_`."""
    name = _OTHER.sub("_", name)
    return f"_{name}" if name[:1].isdigit() else name


def dtype_text(dtype: DType) -> str:
    """MLIR element type of a dtype."""
    return element(dtype.value)
