"""Charts of a plan as text, and as one self-contained HTML page with an SVG drawing a memory space."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from itertools import pairwise

from pypto_rw.memory.chart import Bar, Chart

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_COLUMNS = 72  # of the text map
_WIDTH, _HEIGHT, _MARGIN = 960, 320, 70  # of a drawing, in pixels


def as_text(charts: list[Chart]) -> str:
    """Each memory space as a map: a line an address range, a column a statement (or several), a letter a tile."""
    return "\n".join(_text(c) for c in charts) if charts else "no tile has memory\n"


def heading(chart: Chart) -> str:
    """One line: function, memory space, high-water mark against capacity."""
    used = chart.high_water
    if not chart.placed:
        return f"{chart.function} {chart.space.value}: {used} bytes in all allocations; the assembler places them"
    of = f" of {chart.capacity} bytes ({100 * used / chart.capacity:.1f} %)" if chart.capacity else " bytes"
    reserved = f", {chart.reserved} reserved for pipes" if chart.reserved else ""
    return f"{chart.function} {chart.space.value}: high water {used}{of}{reserved}"


def _text(chart: Chart) -> str:
    out = [heading(chart)]
    cuts = sorted({edge for b in chart.bars for edge in (b.start, b.end)})
    step = -(-chart.statements // _COLUMNS)
    columns = -(-chart.statements // step)
    wide = len(str(cuts[-1])) if cuts else 1
    for low, high in pairwise(cuts):
        row = ["."] * columns
        for k, b in enumerate(chart.bars):
            if b.start < high and low < b.end:
                for c in range(b.first // step, min(b.last // step, columns - 1) + 1):
                    row[c] = _LETTERS[k % len(_LETTERS)]
        if any(c != "." for c in row):
            out.append(f"  {low:>{wide}}..{high:<{wide}} {''.join(row)}")
    if step > 1:
        out.append(f"  a column is {step} statements")
    for k, b in enumerate(chart.bars):
        line = f" line {b.line}" if b.line else ""
        slots = " (all slots)" if b.slots else ""
        letter = _LETTERS[k % len(_LETTERS)]
        out.append(f"  {letter} {b.name}: bytes {b.start}..{b.end}{slots}, statements {b.first}..{b.last}{line}")
    return "\n".join(out) + "\n"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<title>{title}</title>
<style>
body {{ font: 14px sans-serif; margin: 24px; color: #222; }}
h2 {{ font-size: 15px; margin: 28px 0 6px; }}
svg {{ border: 1px solid #ccc; background: #fff; }}
text {{ font: 11px sans-serif; }}
rect.tile {{ stroke: #333; stroke-width: 0.5; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>Across: statements in source order. Up: bytes. Point at a box for its tile.</p>
{body}
</body>
</html>
"""


def as_html(charts: list[Chart], title: str) -> str:
    """One page; nothing else is loaded."""
    parts = [f"<h2>{escape(heading(c))}</h2>\n{_drawing(c)}" for c in charts] or ["<p>no tile has memory</p>"]
    return _PAGE.format(title=escape(title), body="\n".join(parts))


def _drawing(chart: Chart) -> str:
    top = max(chart.high_water, 1)
    if chart.capacity is not None and chart.capacity <= 4 * top:
        top = max(top, chart.capacity)
    right, upper = _WIDTH - _MARGIN, _HEIGHT - 40

    def across(statement: int) -> float:
        return round(_MARGIN + (right - _MARGIN) * statement / chart.statements, 1)

    def up(byte: int) -> float:
        return round(upper - (upper - 20) * byte / top, 1)

    out = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">']
    if chart.reserved:
        low = up(chart.reserved)
        out.append(f'<rect x="{_MARGIN}" y="{low}" width="{right - _MARGIN}" height="{upper - low:.1f}" fill="#ddd"/>')
    out += [_box(b, k, across, up) for k, b in enumerate(chart.bars)]
    out.append(_level(chart.high_water, up(chart.high_water), right, "#06c", "high water"))
    if chart.placed and chart.capacity is not None and chart.capacity <= top:
        out.append(_level(chart.capacity, up(chart.capacity), right, "#c00", "capacity"))
    out.append(f'<line x1="{_MARGIN}" y1="{upper}" x2="{right}" y2="{upper}" stroke="#333"/>')
    for n in range(5):
        statement = chart.statements * n // 4
        out.append(f'<text x="{across(statement)}" y="{upper + 16}" text-anchor="middle">{statement}</text>')
    return "\n".join([*out, "</svg>"])


def _box(b: Bar, k: int, across: Callable[[int], float], up: Callable[[int], float]) -> str:
    left, right, high, low = across(b.first), across(b.last + 1), up(b.end), up(b.start)
    line = f", line {b.line}" if b.line else ""
    told = escape(f"{b.name}: bytes {b.start}..{b.end}, statements {b.first}..{b.last}{line}")
    box = (
        f'<rect class="tile" x="{left}" y="{high}" width="{max(right - left, 1):.1f}" '
        f'height="{max(low - high, 1):.1f}" fill="hsl({k * 47 % 360},60%,75%)"><title>{told}</title></rect>'
    )
    if right - left > 7 * len(b.name) and low - high > 12:
        box += f'<text x="{left + 3:.1f}" y="{(low + high) / 2 + 4:.1f}" pointer-events="none">{escape(b.name)}</text>'
    return box


def _level(byte: int, y: float, right: int, colour: str, name: str) -> str:
    return (
        f'<line x1="{_MARGIN}" y1="{y}" x2="{right}" y2="{y}" stroke="{colour}" stroke-dasharray="4 3"/>'
        f'<text x="{_MARGIN - 4}" y="{y + 4:.1f}" text-anchor="end" fill="{colour}">{byte}</text>'
        f'<text x="{right + 4}" y="{y + 4:.1f}" fill="{colour}">{name}</text>'
    )
