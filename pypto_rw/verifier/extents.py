"""Extents: where `?` stands and where a number, ranks of views, and boxes that stay inside what they cut."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_rw.verifier.findings import Findings
from pypto_rw.verifier.forms import Use
from pypto_rw.verifier.reader import Function, Operation
from pypto_rw.verifier.tokens import Token
from pypto_rw.verifier.types import Dense, Extent, Regions, Tile, Type, parse

_ALLOCATED = frozenset({"pto.alloc_tile", "pto.alloc_multi_tile", "pto.multi_tile_get"})
_DECLARED = frozenset({"pto.alloc_tile", "pto.alloc_multi_tile"})
_POPPED = frozenset({"pto.tpop_from_aic", "pto.tpop_from_aiv"})


class _Extents:
    """Integer constants and static view shapes of one function, as the walk meets them."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.constants: dict[str, int] = {}
        self.shapes: dict[str, tuple[Extent, ...]] = {}
        self.windows: set[str] = set()  # pointers and views of another rank's memory
        self.valid: dict[str, tuple[Extent, ...]] = {}
        self.leaving: dict[str, tuple[Operation, tuple[Extent, ...]]] = {}

    def number(self, use: Use) -> Extent:
        """The constant a value is, or None."""
        return self.constants.get(use.token.text)

    def numbers(self, operation: Operation, group: str) -> tuple[Extent, ...]:
        """The constants of a group."""
        return tuple(self.number(use) for use in operation.group(group))

    def rank(self, operation: Operation, group: str, wanted: int, noun: str) -> bool:
        """Whether a group has `wanted` members."""
        count = len(operation.group(group))
        if count != wanted:
            self.findings.report(
                "view-rank",
                operation.token,
                f"`{operation.name}` has {count} {noun} for rank {wanted}",
                f"give one of the {noun} per dim",
            )
        return count == wanted

    def inside(self, code: str, uses: Sequence[Use], sizes: Sequence[Extent], shape: Sequence[Extent]) -> None:
        """Static offset + size <= static extent, per dim."""
        for axis, (use, size, extent) in enumerate(zip(uses, sizes, shape, strict=False)):
            start = self.number(use)
            # With a run-time offset nothing is known but that it is not negative (control-and-scalars.md §7).
            end = (start or 0) + (size or 0)
            if start is not None and start < 0:
                self.findings.report(
                    code, use.token, f"offset {start} in dim {axis} is negative", "start at 0 or later"
                )
            elif extent is not None and (start is not None or size is not None) and end > extent:
                self.findings.report(
                    code,
                    use.token,
                    f"dim {axis}: offset {start or 0} + size {size or 0} = {end} leaves the extent {extent}",
                    "take a smaller size or an earlier offset",
                )


def check_extents(function: Function, findings: Findings) -> None:
    """Check every view, window and valid extent of `function`."""
    walk = _Extents(findings)
    for operation in function.operations:
        name = operation.name
        if name == "arith.constant":
            literal = operation.literals[0]
            if literal.removeprefix("-").isdecimal():
                walk.constants[operation.results[0].text] = int(literal)
        elif name == "pto.make_tensor_view":
            _tensor_view(operation, walk)
        elif name == "pto.partition_view":
            _partition(operation, walk)
        elif name == "pto.subview":
            _window(operation, walk)
        elif name in _ALLOCATED or name in _POPPED:
            _allocated(operation, walk)
        elif name == "pto.treshape":
            _reshape(operation, walk)
        elif name == "pto.set_validshape":
            _set_valid(operation, walk)
        elif name == "pto.addptr":
            walk.windows.add(operation.results[0].text)
        elif name == "pto.tload":
            _load(operation, walk)
    for operation, shape in walk.leaving.values():
        walk.inside("partition-out-of-bounds", operation.group("o"), walk.numbers(operation, "s"), shape)


def _tensor_view(operation: Operation, walk: _Extents) -> None:
    view = parse(operation.result_types[0])
    if operation.group("a")[0].token.text in walk.windows:
        walk.windows.add(operation.results[0].text)
    if not isinstance(view, Dense):
        return
    rank = len(view.dims)
    walk.rank(operation, "t", rank, "strides")
    if walk.rank(operation, "d", rank, "shape operands"):
        walk.shapes[operation.results[0].text] = shape = walk.numbers(operation, "d")
        for use, extent in zip(operation.group("d"), shape, strict=True):
            if extent is not None and extent < 0:
                walk.findings.report("view-rank", use.token, f"extent {extent} is negative", "extents are 0 or more")


