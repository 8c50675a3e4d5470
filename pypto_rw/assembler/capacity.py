"""Memory that the assembler plans: tiles live at one time against what the chip has (level 2).

A tile lives from its first use to its last, and through every loop that uses it but does not declare it. Windows and
reshapes live as the tile they name. Sizes in bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pypto_rw.assembler.facts import Tables
from pypto_rw.assembler.families import Finding
from pypto_rw.assembler.operand import properties
from pypto_rw.assembler.words import SPACES

_NAME = re.compile(r"%[\w.$]+")
_DECLARED = re.compile(r"\s*(%[\w.$]+) = pto\.alloc_(?:multi_)?tile\b.* : (!pto\.\w+<.*?>)(?: loc\(|\s*$)")
_VIEW = re.compile(r"\s*(%[\w.$]+) = pto\.(?:subview|treshape|multi_tile_get) (%[\w.$]+)")
_LOOP = re.compile(r"\s*(?:%[^=]* = )?scf\.(?:for|while)\b")


class _Lives:
    """Lifetimes of one function's tiles, by line index; `root` names the tile that a name is a view of."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.declared: dict[str, tuple[str, int, int]] = {}  # tile: space, bytes, index
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        root: dict[str, str] = {}
        open_regions: list[int] = []
        loops: list[tuple[int, int]] = []
        for at, line in enumerate(lines):
            stripped = line.strip()
            if stripped.endswith("{") and not stripped.startswith("}"):
                open_regions.append(at if _LOOP.match(line) else -1)
            elif stripped == "}" and open_regions and (start := open_regions.pop()) >= 0:
                loops.append((start, at))
            if m := _DECLARED.match(line):
                tile = properties(m[2])
                if (size := _size(tile)) is not None:
                    root[m[1]] = m[1]
                    self.declared[m[1]] = (str(tile["space"]), size, at)
                continue
            for name in _NAME.findall(line):
                if name in root:
                    self.first.setdefault(root[name], at)
                    self.last[root[name]] = at
            if (m := _VIEW.match(line)) and m[2] in root:
                root[m[1]] = root[m[2]]
        for start, end in loops:
            for name, (_, _, made) in self.declared.items():
                if name in self.first and made < start and self.first[name] <= end and self.last[name] >= start:
                    self.last[name] = max(self.last[name], end)


def over_capacity(lines: Sequence[str], tables: Tables) -> Iterator[tuple[int, str, Finding]]:
    """(index of the line, the tile that comes to live there, finding) where a memory is first exceeded."""
    capacity = tables.memory()
    lives = _Lives(lines)
    changes: list[tuple[int, int, str]] = []
    for name, start in lives.first.items():
        changes += [(start, 1, name), (lives.last[name] + 1, 0, name)]
    live: dict[str, int] = {}
    told: set[str] = set()
    for at, comes, name in sorted(changes):
        space, size, _ = lives.declared[name]
        live[space] = live.get(space, 0) + (size if comes else -size)
        rule, limit = capacity.get(space, ("", 0))
        if rule and live[space] > limit and space not in told:
            told.add(space)
            message = f"{live[space]} bytes of {SPACES[space]} tiles are live here, the chip has {limit}"
            way_out = "use smaller tiles, fewer at one time, or split the work into blocks"
            yield at, name, Finding("ptoas-capacity", rule, "", message, way_out)


def _size(tile: dict[str, object]) -> int | None:
    rows, cols, width = tile.get("rows"), tile.get("cols"), tile.get("bytes")
    if not (isinstance(rows, int) and isinstance(cols, int) and isinstance(width, int)):
        return None
    count = tile.get("count")
    return rows * cols * width * (count if isinstance(count, int) else 1)
