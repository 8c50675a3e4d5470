"""Places in the compiler's coordinates and in the client's: ours are 1-based characters, the protocol's 0-based units
of an encoding that the client chose."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pygls.workspace.position_codec import PositionCodec

from pypto_rw.diagnostics import Span


def to_range(span: Span, lines: Sequence[str], codec: PositionCodec) -> types.Range:
    """The client's range of a span; the first character of the text for no place."""
    if not span:
        span = Span(1, 1, 1, 2)
    return types.Range(
        _position(span.line, span.column, lines, codec), _position(span.end_line, span.end_column, lines, codec)
    )


def _position(line: int, column: int, lines: Sequence[str], codec: PositionCodec) -> types.Position:
    line = min(max(line, 1), max(len(lines), 1))
    text = lines[line - 1] if lines else ""
    return types.Position(line - 1, codec.client_num_units(text[: max(column, 1) - 1]))


def from_position(position: types.Position, lines: Sequence[str], codec: PositionCodec) -> tuple[int, int]:
    """Line and column, 1-based characters, of the client's position."""
    if position.line >= len(lines):
        return max(len(lines), 1), len(lines[-1]) + 1 if lines else 1
    text, units = lines[position.line], 0
    for k, character in enumerate(text):
        if units >= position.character:
            return position.line + 1, k + 1
        units += codec.client_num_units(character)
    return position.line + 1, len(text) + 1
