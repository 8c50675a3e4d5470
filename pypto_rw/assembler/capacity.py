"""Memory that the assembler plans: tiles live at one time against what the chip has (level 2).

A tile lives from its first write or read to its last, and through every loop that uses it but does not declare it.
Windows and reshapes live as the tile they name. Sizes in bytes."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw.assembler.facts import Tables
from pypto_rw.assembler.families import Finding
from pypto_rw.assembler.line import Line
from pypto_rw.assembler.operand import properties
from pypto_rw.assembler.words import SPACES

_VIEWS = frozenset({"pto.subview", "pto.treshape", "pto.multi_tile_get"})


def over_capacity(lines: list[tuple[int, Line | None, str]], tables: Tables) -> Iterator[tuple[int, Finding]]:
    """(line number, finding) where the live tiles of a memory first exceed it; `lines` are all of one function."""
    capacity = tables.memory()
    declared: dict[str, tuple[str, int, int]] = {}  # root: space, bytes, line
    root: dict[str, str] = {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    loops: list[int] = []
    spans: list[tuple[int, int]] = []
    for at, (_, line, text) in enumerate(lines):
        stripped = text.strip()
        if stripped.endswith("{") and line is not None and line.name != "func.func":
            loops.append(at if line.name in ("scf.for", "scf.while") else -1)
        elif stripped == "}" and loops:
            opened = loops.pop()
            if opened >= 0:
                spans.append((opened, at))
        if line is None:
            continue
        if line.name in ("pto.alloc_tile", "pto.alloc_multi_tile") and line.results and line.result_types:
            tile = properties(line.result_types[0])
            size = _size(tile)
            if size is not None:
                root[line.results[0]] = line.results[0]
                declared[line.results[0]] = (str(tile["space"]), size, at)
            continue
        for name in line.names():
            if name in root:
                first.setdefault(root[name], at)
                last[root[name]] = at
        if line.name in _VIEWS and line.args and line.args[0] in root:
            root[line.results[0]] = root[line.args[0]]
    for start, end in spans:
        for name, (_, _, made) in declared.items():
            if name in first and made < start and first[name] <= end and last[name] >= start:
                last[name] = max(last[name], end)
    yield from _peaks(lines, declared, first, last, capacity)


def _size(tile: dict[str, object]) -> int | None:
    rows, cols, width = tile.get("rows"), tile.get("cols"), tile.get("bytes")
    if not (isinstance(rows, int) and isinstance(cols, int) and isinstance(width, int)):
        return None
    count = tile.get("count")
    return rows * cols * width * (count if isinstance(count, int) else 1)


def _peaks(
    lines: list[tuple[int, Line | None, str]],
    declared: dict[str, tuple[str, int, int]],
    first: dict[str, int],
    last: dict[str, int],
    capacity: dict[str, tuple[str, int]],
) -> Iterator[tuple[int, Finding]]:
    changes: list[tuple[int, int, str, int]] = []
    for name, start in first.items():
        space, size, _ = declared[name]
        changes += [(start, 1, space, size), (last[name] + 1, 0, space, -size)]
    live: dict[str, int] = {}
    told: set[str] = set()
    for at, _, space, change in sorted(changes):
        live[space] = live.get(space, 0) + change
        rule, limit = capacity.get(space, ("", 0))
        if rule and live[space] > limit and space not in told:
            told.add(space)
            yield (
                lines[at][0],
                Finding(
                    "ptoas-capacity",
                    rule,
                    "",
                    f"{live[space]} bytes of {SPACES[space]} tiles are live here, the chip has {limit}",
                    "use smaller tiles, fewer at one time, or split the work into blocks",
                ),
            )
