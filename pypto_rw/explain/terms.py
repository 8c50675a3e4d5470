"""Rule terms as text for people: operands by what their author wrote, types short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_rw import ir
from pypto_rw.scalars import WIDE
from pypto_rw.syntax import expression_text

Term = Any


def written(term: Term, sources: tuple[ir.Expr | None, ...]) -> str:
    """A term with its operands as their author wrote them; the statement's own result is `result`."""

    def operand(number: int) -> str:
        source = sources[number] if number < len(sources) else None
        return f"#{number}" if source is None else expression_text(source)

    return _text(term, operand)


def value(term: Term) -> str:
    """A term, or a number or text that a rule saw."""
    return _text(term, lambda number: f"#{number}")


def _text(term: Term, operand: Callable[[int], str]) -> str:
    if not isinstance(term, tuple):
        return f'"{term}"' if isinstance(term, str) else str(term).lower() if isinstance(term, bool) else str(term)
    if not term:
        return "()"
    head, rest = term[0], term[1:]
    if head in ("arg", "const", "lit"):
        name = operand(rest[0])
        if not name.startswith("#"):
            return name
        return f"{name}: {type_text(rest[1], operand)}" if head == "arg" else f"{name}: constant {rest[-1][0]}"
    if head == "res":
        return "result"
    if head in ("Tile", "TileN", "Tensor", "Scalar", "Part", "TensorView", "Array", "Ptr"):
        return type_text(term, operand)
    if head == "at":
        return str(rest[0])
    if head == "dyn":
        low, high = ("" if abs(n) >= WIDE else n for n in rest[1:])
        return f"extent {rest[0]} ({low}..{high})" if (low, high) != ("", "") else f"extent {rest[0]}"
    if head == "call":
        inner = rest[1][1:] if isinstance(rest[1], tuple) else ()
        return f"({' '.join([rest[0], *(_text(t, operand) for t in (*inner, rest[2]))])})"
    if head == "made":
        return str(rest[0])
    if head == "made-of":
        return f"{_text(rest[0], operand)}{rest[1]}"
    if head in ("vec-of", "vec-empty"):
        return f"[{', '.join(_text(t, operand) for t in rest)}]"
    if not rest:
        return str(head)
    return f"({' '.join([str(head), *(_text(t, operand) for t in rest)])})"


def type_text(term: Term, operand: Callable[[int], str]) -> str:
    """A type, short: `Tile[[16, 64], FP32, Vec, row_major]`, with what is not usual of its view."""
    head = term[0]
    if head == "Tile":
        _, rows, cols, vrows, vcols, dtype, space, view = term
        words = [f"[{rows}, {cols}]", dtype[0], *([] if space[0] == "no-space" else [space[0]])]
        if (vrows, vcols) != (("at", rows), ("at", cols)):
            words.append(f"valid=[{_text(vrows, operand)}, {_text(vcols, operand)}]")
        _, blayout, slayout, fractal, pad, compact = view
        if (blayout[0], slayout[0]) != ("row_major", "none_box"):
            words.append(f"{blayout[0]}/{slayout[0]}")
        words += [f"fractal={fractal}"] if fractal != 512 else []
        words += [pad[0]] if pad[0] not in ("pad-null", "no-pad") else []
        words += ["compact"] if compact else []
        return f"Tile[{', '.join(words)}]"
    if head == "Tensor":
        _, shape, _, dtype, layout, _ = term
        return f"Tensor[{_text(shape, operand)}, {dtype[0]}{'' if layout[0] == 'ND' else ', ' + layout[0]}]"
    if head == "Scalar":
        return f"Scalar[{term[1][0]}]"
    return f"({' '.join([str(head), *(_text(t, operand) for t in term[1:])])})" if len(term) > 1 else str(head)
