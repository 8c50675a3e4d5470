"""Declared multi-slot allocations under a planner that gives no addresses: which ones become a region.

Source: types-and-memory.md §7.6; the first blocker in its order refuses, at the first tile of the allocation.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.layout import effective_view
from pypto_rw.records import dataclass
from pypto_rw.shaping.values import Refused

_MOST = 16


@dataclass(slots=True)
class Region:
    """Tiles of one allocation with slots, in definition order, and where they are bound."""

    base: str
    tiles: list[tuple[str, ir.TileType, Span]]
    merged: set[str]
    twice: tuple[str, str] | None = None


def regions(body: tuple[ir.Stmt, ...]) -> dict[str, Region]:
    """Allocations with slots by name, in the order their first tile is defined."""
    found: dict[str, Region] = {}
    _collect(body, found, {})
    return found


def _collect(body: tuple[ir.Stmt, ...], found: dict[str, Region], here: dict[str, str]) -> None:
    for stmt in body:
        match stmt:
            case ir.Assign() | ir.Yield():
                t = stmt.type
                if isinstance(t, ir.TileType) and t.memref is not None and (t.memref.slots or 1) > 1:
                    name = stmt.targets[0]
                    region = found.setdefault(t.memref.base, Region(t.memref.base, [], set()))
                    region.tiles.append((name, t, stmt.span))
                    if isinstance(stmt, ir.Yield):
                        region.merged.add(name)
                    elif "" in here:
                        if t.memref.base in here and region.twice is None:
                            region.twice = (here[t.memref.base], name)
                        here[t.memref.base] = name
                if isinstance(stmt, ir.Yield):
                    for v in stmt.values:
                        for region in found.values():
                            if isinstance(v, ir.Name) and any(v.id == n for n, _, _ in region.tiles):
                                region.merged.add(v.id)
            case ir.For() | ir.While():
                for v in stmt.initial:
                    for region in found.values():
                        if isinstance(v, ir.Name) and any(v.id == n for n, _, _ in region.tiles):
                            region.merged.add(v.id)
                _collect(stmt.body, found, {"": ""})
            case ir.If():
                _collect(stmt.body, found, here)
                _collect(stmt.orelse or (), found, here)
            case ir.Scope():
                _collect(stmt.body, found, here)


def require(region: Region) -> None:
    """Refused: the region cannot be one, with the first reason."""
    name, first, span = region.tiles[0]
    memref = first.memref
    assert memref is not None
    reason = _blocker(region, first)
    if reason is not None:
        raise Refused(
            "slot-region",
            f'pl.MemRef("{region.base}", slots={memref.slots}) cannot become a region for the PTOAS planner '
            f"of ptoas 0.54 and later (first tile {name}): {reason}",
            span,
            "give each slot one tile type and select it where it is used, "
            "or use the default memory_planner (--planner pypto)",
        )


def _blocker(region: Region, first: ir.TileType) -> str | None:
    for n, t, _ in region.tiles:
        assert t.memref is not None
        if t.memref.slot is None:
            return f"the tile {n} binds it without selecting a slot"
    counts = sorted({t.memref.slots or 1 for _, t, _ in region.tiles if t.memref})
    if len(counts) > 1:
        return f"its tiles disagree on the slot count: {', '.join(map(str, counts))}"
    if counts[0] > _MOST:
        return f"it has {counts[0]} slots; 2 to {_MOST} are supported"
    shown = _shown(first)
    for n, t, _ in region.tiles:
        if _shown(t) != shown:
            return f"its slots are differently shaped: {region.tiles[0][0]} is {shown}, {n} is {_shown(t)}"
    for n, t, _ in region.tiles:
        if not all(isinstance(e, ir.Int) for e in effective_view(t).valid):
            return f"{n} has a runtime valid shape"
    for n, t, _ in region.tiles:
        if effective_view(t).valid != effective_view(first).valid:
            return f"the tiles {region.tiles[0][0]} and {n} have different valid_shape"
    if first.space not in (ir.Space.Vec, ir.Space.Mat, ir.Space.Acc):
        return f"it is in {first.space.value if first.space else 'no memory space'}; only Vec, Mat and Acc have regions"
    if region.merged:
        return f"the slot {sorted(region.merged)[0]} is carried by a loop or merged by an if"
    if region.twice is not None:
        return f"{region.twice[0]} and {region.twice[1]} are live at once, in one iteration of one loop"
    return None


def _shown(t: ir.TileType) -> str:
    v = effective_view(t)
    dims = ", ".join(str(d.value) if isinstance(d, ir.Int) else "?" for d in t.shape)
    return f"[{dims}] {t.dtype.value} {v.blayout.value}/{v.slayout.value} fractal {v.fractal} pad {v.pad.value}"
