"""Allocated text whose tiles share bytes while both are needed: `lower` warns at the line that overwrites one."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import CompileError, Severity, check, lower
from pypto_rw.diagnostics import render
from pypto_rw.memory.verify import verify_plan
from pypto_rw.syntax import parse
from tests.memory.test_verify import PLANS, move, planned

APART = {"exchange", "reserved"}  # no two of their tiles are needed at once
NAMES = sorted(p.stem for p in PLANS.glob("*.pyir"))


def warned(text: str) -> set[int]:
    """Lines with a warning of shared bytes."""
    found = lower(text, filename="plan.pyir").diagnostics
    return {d.span.line for d in found if d.code == "overlapping-live-tiles" and d.severity is Severity.warning}


def refused(text: str) -> bool:
    try:
        lower(text)
    except CompileError:
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_a_right_plan_gets_no_warning(name: str) -> None:
    assert warned(planned(name)) == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_overwritten_tile_is_warned_of(name: str) -> None:
    text = planned(name)
    tiles = re.findall(
        r"^ *(\w+): pl\.Tile\[\[\d+, \d+\], pl\.\w+, pl\.MemRef\(\w+, pl\.const\((\d+), pl\.INT64", text, re.M
    )
    wrong = 0
    for tile, own in tiles:
        for address in sorted({int(a) for _, a in tiles} - {int(own)}):
            moved = move(text, tile, address)
            if refused(moved):
                continue
            found = verify_plan(parse(moved), planner="pypto", target="a2a3")
            lines = {d.span.line for d in found if d.code == "plan-overlap"}
            wrong += bool(lines)
            assert warned(moved) == lines, (tile, address)
    assert bool(wrong) is (name not in APART)


def test_warning_and_check(snapshot: SnapshotAssertion) -> None:
    text = move(planned("accumulate"), "base", 0)
    shown = [render([d], text) for d in lower(text, filename="plan.pyir").diagnostics]
    assert shown == snapshot
    assert [(d.code, d.severity) for d in check(text)] == [("overlapping-live-tiles", Severity.error)]
