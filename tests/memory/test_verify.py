"""The plan verifier accepts right plans and finds each fault put into one, under that fault's name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pypto_rw.memory import plan
from pypto_rw.memory.verify import verify_plan
from pypto_rw.syntax import parse, write

PLANS = Path(__file__).parent / "plans"


def planned(name: str, planner: str = "pypto") -> str:
    return write(plan(parse((PLANS / f"{name}.pyir").read_text()), planner=planner, target="a2a3"))


def move(text: str, name: str, address: int) -> str:
    """The tile `name` at another address."""
    changed = re.sub(
        rf"(\b{name}: pl\.Tile\[\[\d+, \d+\], pl\.\w+, pl\.MemRef\(\w+, pl\.const\()\d+",
        rf"\g<1>{address}",
        text,
        count=1,
    )
    assert changed != text
    return changed


def codes(text: str, planner: str = "pypto") -> list[str]:
    return [d.code for d in verify_plan(parse(text), planner=planner, target="a2a3")]


FAULTS = {
    "two tiles of one sum": ("accumulate", "base", 0, ["plan-overlap"]),
    "a tile a loop still needs": ("accumulate", "t", 0, ["plan-overlap"]),
    "past the end": ("accumulate", "t", 188416 - 2048, ["plan-capacity"]),
    "not aligned": ("accumulate", "t", 16400, ["plan-alignment"]),
    "a carried tile elsewhere": ("accumulate", "next", 16384, ["plan-elsewhere"]),
    "a reduction over its operand": ("chain", "m", 0, ["plan-overlap", "plan-in-place"]),
    "a widening cast over its operand": ("chain", "e", 8192, ["plan-in-place"]),
    "a result inside its operand": ("chain", "b", 4096, ["plan-overlap", "plan-in-place"]),
    "a branch value elsewhere": ("merge", "v", 16384, ["plan-elsewhere"]),
    "a tile in reserved bytes": ("reserved", "u", 2048, ["plan-reserved"]),
    "a copy elsewhere": ("views", "same", 65536, ["plan-elsewhere"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    name, tile, address, expected = FAULTS[fault]
    text = planned(name)
    assert codes(text) == []
    found = codes(move(text, tile, address))
    assert found and set(found) <= set(expected) and expected[-1] in found


def test_a_missing_allocation_is_found() -> None:
    text = re.sub(r"pl\.MemRef\(mem_vec_2, [^)]*\), \d+\), ", "", planned("chain"))
    assert set(codes(text)) == {"plan-unplaced"}


def test_too_small_an_allocation_is_found() -> None:
    text = planned("chain").replace("mem_vec_2, pl.const(0, pl.INT64), 8192", "mem_vec_2, pl.const(0, pl.INT64), 64")
    assert "plan-size" in codes(text)


def test_without_addresses_tiles_are_compared_within_allocations() -> None:
    text = planned("accumulate", "ptoas")
    assert codes(text, "ptoas") == []
    together = text.replace("pl.MemRef(mem_vec_6,", "pl.MemRef(mem_vec_2,")
    assert together != text
    assert "plan-overlap" in codes(together, "ptoas")


def test_a_finding_says_which_tiles_and_where() -> None:
    found = verify_plan(
        parse(move(planned("accumulate"), "base", 0)), planner="pypto", target="a2a3", filename="k.pyir"
    )
    assert [(d.message, d.filename, d.function) for d in found] == [
        (
            "base is written to bytes 0 to 4096 of Vec, where total still is and is needed later",
            "k.pyir",
            "accumulate",
        )
    ]
