"""The author's words for what the text spells: dtypes, memories, layouts, operands."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_rw.assembler.view import View
from pypto_rw.mlir import ELEMENT

DTYPES = {text: name for name, text in ELEMENT.items()}
SPACES = {
    "vec": "Vec",
    "mat": "Mat",
    "left": "Left",
    "right": "Right",
    "acc": "Acc",
    "bias": "Bias",
    "scaling": "LeftScale/RightScale",
    "gm": "DDR",
}
NOUNS = {
    "elem": "element type",
    "space": "memory",
    "rows": "rows",
    "cols": "columns",
    "vr": "valid rows",
    "vc": "valid columns",
    "r": "rows",
    "c": "columns",
    "layout": "layout",
    "blayout": "layout",
    "slayout": "inner layout",
    "fractal": "fractal",
    "pad": "pad code",
    "bytes": "bytes an element",
    "value": "value",
    "count": "elements",
    "dims": "sizes",
    "rank": "dims",
}


def types(text: str) -> str:
    """The dtype of an element type, as the author writes it."""
    return DTYPES.get(text, text)


def noun(field: str, value: object) -> str:
    """A field's value in the author's words."""
    if field == "elem":
        return types(str(value))
    return SPACES.get(str(value), str(value)) if field == "space" else str(value)


def listing(accepted: str) -> str:
    """`i16 f16 f32` as `INT16, FP16 or FP32`."""
    words = [types(t) for t in accepted.split()]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def names(view: View, role: str) -> str:
    """The operand of a role, as the author named it."""
    name = view.names.get(role)
    return role if name is None else view.label(role, name)


def named(view: View, roles: Sequence[str]) -> str:
    """Several operands: `a and b`."""
    words = list(dict.fromkeys(names(view, r) for r in roles))
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
