"""Annotations: what stands behind `x:` as an ir.Type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeVar

from pypto_rw import ir
from pypto_rw.syntax.constants import known_number
from pypto_rw.syntax.parts import Applied, Argument, Part, Record, Subscript, unplaced
from pypto_rw.syntax.tokens import DTYPES, MARKERS, Refusal, Token, near

_E = TypeVar("_E", bound=Enum)
_SPACES = {space.value: space for space in ir.Space}
_TENSOR_LAYOUTS = {layout.value: layout for layout in ir.TensorLayout}
_TILE_LAYOUTS = {layout.value: layout for layout in ir.TileLayout}
_PADS = {pad.value: pad for pad in ir.Pad}


class _Compact(Enum):
    null = "null"
    normal = "normal"


_COMPACT = {mode.value: mode for mode in _Compact}
_Element = ir.MemRef | ir.TensorView | ir.TileView | ir.Space | str


class Types:
    """Reads types. `constants` are the module-level names an annotation may use; `finish` reads an operand."""

    def __init__(self, constants: dict[str, Part], finish: Callable[[Part], ir.Expr]) -> None:
        self._constants = constants
        self._finish = finish
        self.shared: dict[ir.Type, ir.Type] = {}

    def read(self, part: Part) -> ir.Type:
        """The type `part` spells; equal types are one object."""
        type_ = self._read(part)
        return self.shared.setdefault(type_, type_)

    def _read(self, part: Part) -> ir.Type:
        node = part.node
        if isinstance(node, ir.Name):
            bound = self._constants.get(node.id)
            if bound is not None and isinstance(bound.node, Applied):
                return self._read(bound)
            names = [name for name, value in self._constants.items() if isinstance(value.node, Applied)]
            close = near(node.id, names)
            raise Refusal(
                "unknown-type",
                f"`{node.id}` is not a type; an annotation is pl.Tensor[...], pl.Tile[...], pl.Scalar[...]",
                part.span,
                f"did you mean {close}?" if close else "",
            )
        if isinstance(node, ir.Symbol) and node.path in DTYPES:
            raise Refusal(
                "unknown-type",
                f"pl.{node.path} is an element type, not a type",
                part.span,
                f"write pl.Scalar[pl.{node.path}]",
            )
        if not isinstance(node, Applied):
            raise Refusal(
                "unknown-type",
                "a type is needed here: pl.Tensor[...], pl.Tile[...], pl.Scalar[...] or another type of pl",
                part.span,
            )
        name = node.head.value
        arguments = node.arguments
        for argument in arguments:
            if argument.name is not None:
                raise Refusal(
                    "type-arguments",
                    f"`{argument.name.text}=` cannot stand in the brackets of a type",
                    argument.name.span,
                )
        parts = [argument.part for argument in arguments]
        match name:
            case "Scalar":
                if len(parts) != 1:
                    raise self._wrong(part, "one element type: pl.Scalar[pl.FP32]")
                return ir.ScalarType(self._dtype(parts[0]))
            case "Tile" | "Tensor" | "pld.DistributedTensor":
                return self._shaped(str(name), part, parts)
            case "Array":
                if len(parts) < 2:
                    raise self._wrong(part, "an extent and an element type: pl.Array[8, pl.INT32]")
                return ir.ArrayType(tuple(map(self._dim, parts[:-1])), self._dtype(parts[-1]))
            case "Tuple" | "tuple":
                if len(parts) == 1 and isinstance(parts[0].node, ir.Tuple) and not parts[0].node.items:
                    parts = []
                return ir.TupleType(tuple(map(self.read, parts)), builtin=name == "tuple")
            case "Out" | "InOut":
                raise Refusal(
                    "type-arguments", f"`{node.head.text}` marks a parameter; it cannot stand here", node.head.span
                )
            case _:
                text = str(name)
                return ir.OpaqueType(text if text.startswith("pld.") else f"pl.{text}")

    def _wrong(self, part: Part, needed: str) -> Refusal:
        assert isinstance(part.node, Applied)
        return Refusal("type-arguments", f"`{part.node.head.text}` needs {needed}", part.span)

    def _dtype(self, part: Part) -> ir.DType:
        if isinstance(part.node, ir.Symbol) and part.node.path in DTYPES:
            return DTYPES[part.node.path]
        raise Refusal("type-arguments", "an element type is needed here, for example pl.FP32", part.span)

    def _dim(self, part: Part) -> ir.Expr:
        return unplaced(self._finish(part))

    def _dims(self, part: Part) -> tuple[ir.Expr, ...]:
        dims = self._finish(part) if isinstance(part.node, ir.Tuple) else None
        if not isinstance(dims, ir.Tuple):
            raise Refusal("type-arguments", "extents are needed here, in brackets: [64, 64]", part.span)
        return tuple(map(unplaced, dims.items))

    def _shaped(self, name: str, part: Part, parts: Sequence[Part]) -> ir.Type:
        spelled = "pld.DistributedTensor" if name.startswith("pld.") else f"pl.{name}"
        if len(parts) < 2:
            raise self._wrong(part, f"a shape and an element type: {spelled}[[64, 64], pl.FP32]")
        shape, dtype = self._dims(parts[0]), self._dtype(parts[1])
        memref: ir.MemRef | None = None
        space: ir.Space | None = None
        tensor_view: ir.TensorView | None = None
        tile_view: ir.TileView | None = None
        window: str | None = None
        for item in parts[2:]:
            element = self._element(item)
            match element:
                case ir.MemRef() if memref is None:
                    memref = element
                case ir.Space() if space is None and name == "Tile":
                    space = element
                case ir.TensorView() if tensor_view is None and name != "Tile":
                    tensor_view = element
                case ir.TileView() if tile_view is None and name == "Tile":
                    tile_view = element
                case str() if window is None and name.startswith("pld."):
                    window = element
                case ir.MemRef():
                    raise Refusal("memref-twice", "this type has a pl.MemRef already; one is allowed", item.span)
                case _:
                    raise Refusal(
                        "type-arguments", f"this cannot stand in {spelled}[...], or stands there twice", item.span
                    )
        if name != "Tile":
            return ir.TensorType(shape, dtype, tensor_view, memref, name.startswith("pld."), window)
        if memref is not None and space is None:
            raise Refusal(
                "memref-without-space",
                "this tile has a pl.MemRef, but no memory space to find it in",
                part.span,
                "add the space, for example pl.Mem.Vec",
            )
        return ir.TileType(shape, dtype, memref, space, tile_view)

    def _element(self, part: Part) -> _Element | None:
        node = part.node
        match node:
            case ir.Str():
                return node.value
            case ir.Symbol():
                group, _, member = node.path.partition(".")
                if group in ("Mem", "MemorySpace"):
                    return _SPACES[member]
                if node.path in MARKERS:
                    return ir.TensorView(layout=_TENSOR_LAYOUTS[node.path], marker=True)
                return None
            case ir.Name() | Record():
                name, record = self._record(part)
                if record is None:
                    raise self._unbound(name, part)
                match record.head.value:
                    case "MemRef":
                        return self._memref(record, name, part, None)
                    case "TensorView":
                        return self._tensor_view(record)
                    case _:
                        return self._tile_view(record)
            case Subscript():
                name, record = self._record(node.value)
                if name is not None and record is None:
                    raise self._unbound(name, node.value)
                if record is not None and record.head.value == "MemRef":
                    return self._memref(record, name, part, node.arguments)
                return None
            case _:
                return None

    def _unbound(self, name: str | None, part: Part) -> Refusal:
        return Refusal(
            "unknown-name",
            f"`{name}` is not defined before as a pl.MemRef, pl.TensorView or pl.TileView",
            part.span,
            f'write {name} = pl.MemRef("{name}", slots=2) above the program',
        )

    def _record(self, part: Part) -> tuple[str | None, Record | None]:
        node = part.node
        if isinstance(node, Record):
            return None, node
        if isinstance(node, ir.Name):
            bound = self._constants.get(node.id)
            return node.id, bound.node if bound is not None and isinstance(bound.node, Record) else None
        return None, None

    # ------------------------------------------------------------------------------------ MemRef

    def _memref(self, record: Record, name: str | None, part: Part, subscript: Sequence[Argument] | None) -> ir.MemRef:
        positional, keywords = split(record.arguments, ("slots",))
        slots = self.static(keywords["slots"]) if "slots" in keywords else None
        memref: ir.MemRef
        match positional:
            case []:
                if name is None:
                    raise self._memref_arguments(record)
                memref = ir.MemRef(name, slots=slots)
            case [Part(node=ir.Str() as text)]:
                memref = ir.MemRef(text.value, slots=slots)
            case [Part(node=ir.Str() | ir.Name() as origin), offset, size]:
                base = origin.value if isinstance(origin, ir.Str) else origin.id
                memref = ir.MemRef(base, self._dim(offset), self.static(size), slots)
            case _:
                raise self._memref_arguments(record)
        if subscript is None:
            return memref
        if slots is None:
            raise Refusal(
                "slot-without-slots",
                f"`{memref.base}` is indexed, but was declared without slots",
                part.span,
                f'declare it as pl.MemRef("{memref.base}", slots=2), or drop the index',
            )
        if len(subscript) != 1 or subscript[0].name is not None:
            raise Refusal("slot-index", "one slot index is needed in the brackets", part.span)
        slot = self._dim(subscript[0].part)
        if isinstance(slot, ir.Int) and not 0 <= slot.value < slots:
            raise Refusal(
                "slot-range",
                f"slot {slot.value} of `{memref.base}` does not exist: it has {slots} slots, numbered from 0",
                subscript[0].part.span,
            )
        return ir.MemRef(memref.base, memref.offset, memref.size, slots, slot)

    def _memref_arguments(self, record: Record) -> Refusal:
        return Refusal(
            "memref-arguments",
            f"{record.head.text} takes a name, or a base, a byte offset and a byte size; "
            f"found {len(record.arguments)} arguments of another kind",
            record.head.span,
            f'write {record.head.text}("name", slots=2) or {record.head.text}("name", pl.const(0, pl.INT64), 4096)',
        )

    def static(self, part: Part) -> int:
        """The integer `part` is, as a literal or a module-level name for one."""
        found = known_number(part, self._constants)
        if isinstance(found, ir.Int):
            return found.value
        raise Refusal("not-an-integer", "an integer constant is needed here", part.span)

    # ------------------------------------------------------------------------------------- views

    def _tensor_view(self, record: Record) -> ir.TensorView:
        fields = _fields(record, ("valid_shape", "stride", "layout", "pad"))
        return ir.TensorView(
            valid=self._dims(fields["valid_shape"]) if "valid_shape" in fields else None,
            stride=self._dims(fields["stride"]) if "stride" in fields else None,
            layout=_member(fields.get("layout"), "TensorLayout", _TENSOR_LAYOUTS),
            pad=_member(fields.get("pad"), "PadValue", _PADS),
        )

    def _tile_view(self, record: Record) -> ir.TileView:
        allowed = ("valid_shape", "stride", "start_offset", "blayout", "slayout", "fractal", "pad", "compact")
        fields = _fields(record, allowed)
        compact = _member(fields.get("compact"), "CompactMode", _COMPACT)
        return ir.TileView(
            valid=self._dims(fields["valid_shape"]) if "valid_shape" in fields else None,
            stride=self._dims(fields["stride"]) if "stride" in fields else None,
            start_offset=self._dim(fields["start_offset"]) if "start_offset" in fields else None,
            blayout=_member(fields.get("blayout"), "TileLayout", _TILE_LAYOUTS),
            slayout=_member(fields.get("slayout"), "TileLayout", _TILE_LAYOUTS),
            fractal=self.static(fields["fractal"]) if "fractal" in fields else None,
            pad=_member(fields.get("pad"), "PadValue", _PADS),
            compact=None if compact is None else compact is _Compact.normal,
        )


def split(arguments: Sequence[Argument], allowed: Sequence[str]) -> tuple[list[Part], dict[str, Part]]:
    """Positional parts and keyword parts; refuses keywords that are not `allowed`."""
    positional: list[Part] = []
    keywords: dict[str, Part] = {}
    for argument in arguments:
        if argument.name is None:
            positional.append(argument.part)
        elif argument.name.text in allowed:
            keywords[argument.name.text] = argument.part
        else:
            raise unknown_keyword(argument.name, allowed)
    return positional, keywords


def unknown_keyword(name: Token, allowed: Sequence[str]) -> Refusal:
    """`name=` is none of the `allowed` keywords."""
    close = near(name.text, list(allowed))
    listed = ", ".join(f"{word}=" for word in allowed) or "no keyword"
    return Refusal(
        "unknown-keyword",
        f"`{name.text}=` is not a keyword here; allowed: {listed}",
        name.span,
        f"did you mean {close}=?" if close else "",
    )


def _fields(record: Record, allowed: Sequence[str]) -> dict[str, Part]:
    positional, keywords = split(record.arguments, allowed)
    if positional:
        raise Refusal(
            "type-arguments", f"{record.head.text} takes keywords only: {', '.join(allowed)}", positional[0].span
        )
    return keywords


def _member(part: Part | None, group: str, members: dict[str, _E]) -> _E | None:
    if part is None:
        return None
    if isinstance(part.node, ir.Symbol):
        found, _, member = part.node.path.partition(".")
        if found == group:
            return members[member]
    raise Refusal("type-arguments", f"one of pl.{group} is needed here: {', '.join(members)}", part.span)
