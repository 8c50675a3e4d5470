"""Text of expressions and types as the reference printer spells them (pyir-syntax.md §4, §5)."""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable

from pypto_rw import ir
from pypto_rw.syntax.operators import COMPARISON, LEVELS, NOT, POWER, UNARY

_ATOM = 15
_CALL = 14


def quoted(text: str, quote: str = '"') -> str:
    """`text` as a Python string literal that reads back as the same text; `quote` is the delimiter."""
    if text.isprintable() and "\\" not in text and quote not in text:
        return f"{quote}{text}{quote}"
    return quote + "".join(_escaped(char, quote) for char in text) + quote


def _escaped(char: str, quote: str) -> str:
    if char in ("\\", quote):
        return "\\" + char
    if char.isprintable():
        return char
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char) or _numbered(ord(char))


def _numbered(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def names_tuple(names: Iterable[str]) -> str:
    """`(x,)` for one, `(x, y)` for several."""
    items = tuple(names)
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _float(value: float) -> str:
    # C++ default float format at max_digits10; Python's `g` with the same precision is the same text.
    if math.isnan(value):
        return "-nan" if math.copysign(1.0, value) < 0 else "nan"
    text = f"{value:.17g}"
    return text if math.isinf(value) or "." in text or "e" in text else text + ".0"


def _precedence(expr: ir.Expr) -> int:
    match expr:
        case ir.Binary():
            return LEVELS.get(expr.op, _CALL)
        case ir.Unary():
            return {"not": NOT, "abs": _CALL}.get(expr.op, UNARY)
        case ir.Call() | ir.Cast():
            return _CALL
        case _:
            return _ATOM


def _negative(expr: ir.Expr) -> bool:
    """Is the text a literal with a sign? `(-3) ** x` needs its parentheses, the sign binds looser."""
    match expr:
        case ir.Int(value, ir.DType.INDEX):
            return value < 0
        case ir.Float(value, ir.DType.FP32):
            return math.copysign(1.0, value) < 0
        case _:
            return False


def _only_integers(expr: ir.Expr) -> bool:
    pending = [expr]
    while pending:
        match pending.pop():
            case ir.Int():
                pass
            case ir.Binary(_, left, right):
                pending += (left, right)
            case _:
                return False
    return True


class Terms:
    """Spells expressions and types with one import prefix.

    `defined` are the allocation bases a body defines: a MemRef prints those as names, others as strings.
    `functions` are the names called without a prefix."""

    def __init__(self, *, prefix: str, defined: frozenset[str], functions: frozenset[str]) -> None:
        self.prefix = prefix
        self._defined = defined
        self._functions = functions
        self._callees: dict[str, str] = {}
        # By identity: hashing a type costs more than printing it, and the module keeps the types alive.
        self._types: dict[int, str] = {}

    # -------------------------------------------------------------------------------- expressions

    def expr(self, expr: ir.Expr, typed: bool = False) -> str:
        """Text of `expr`; `typed` writes INDEX constants as `pl.const(n, pl.INDEX)`."""
        match expr:
            case ir.Name():
                return expr.id
            case ir.Int():
                if expr.dtype is ir.DType.INDEX and not typed:
                    return str(expr.value)
                return f"{self.prefix}.const({expr.value}, {self.prefix}.{expr.dtype.value})"
            case ir.Tuple():
                return self._tuple(expr, typed)
            case ir.Symbol():
                return expr.path if expr.path.startswith(("pld.", "self.")) else f"{self.prefix}.{expr.path}"
            case ir.Call():
                return self.call(expr, typed)
            case ir.Binary():
                return self._binary(expr, typed)
            case ir.Unary():
                return self._unary(expr, typed)
            case ir.Cast():
                return f"{self.prefix}.cast({self.expr(expr.operand, typed)}, {self.prefix}.{expr.dtype.value})"
            case ir.Float():
                text = _float(expr.value)
                if expr.dtype is ir.DType.FP32:
                    return text
                return f"{self.prefix}.const({text}, {self.prefix}.{expr.dtype.value})"
            case ir.Bool():
                return "True" if expr.value else "False"
            case ir.Str():
                return quoted(expr.value, "'")
            case ir.Item():
                text = self.expr(expr.value, typed)
                atom = isinstance(expr.value, ir.Name | ir.Item | ir.Tuple | ir.Call | ir.Cast)
                return f"{text}[{expr.index}]" if atom else f"({text})[{expr.index}]"
            case ir.TypeExpr():
                return self.type(expr.type)

    def exprs(self, exprs: Iterable[ir.Expr]) -> str:
        """Texts of `exprs`, comma-separated."""
        return ", ".join([self.expr(item) for item in exprs])

    def _tuple(self, expr: ir.Tuple, typed: bool) -> str:
        items = [self.expr(item, typed) for item in expr.items]
        return names_tuple(items) if expr.brackets == "(" else f"[{', '.join(items)}]"

    def call(self, call: ir.Call, typed: bool = False, quote: str = "'") -> str:
        """Text of `call`; `quote` delimits its string keywords."""
        callee = self._callees.get(call.callee) or self._callee(call.callee)
        parts = [quoted(arg.value) if isinstance(arg, ir.Str) else self.expr(arg, typed) for arg in call.args]
        if call.kwargs:
            if call.callee == "system.syncall" and any(key == "gm_workspace" for key, _ in call.kwargs):
                quote = '"'
            parts += [f"{key}={self._keyword(key, value, quote)}" for key, value in call.kwargs]
        if call.attrs:
            parts.append(f"attrs={self.attrs(call.attrs)}")
        return f"{callee}({', '.join(parts)})"

    def _keyword(self, key: str, value: ir.Expr, quote: str) -> str:
        if isinstance(value, ir.Str):
            return quoted(value.value, quote)
        # The reference wraps the predicate of a submission whatever it is.
        return f"({self.expr(value)})" if key == "predicate" else self.expr(value)

    def _callee(self, name: str) -> str:
        text = name + "_" if keyword.iskeyword(name.rpartition(".")[2]) else name
        if not name.startswith(("pld.", "self.")) and name not in self._functions:
            text = f"{self.prefix}.{text}"
        self._callees[name] = text
        return text

    def attrs(self, attrs: Iterable[tuple[str, ir.Expr]]) -> str:
        """`{"key": value, …}`; strings in double quotes."""
        return "{" + ", ".join([f"{quoted(key)}: {self.option(value)}" for key, value in attrs]) + "}"

    def option(self, value: ir.Expr) -> str:
        """Text of an attribute or decorator value: a string is in double quotes."""
        return quoted(value.value) if isinstance(value, ir.Str) else self.expr(value)

    def _binary(self, expr: ir.Binary, typed: bool) -> str:
        if expr.op not in LEVELS:
            sides = f"{self.expr(expr.left, typed)}, {self.expr(expr.right, typed)}"
            return f"{self.prefix}.{expr.op}({sides})"
        # Down the left spine in a loop: long sums are deep trees.
        tail: list[str] = []
        node = expr
        while True:
            level = LEVELS[node.op]
            typed = typed or _only_integers(node)
            right = self.expr(node.right, typed)
            if _precedence(node.right) < level + (node.op != "**"):
                right = f"({right})"
            tail.append(f" {node.op} {right}")
            # Comparisons do not chain, powers nest to the right: equal precedence needs parentheses.
            least = level + (level in (COMPARISON, POWER))
            left = node.left
            if isinstance(left, ir.Binary) and least <= LEVELS.get(left.op, 0):
                node = left
                continue
            head = self._operand(left, typed, least)
            if level == POWER and head.startswith("-"):
                head = f"({head})"
            return head + "".join(reversed(tail))

    def _operand(self, expr: ir.Expr, typed: bool, least: int) -> str:
        text = self.expr(expr, typed)
        return text if _precedence(expr) >= least else f"({text})"

    def _unary(self, expr: ir.Unary, typed: bool) -> str:
        operand = expr.operand
        if expr.op == "abs":
            return f"abs({self.expr(operand, typed)})"
        if expr.op == "not":
            return f"not {self._operand(operand, typed, NOT)}"
        if expr.op == "-" and isinstance(operand, ir.Int | ir.Float) and not _negative(operand):
            # `-3` is a constant; the negation of the constant 3 has to look different.
            value = str(operand.value) if isinstance(operand, ir.Int) else _float(operand.value)
            return f"-{self.prefix}.const({value}, {self.prefix}.{operand.dtype.value})"
        return expr.op + self._operand(operand, typed, UNARY)

    # -------------------------------------------------------------------------------------- types

    def type(self, type_: ir.Type) -> str:
        """Text of `type_`, as an annotation."""
        text = self._types.get(id(type_))
        if text is None:
            text = self._types[id(type_)] = self._type(type_)
        return text

    def _type(self, type_: ir.Type) -> str:
        p = self.prefix
        match type_:
            case ir.ScalarType():
                return f"{p}.Scalar[{p}.{type_.dtype.value}]"
            case ir.TileType():
                text = f"{p}.Tile[[{self._dims(type_.shape)}], {p}.{type_.dtype.value}"
                if type_.memref is not None:
                    text += f", {self._memref(type_.memref)}"
                if type_.space is not None:
                    text += f", {p}.Mem.{type_.space.value}"
                if type_.view is not None:
                    text += f", {self._tile_view(type_.view)}"
                return text + "]"
            case ir.TensorType():
                head = "pld.DistributedTensor" if type_.distributed else f"{p}.Tensor"
                text = f"{head}[[{self._dims(type_.shape)}], {p}.{type_.dtype.value}"
                if type_.view is not None:
                    text += f", {self._tensor_view(type_.view)}"
                if type_.memref is not None:
                    text += f", {self._memref(type_.memref)}"
                if type_.window is not None:
                    text += f", {quoted(type_.window)}"
                return text + "]"
            case ir.ArrayType():
                return f"{p}.Array[{self._dims(type_.shape)}, {p}.{type_.dtype.value}]"
            case ir.TupleType():
                items = ", ".join([self.type(item) for item in type_.items]) or "()"
                return f"tuple[{items}]" if type_.builtin else f"{p}.Tuple[{items}]"
            case ir.OpaqueType():
                return p + type_.name[2:] if type_.name.startswith("pl.") else type_.name

    def _dims(self, dims: Iterable[ir.Expr]) -> str:
        return ", ".join([self._dim(dim) for dim in dims])

    def _dim(self, dim: ir.Expr) -> str:
        return self.expr(dim, typed=not isinstance(dim, ir.Int))

    def _memref(self, memref: ir.MemRef) -> str:
        base = memref.base
        if memref.offset is None or memref.size is None:
            text = f"{self.prefix}.MemRef({quoted(base)}"
        else:
            spelled = base if base in self._defined else quoted(base)
            text = f"{self.prefix}.MemRef({spelled}, {self.expr(memref.offset)}, {memref.size}"
        text += ")" if memref.slots is None else f", slots={memref.slots})"
        return text if memref.slot is None else f"{text}[{self.expr(memref.slot)}]"

    def _tensor_view(self, view: ir.TensorView) -> str:
        p = self.prefix
        if view.marker and view.layout is not None:
            return f"{p}.{view.layout.value}"
        fields: list[str] = []
        if view.valid is not None:
            fields.append(f"valid_shape=[{self._dims(view.valid)}]")
        if view.stride is not None:
            fields.append(f"stride=[{self._dims(view.stride)}]")
        if view.layout is not None:
            fields.append(f"layout={p}.TensorLayout.{view.layout.value}")
        if view.pad is not None:
            fields.append(f"pad={p}.PadValue.{view.pad.value}")
        return f"{p}.TensorView({', '.join(fields)})"

    def _tile_view(self, view: ir.TileView) -> str:
        p = self.prefix
        fields: list[str] = []
        if view.valid is not None:
            fields.append(f"valid_shape=[{self._dims(view.valid)}]")
        if view.stride is not None:
            fields.append(f"stride=[{self._dims(view.stride)}]")
        if view.start_offset is not None:
            fields.append(f"start_offset={self._dim(view.start_offset)}")
        if view.blayout is not None:
            fields.append(f"blayout={p}.TileLayout.{view.blayout.value}")
        if view.slayout is not None:
            fields.append(f"slayout={p}.TileLayout.{view.slayout.value}")
        if view.fractal is not None:
            fields.append(f"fractal={view.fractal}")
        if view.pad is not None:
            fields.append(f"pad={p}.PadValue.{view.pad.value}")
        if view.compact is not None:
            fields.append(f"compact={p}.CompactMode.{'normal' if view.compact else 'null'}")
        return f"{p}.TileView({', '.join(fields)})"
