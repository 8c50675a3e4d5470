"""Ways out by code, of refusals that say none of their own: imported only where one is told."""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.rewriting.declared import Signature
from pypto_rw.shaping.values import Value
from pypto_rw.wording import operand_named, shape_text

WAYS = {
    "annotation-kind": "correct the annotation, or drop it",
    "attribute-value": "write a value that it may have",
    "defer-core": "defer in a vector kernel: type=pl.FunctionType.AIV",
    "extent-dtype": "convert it with pl.cast(…, pl.INDEX)",
    "integer-range": "write a number in that range, or one of a wider dtype: pl.const(…, pl.INT64)",
    "loop-kind": "write pl.range, which runs the rounds one after another",
    "loop-step": "count up, and compute the index from the end inside the loop",
    "merge-type": "give it values of one kind, shape and dtype in both branches",
    "missing-else": "write an else that yields the values as they were",
    "nested-call": "bind it to a name in a statement before, and write the name here",
    "no-effect": "assign it to a name, or remove it",
    "no-expansion": "choose one of them",
    "no-space": "say where it goes: target_memory=pl.Mem.…",
    "no-type": "annotate the name: pl.Tile[…]",
    "not-a-scalar": "give a number, a scalar parameter, or an element that pl.tile.read or pl.tensor.read gives",
    "number-range": "write a number that fits",
    "operand-count": "give the operands of its signature: `pypto-rw rules show` has it",
    "operand-dtype": "convert it with pl.cast",
    "operand-kind": "give an operand of that kind",
    "pipe-mismatch": "say the same number and size of slots in both places",
    "repeated-argument": "drop one of the two",
    "scope": "write its statements without the scope",
    "shape-constant": "write the number; what run time tells goes into a valid_shape",
    "stray-yield": "move it to the end of its block",
    "tile-extent": "write an extent of 1 or more",
    "tile-without-memory": "annotate it with a pl.MemRef and a memory space",
    "tuple-element": "bind as many names as the call has results, each to its own element",
    "tuple-target": "bind one name in a statement",
    "undefined-name": "define the name before its use",
    "valid-extent": "write a valid_shape within the shape",
    "window-rank": "give one index or slice an axis",
    "yield-count": "yield one value for each",
}


def tile_first(call: ir.Call, signature: Signature, lookup: Callable[[str], Value | None]) -> str:
    """How a call of a scalar and a tile is written, the tile first: its op's `(scalar-first op dtypes form)`.

    Empty for an op that says none, and for other operands."""
    scalar, tile = call.args[:2] if len(call.args) > 1 else (None, None)
    found = lookup(tile.id) if isinstance(tile, ir.Name) else None
    if found is None or not isinstance(tile, ir.Name) or not isinstance(found.type, ir.TileType):
        return ""
    kinds = ("any", "integer" if "INT" in found.type.dtype.name else "float")
    form = next((form for kind, form in signature.all("scalar-first") if kind in kinds), None)
    if form is None or not isinstance(scalar, ir.Int | ir.Float | ir.Name):
        return ""
    return "write " + form.format(
        tile=operand_named(tile.id, "tile"),
        scalar=scalar.id if isinstance(scalar, ir.Name) else scalar.value,
        shape=shape_text(found.type.shape),
        dtype=f"pl.{found.type.dtype.value}",
    )
