"""What is known of a value: its type, where it is, how it came to be; and a refusal of what is done with it."""

from __future__ import annotations

from typing import NamedTuple

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE, Diagnostic, Span
from pypto_rw.layout import effective_view
from pypto_rw.records import dataclass
from pypto_rw.scalars import WIDE, Bounds

ARTICLES = {
    "tile": "a tile",
    "tensor": "a tensor",
    "scalar": "a scalar",
    "array": "an array",
    "integer": "an integer scalar",
    "window": "a window",
    "window-parameter": "a window",
    "effect": "the name of a call for its effect, which gives no value",
}


class Window(NamedTuple):
    """What a window looks at: the source's handle, two offsets, the columns and the bytes of the whole tile.

    `memory`: 0 the window's own allocation may lie over the whole tile, 1 it lies elsewhere, 2 it holds a copy,
    3 as 1, and it may begin inside 32 bytes, where no vector operand begins. `begins`: how far behind the start of an
    allocation it begins, in bits: a constant, and a number that divides the rest."""

    handle: object
    row: ir.Expr
    col: ir.Expr
    columns: int
    bytes: object
    memory: int = 0
    begins: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a variable.

    `place`: (allocation, byte range, handle), each a hashable identity, or None. `origin`: how the value came
    to be. `constant`: the scalar constant it stands for. `root`: the parameter whose memory a tensor is.
    `divisor`: a number that divides a scalar."""

    type: ir.Type
    place: tuple[object, object, object] | None = None
    origin: str = "plain"
    window: Window | None = None
    constant: ir.Int | ir.Float | ir.Bool | None = None
    bounds: Bounds = (-WIDE, WIDE)
    view: str | None = None
    root: str | None = None
    divisor: int = 1


def moves(value: Value | None) -> bool:
    """Whether a value is a window that begins where only run time tells, and has no copy of what it shows."""
    window = value.window if value is not None else None
    if window is None or window.memory == 2:
        return False
    return not (isinstance(window.row, ir.Int) and isinstance(window.col, ir.Int))


def strided(value: Value) -> bool:
    """Whether a value is a window of some columns of several rows: its rows do not follow one another in memory."""
    window, t = value.window, value.type
    if window is None or window.memory == 2 or not isinstance(t, ir.TileType) or len(t.shape) != 2:
        return False
    rows, columns = t.shape
    view = effective_view(t)
    if view.slayout is not ir.TileLayout.none_box or view.blayout is not ir.TileLayout.row_major:
        return False
    if not isinstance(rows, ir.Int) or not isinstance(columns, ir.Int):
        return False
    return rows.value > 1 and columns.value < window.columns


class Refused(Exception):
    """A statement that cannot become a shape."""

    def __init__(self, code: str, message: str, span: Span = NOWHERE, help: str = "", rule: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.span, self.help, self.rule = code, message, span, help, rule
        self.name: str | None = None

    def diagnostic(self, span: Span, filename: str, function: str) -> Diagnostic:
        """The refusal at its own place, or at `span`; its own way out, or that of its code."""
        if not self.help:
            from pypto_rw.shaping.ways import WAYS

            self.help = WAYS.get(self.code, "")
        return Diagnostic(
            self.code,
            self.message,
            self.span or span,
            self.help,
            self.rule,
            filename=filename,
            function=function,
            name=self.name or "",
        )


def kind_of(t: ir.Type) -> str:
    """`tile`, `tensor`, `scalar`, `array`, `effect` (a pl.UnknownType) or `other`."""
    match t:
        case ir.TileType():
            return "tile"
        case ir.TensorType():
            return "tensor"
        case ir.ScalarType():
            return "scalar"
        case ir.ArrayType():
            return "array"
        case ir.OpaqueType(name="pl.UnknownType"):
            return "effect"
    return "other"


def kind_name(t: ir.Type | None) -> str:
    """The kind of a type with its article, for messages."""
    return ARTICLES.get(kind_of(t), "of another kind") if t is not None else "undefined"


def overlap(a: object, b: object) -> bool:
    """Whether two byte ranges (where, offset, size, slot) share bytes in every run."""
    if not isinstance(a, tuple) or not isinstance(b, tuple) or a[0] != b[0]:
        return False
    known = isinstance(a[1], int) and isinstance(b[1], int) and isinstance(a[2], int) and isinstance(b[2], int)
    return known and a[3] is None and b[3] is None and a[1] < b[1] + b[2] and b[1] < a[1] + a[2]


def begins_inside(a: object, b: object) -> bool:
    """Whether the byte range `b`, which overlaps `a`, begins behind the start of `a`."""
    return isinstance(a, tuple) and isinstance(b, tuple) and bool(b[1] > a[1])


def apart(a: object, b: object) -> bool:
    """Whether two byte ranges share no byte in any run."""
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return False
    if a[0] != b[0]:
        return True
    known = isinstance(a[1], int) and isinstance(b[1], int) and isinstance(a[2], int) and isinstance(b[2], int)
    return known and a[3] is None and b[3] is None and not overlap(a, b)


def undefined(name: str, help: str = "") -> Refused:
    """Refusal of a name without a definition; `help` where it need not be a scalar."""
    if name.endswith("__FREE_VAR"):
        return Refused("undefined-name", f"{name} has no definition: the dump was printed from malformed IR")
    refused = Refused(
        "undefined-name",
        f"cannot materialize symbol {name}: it has no definition",
        help=f"define {name} before its use, {help or f'or pass it as a parameter {name}: pl.Scalar[pl.INDEX]'}",
    )
    refused.name = name
    return refused