def _partition(operation: Operation, walk: _Extents) -> None:
    source, result = parse(operation.group("a")[0].type), parse(operation.result_types[0])
    if not isinstance(source, Dense) or not isinstance(result, Dense):
        return
    rank = len(source.dims)
    offsets, sizes = walk.rank(operation, "o", rank, "offsets"), walk.rank(operation, "s", rank, "sizes")
    if not (offsets and sizes):
        return
    if result.element != source.element:
        walk.findings.report(
            "view-element",
            operation.token,
            f"a partition of {source.element} gives {result.element}",
            "a view keeps the element type",
        )
    numbers = walk.numbers(operation, "s")
    if numbers != result.dims:
        walk.findings.report(
            "partition-sizes",
            operation.token,
            f"the sizes are {_shown(numbers)}, the type prints {_shown(result.dims)}",
            "constant sizes print as numbers, others as `?`",
        )
    view = operation.group("a")[0].token.text
    shape = walk.shapes.get(view, ())
    if shape and view in walk.windows and shape[-1] is not None:
        # A remote tail is read in whole 16-element rows; the rest of the row is never used (distributed.md).
        shape = (*shape[:-1], -(-shape[-1] // 16) * 16)
    ends = [(walk.number(o) or 0) + (n or 0) for o, n in zip(operation.group("o"), numbers, strict=True)]
    if any(e is not None and end > e for end, e in zip(ends, shape, strict=False)):
        walk.leaving[operation.results[0].text] = (operation, shape)
    else:
        walk.inside("partition-out-of-bounds", operation.group("o"), numbers, shape)


def _load(operation: Operation, walk: _Extents) -> None:
    """A clamped load asks for the whole window; the tile's valid extents keep it inside (ops-memory.md §load)."""
    found = walk.leaving.get(operation.group("i")[0].token.text)
    valid = walk.valid.get(operation.group("o")[0].token.text)
    if found is None or valid is None:
        return
    offsets = [walk.number(o) for o in found[0].group("o")][-2:]
    if all(
        o is not None and v is not None and e is not None and o + v <= e
        for o, v, e in zip(offsets, valid, found[1][-2:], strict=False)
    ):
        del walk.leaving[operation.group("i")[0].token.text]


def _window(operation: Operation, walk: _Extents) -> None:
    source, result = parse(operation.group("a")[0].type), parse(operation.result_types[0])
    if not isinstance(source, Tile) or not isinstance(result, Tile) or not walk.rank(operation, "o", 2, "offsets"):
        return
    sizes = tuple(int(x) for x in operation.literals if x.isdecimal())
    if sizes != (result.rows, result.cols):
        walk.findings.report(
            "window-sizes",
            operation.token,
            f"the sizes are {_shown(sizes)}, the type prints {result.rows}x{result.cols}",
            "the window's type has the window's extents",
        )
    if (source.element, source.space) != (result.element, result.space):
        walk.findings.report(
            "view-element",
            operation.token,
            f"a window of {source.element} in {source.space} is {result.element} in {result.space}",
            "a window keeps element type and space",
        )
    walk.inside("window-out-of-bounds", operation.group("o"), sizes, (source.rows, source.cols))
    valid = operation.group("v")
    if valid and walk.rank(operation, "v", 2, "valid extents"):
        _valid_printed(operation.token, result, [walk.number(u) for u in valid], walk.findings)


def _valid_printed(at: Token, tile: Tile, wanted: Sequence[Extent], findings: Findings) -> None:
    if tile.valid != tuple(wanted):
        findings.report(
            "valid-extent-form",
            at,
            f"the valid operands are {_shown(wanted)}, the type prints "
            f"v_row={_one(tile.valid[0])}, v_col={_one(tile.valid[1])}",
            "a view prints its constant extents as numbers and run-time ones as `?`",
        )


def _allocated(operation: Operation, walk: _Extents) -> None:
    tile: Type | str = parse(operation.result_types[0])
    if isinstance(tile, Regions):
        tile = parse(tile.tile)
    if not isinstance(tile, Tile):
        return
    if operation.name == "pto.multi_tile_get":
        regions = parse(operation.group("a")[0].type)
        slot = walk.numbers(operation, "x")[0]
        if isinstance(regions, Regions):
            if regions.tile != operation.result_types[0]:
                walk.findings.report(
                    "type-mismatch",
                    operation.results[0],
                    "the slot's type is not the region's tile type",
                    "print the tile type of the region",
                )
            if slot is not None and not 0 <= slot < regions.count:
                walk.findings.report(
                    "slot-out-of-bounds", operation.token, f"slot {slot} of {regions.count}", "slots count from 0"
                )
    for group, extent, noun in (("m", tile.valid[0], "v_row"), ("n", tile.valid[1], "v_col")):
        if operation.name in _DECLARED and bool(operation.group(group)) != (extent is None):
            walk.findings.report(
                "valid-extent-form",
                operation.token,
                f"`{operation.name}` prints {noun}={_one(extent)} and "
                f"{'gives' if operation.group(group) else 'does not give'} the operand",
                "an extent given as an operand prints `?`, a number stands without an operand",
            )
    if operation.name == "pto.alloc_tile":
        walk.valid[operation.results[0].text] = walk.numbers(operation, "m") + walk.numbers(operation, "n")
    _fits_box(operation, tile, walk)


def _fits_box(operation: Operation, tile: Tile, walk: _Extents) -> None:
    for group, extent, noun in (("m", tile.rows, "rows"), ("n", tile.cols, "cols")):
        for use in operation.group(group):
            number = walk.number(use)
            if number is not None and not 0 <= number <= extent:
                walk.findings.report(
                    "valid-exceeds-box", use.token, f"{number} valid {noun} in a tile of {extent}", f"0 to {extent}"
                )


def _reshape(operation: Operation, walk: _Extents) -> None:
    source, result = parse(operation.group("a")[0].type), parse(operation.result_types[0])
    if isinstance(source, Tile) and isinstance(result, Tile) and source.size("") < result.size(""):
        walk.findings.report(
            "reshape-size",
            operation.token,
            f"{result.size('')} bytes out of a tile of {source.size('')}",
            "a reshape keeps the bytes",
        )


def _set_valid(operation: Operation, walk: _Extents) -> None:
    tile = parse(operation.group("a")[0].type)
    if not isinstance(tile, Tile):
        return
    if tile.valid != (None, None):
        walk.findings.report(
            "valid-extent-form",
            operation.token,
            "the valid extents of a view are in its type and cannot be set",
            "set them on the tile the view was taken from",
        )
    _fits_box(operation, tile, walk)


def _one(extent: Extent) -> str:
    return "?" if extent is None else str(extent)


def _shown(extents: Sequence[Extent]) -> str:
    return f"[{', '.join(map(_one, extents))}]"
