"""The module model: what a `.pyir` text says, as frozen dataclasses.

Two trees compare equal exactly when they say the same; source positions (`span`) and comments do
not take part.  Names are kept as written (`pl.add` stays `pl.add` until the type stage resolves
it), so that printing a parsed dump gives the dump's bytes back.  Source: pyir-syntax.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from pypto_rw.diagnostics import NOWHERE, Span
from pypto_rw.records import dataclass, field


class _Choice(Enum):
    """Members are found by identity, as they compare: `Enum` hashes their names, in Python."""

    __hash__ = object.__hash__


class DType(_Choice):
    """Element type; the value is the spelling after `pl.`."""

    BOOL = "BOOL"
    INT4 = "INT4"
    INT8 = "INT8"
    INT16 = "INT16"
    INT32 = "INT32"
    INT64 = "INT64"
    INDEX = "INDEX"
    UINT4 = "UINT4"
    UINT8 = "UINT8"
    UINT16 = "UINT16"
    UINT32 = "UINT32"
    UINT64 = "UINT64"
    FP4 = "FP4"
    FP8E4M3FN = "FP8E4M3FN"
    FP8E5M2 = "FP8E5M2"
    FP8E8M0 = "FP8E8M0"
    FP16 = "FP16"
    FP32 = "FP32"
    BF16 = "BF16"
    HF4 = "HF4"
    HF8 = "HF8"
    TASK_ID = "TASK_ID"


class Space(_Choice):
    """Memory space; the value is the spelling after `pl.Mem.`."""

    DDR = "DDR"
    Vec = "Vec"
    Mat = "Mat"
    Left = "Left"
    Right = "Right"
    Acc = "Acc"
    Bias = "Bias"
    ScalarLocal = "ScalarLocal"
    LeftScale = "LeftScale"
    RightScale = "RightScale"


class TileLayout(_Choice):
    """Block or inner layout of a tile; `pl.TileLayout.X`."""

    none_box = "none_box"
    row_major = "row_major"
    col_major = "col_major"


class TensorLayout(_Choice):
    """Layout of a tensor in global memory; `pl.TensorLayout.X`."""

    ND = "ND"
    DN = "DN"
    NZ = "NZ"
    MX_A_ZZ = "MX_A_ZZ"
    MX_B_NN = "MX_B_NN"


class Pad(_Choice):
    """Value outside the valid extent; `pl.PadValue.X`."""

    null = "null"
    zero = "zero"
    max = "max"
    min = "min"


# ------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    id: str


@dataclass(frozen=True, slots=True)
class Int:
    """An integer constant. A bare literal has dtype INDEX."""

    value: int
    dtype: DType = DType.INDEX


@dataclass(frozen=True, slots=True)
class Float:
    """A float constant. A bare literal has dtype FP32. `bits` tells 0.0 from -0.0 and NaNs apart."""

    value: float = field(compare=False)
    dtype: DType = DType.FP32
    bits: bytes = b""


@dataclass(frozen=True, slots=True)
class Bool:
    """`True` or `False`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Str:
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named constant of the language: `pl.FP32`, `pl.Mem.Vec`, `pl.PadValue.zero`.

    `path` is the text after the `pl.` prefix (`"Mem.Vec"`)."""

    path: str


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `~x`, `not x`, `abs(x)`; `op` is one of `- ~ not abs`."""

    op: str
    operand: Expr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """`x op y`; `op` is the Python operator, or `min` / `max`."""

    op: str
    left: Expr
    right: Expr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """`pl.cast(x, pl.DTYPE)` of a scalar (exactly two positional arguments, the second a dtype)."""

    operand: Expr
    dtype: DType
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Tuple:
    """`[a, b]` or `(a, b)`: a shape, an offset, a list of operands."""

    items: tuple[Expr, ...]
    brackets: str = field(default="[", compare=False)


@dataclass(frozen=True, slots=True)
class Item:
    """`t[0]`: element of a tuple value."""

    value: Expr
    index: int


