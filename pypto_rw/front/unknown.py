"""What a name that is no operation may mean: imported only where one is refused."""

from __future__ import annotations

from difflib import get_close_matches

from pypto_rw import ir
from pypto_rw.front.asking import Asker
from pypto_rw.front.whole import window
from pypto_rw.shaping.unknown import NAMES
from pypto_rw.shaping.values import Refused
from pypto_rw.syntax import expression_text


def unknown(call: ir.Call, kinds: list[str], asker: Asker) -> Refused:
    """The refusal of a call without a namespace that is no operation; `kinds` are those of its operands."""
    book = asker.engine.rulebook
    if call.callee in ("getitem", "setitem") and kinds[0] == "tile":
        return _subscript(call, asker)
    message = f"there is no operation pl.{call.callee}"
    meant = next((how for s in book.ops() for name, how in s.all("also-known-as") if name == call.callee), None)
    if meant is not None:
        return Refused("unknown-op", message, call.span, f"write {meant}")
    close = get_close_matches(call.callee, sorted({s.op.rsplit(".", 1)[-1] for s in book.ops()}), 1, 0.7)
    if "tensor" in kinds and not close:
        return Refused(
            "tensor-level",
            f"pl.{call.callee} of a tensor needs the tensor-level pipeline, which this compiler does not have",
            call.span,
            "load the tensor into a tile first (pl.load), and store the result (pl.store)",
        )
    near = ", ".join(book.nearest(f"tile.{call.callee}"))
    written = get_close_matches(call.callee, sorted(book.surfaces), 1, 0.7) or close
    hints = [f"did you mean pl.{w}?" for w in written if w != call.callee]
    hints += [f"the nearest ops are {near}"] if near else []
    return Refused("unknown-op", message, call.span, " ".join(hints) or NAMES)


def _subscript(call: ir.Call, asker: Asker) -> Refused:
    """Brackets behind a tile: its windows and elements are made by calls."""
    tile, *indices = call.args
    value = indices.pop() if call.callee == "setitem" else None
    assert isinstance(tile, ir.Name)
    offsets, extents = window(tile.id, tuple(indices), asker, call)
    at, size = map(expression_text, (offsets, extents))
    element = not any(isinstance(i, ir.Tuple) for i in indices)
    if value is None:
        way = f"pl.read({tile.id}, {at})" if element else f"pl.slice({tile.id}, {size}, {at})"
    else:
        given = expression_text(value)
        way = f"pl.write({tile.id}, {at}, {given})" if element else f"{tile.id} = pl.assemble({tile.id}, {given}, {at})"
    return Refused("unknown-op", f"{tile.id} is a tile, which has no subscripts", call.span, f"write {way}")
