"""Random kernels under every planner: the plan verifier and the text verifier find nothing, and nothing crashes.

`pytest tests/memory/test_random.py --kernels 2000` is the full run.
"""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pypto_rw import CompileError
from pypto_rw.api import verify
from pypto_rw.engine import Engine
from pypto_rw.lower import Settings, lower_module
from pypto_rw.memory.verify import verify_plan
from pypto_rw.pipeline import Task, run
from pypto_rw.rulebook import Rulebook
from pypto_rw.syntax import parse
from tests.memory.kernels import kernels


@lru_cache
def engine(target: str, addresses: bool) -> Engine:
    """One engine for all kernels: it remembers the shapes it has rewritten."""
    facts = ("(addresses)" if addresses else "(no-addresses)", "(as-specified)")
    return Engine(Rulebook(), target=target, facts=facts)


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
def test_random_kernels_are_planned_right(planner: str, request: pytest.FixtureRequest) -> None:
    count: int = request.config.getoption("--kernels")
    addresses = planner != "ptoas"

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(kernels(), st.sampled_from(("a2a3", "a5")))
    def holds(source: str, target: str) -> None:
        shared = engine(target, addresses)
        try:
            module = run(parse(source), Task(shared, target, planner))
            text = lower_module(module, shared, Settings(target, addresses, False, False, "k.pyir"), source)
        except CompileError as error:
            assert [d.code for d in error.diagnostics] == ["memory-capacity"]
            return
        assert verify_plan(module, planner=planner, target=target, rulebook=shared.rulebook) == []
        assert verify(text, target=target, planner=planner) == []

    holds()