@dataclass(frozen=True, slots=True)
class Call:
    """`pl.tile.add(a, b, mode='rint', attrs={...})`.

    `callee` is the name without the `pl.` prefix, a trailing `_` that only escapes a Python keyword removed
    (`tile.and`); `pld.`, `self.` and plain callees keep their prefix.  The special surfaces of
    pyir-syntax.md §5.3 are kept as written."""

    callee: str
    args: tuple[Expr, ...] = ()
    kwargs: tuple[tuple[str, Expr], ...] = ()
    attrs: tuple[tuple[str, Expr], ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class TypeExpr:
    """A type used as a value, e.g. an annotation bound to a name."""

    type: Type


Expr = Name | Int | Float | Bool | Str | Symbol | Unary | Binary | Cast | Tuple | Item | Call | TypeExpr


# ------------------------------------------------------------------------------------- types


@dataclass(frozen=True, slots=True)
class MemRef:
    """`pl.MemRef(base, offset, size[, slots=N])[index]`, or the declaration `pl.MemRef("name")`.

    `offset` in bytes, `size` in bytes; both None in a declaration."""

    base: str
    offset: Expr | None = None
    size: int | None = None
    slots: int | None = None
    slot: Expr | None = None


@dataclass(frozen=True, slots=True)
class TensorView:
    """`pl.TensorView(...)`; None = field absent. A bare `pl.DN` marker is a view with only `layout`
    and `marker=True`."""

    valid: tuple[Expr, ...] | None = None
    stride: tuple[Expr, ...] | None = None
    layout: TensorLayout | None = None
    pad: Pad | None = None
    marker: bool = False


@dataclass(frozen=True, slots=True)
class TileView:
    """`pl.TileView(...)`; None = field absent (its value is then the implicit view's)."""

    valid: tuple[Expr, ...] | None = None
    stride: tuple[Expr, ...] | None = None
    start_offset: Expr | None = None
    blayout: TileLayout | None = None
    slayout: TileLayout | None = None
    fractal: int | None = None
    pad: Pad | None = None
    compact: bool | None = None


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor in global memory; `distributed` for `pld.DistributedTensor`."""

    shape: tuple[Expr, ...]
    dtype: DType
    view: TensorView | None = None
    memref: MemRef | None = None
    distributed: bool = False
    window: str | None = None


@dataclass(frozen=True, slots=True)
class TileType:
    """A tile in on-chip memory; `space` None = not yet inferred, `memref` None = not allocated."""

    shape: tuple[Expr, ...]
    dtype: DType
    memref: MemRef | None = None
    space: Space | None = None
    view: TileView | None = None


@dataclass(frozen=True, slots=True)
class ScalarType:
    """`pl.Scalar[pl.DTYPE]`."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class ArrayType:
    """`pl.Array[n, pl.DTYPE]`."""

    shape: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class TupleType:
    """`pl.Tuple[...]` or the return type `tuple[...]` (`builtin=True`)."""

    items: tuple[Type, ...]
    builtin: bool = False


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type without parameters: `pl.Ptr`, `pl.UnknownType`, `pld.CommCtxType`…; `name` with its prefix."""

    name: str


Type = TensorType | TileType | ScalarType | ArrayType | TupleType | OpaqueType


# -------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Assign:
    """`x: T = value`; several targets for a tuple-valued right side (then no type)."""

    targets: tuple[str, ...]
    type: Type | None
    value: Expr
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """A call for its effect."""

    value: Expr
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Yield:
    """`a, b = pl.yield_(x, y)` (single target: with its type) or a bare `pl.yield_(x)`."""

    targets: tuple[str, ...]
    type: Type | None
    values: tuple[Expr, ...]
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)
    call_span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class For:
    """`for i, (a,) in pl.range(start, stop, step, init_values=(x,)):`.

    `kind` is `range | parallel | unroll | pipeline`; `bounds` as written (1 to 3 expressions)."""

    kind: str
    variable: str
    bounds: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    carried: tuple[str, ...] = ()
    initial: tuple[Expr, ...] = ()
    stage: int | None = None
    attrs: tuple[tuple[str, Expr], ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class While:
    """`while cond:` or, with carried values, `for (a,) in pl.while_(init_values=(x,)):` + `pl.cond(...)`."""

    condition: Expr
    body: tuple[Stmt, ...]
    carried: tuple[str, ...] = ()
    initial: tuple[Expr, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class If:
    """`if cond:` … `else:`; `orelse` None when there is no else, () for `else: pass`.
    `elif` reads as an `If` that is the only statement of `orelse`, with `elif_=True` on that inner one."""

    condition: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] | None = None
    elif_: bool = field(default=False, compare=False)
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Return:
    """`return a, b`."""

    values: tuple[Expr, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Jump:
    """`break`, `continue`, `...`; `pass` in a block is no statement. `kind` is the keyword."""

    kind: str
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """`with pl.at(...) as t:`, `with pl.cluster():`, `for i in pl.spmd(n):`, `for s in pl.split_aiv(2, mode=…):`.

    `call` is the scope expression as written; `name` the `as` name or the loop variable; `loop` tells them apart."""

    call: Call
    body: tuple[Stmt, ...]
    name: str | None = None
    loop: bool = False
    span: Span = field(default=NOWHERE, compare=False)
    comments: tuple[str, ...] = field(default=(), compare=False)


_VALUED = (Assign, Evaluate)
_BLOCKS = frozenset({For, While, If, Scope})  # statements with a body
Stmt = Assign | Evaluate | Yield | For | While | If | Return | Jump | Scope


# --------------------------------------------------------------------------- functions, module


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter; `direction` is `In | Out | InOut`."""

    name: str
    type: Type
    direction: str = "In"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Function:
    """`@pl.function(...) def name(...)`.

    `kind` is the FunctionType (`AIV`, `InCore`, …; None when absent: Opaque); `options` the other decorator
    keywords in order (`level`, `role`, `auto_scope`, `external_source`); `attrs` those of `pl.func_attr`."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    kind: str | None = None
    options: tuple[tuple[str, Expr], ...] = ()
    attrs: tuple[tuple[str, Expr], ...] = ()
    returns: Type | None = None
    self_: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Module:
    """One file. `name` None: functions stand alone, without `@pl.program class`.

    `dynamic` are the `N = pl.dynamic("N")` declarations in file order; `constants` the other module-level
    assignments (`BLOCK = 64`, `ring = pl.MemRef("ring", slots=2)`), also as written."""

    name: str | None
    functions: tuple[Function, ...]
    dynamic: tuple[tuple[str, str], ...] = ()
    constants: tuple[Assign, ...] = ()
    header: str | None = None
    prefix: str = field(default="pl", compare=False)


def called(stmt: Stmt) -> Call | None:
    """The call that a statement is, or whose result it names."""
    value = stmt.value if isinstance(stmt, _VALUED) else None
    return value if isinstance(value, Call) else None


def statements(body: tuple[Stmt, ...]) -> Iterable[Stmt]:
    """Every statement below `body`, outer before inner, in source order."""
    return body if _BLOCKS.isdisjoint(map(type, body)) else _nested(body)


def _nested(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    for stmt in body:
        yield stmt
        if type(stmt) not in _BLOCKS:
            continue
        match stmt:
            case For() | While() | Scope():
                yield from _nested(stmt.body)
            case If():
                yield from _nested(stmt.body)
                if stmt.orelse:
                    yield from _nested(stmt.orelse)
