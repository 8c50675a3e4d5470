"""The whole planned module of each kernel in `plans/`, under every planner; its map; and what happens to it then."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import lower
from pypto_rw.api import stop_after, verify
from pypto_rw.memory import plan
from pypto_rw.memory.chart import charts
from pypto_rw.memory.picture import as_text
from pypto_rw.memory.verify import verify_plan
from pypto_rw.syntax import parse, write

HERE = Path(__file__).parent
PLANNERS = ("pypto", "dsa_rp", "ptoas")
KERNELS = sorted((HERE / "plans").glob("*.pyir"))
every_plan = pytest.mark.parametrize(
    ("path", "planner"), [pytest.param(k, p, id=f"{k.stem}-{p}") for k in KERNELS for p in PLANNERS]
)


@every_plan
def test_plan_of(path: Path, planner: str, snapshot: SnapshotAssertion) -> None:
    module = plan(parse(path.read_text()), planner=planner, target="a2a3")
    assert verify_plan(module, planner=planner, target="a2a3") == []
    assert write(module) == snapshot


@every_plan
def test_text_of(path: Path, planner: str, snapshot: SnapshotAssertion) -> None:
    text = lower(path.read_text(), planner=planner, loc=False).mlir
    assert verify(text, planner=planner) == []
    assert text == snapshot


@every_plan
def test_the_printed_plan_is_the_same_module_and_lowers_to_the_same_text(path: Path, planner: str) -> None:
    staged = stop_after(path.read_text(), stage="plan", planner=planner)
    assert parse(staged.pyir) == staged.module
    assert (
        lower(staged.pyir, planner=planner, loc=False).mlir == lower(path.read_text(), planner=planner, loc=False).mlir
    )


@every_plan
def test_a_planned_module_passes_through_unchanged(path: Path, planner: str) -> None:
    module = plan(parse(path.read_text()), planner=planner, target="a2a3")
    assert plan(module, planner=planner, target="a2a3") is not module
    for other in PLANNERS:
        assert plan(module, planner=other, target="a2a3") == module


@every_plan
def test_map_of(path: Path, planner: str, snapshot: SnapshotAssertion) -> None:
    module = plan(parse(path.read_text()), planner=planner, target="a2a3")
    assert as_text(charts(module, planner=planner, target="a2a3")) == snapshot
