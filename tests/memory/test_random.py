"""Random kernels under every planner: the plan verifier and the text verifier find nothing, and nothing crashes.

`pytest tests/memory/test_random.py --kernels 2000` is the full run.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pypto_rw import CompileError, lower
from pypto_rw.api import verify
from pypto_rw.memory.verify import verify_plan
from tests.memory.kernels import kernels


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
def test_random_kernels_are_planned_right(planner: str, request: pytest.FixtureRequest) -> None:
    count: int = request.config.getoption("--kernels")

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(kernels(), st.sampled_from(("a2a3", "a5")))
    def holds(source: str, target: str) -> None:
        try:
            done = lower(source, target=target, planner=planner, loc=False)
        except CompileError as error:
            assert [d.code for d in error.diagnostics] == ["memory-capacity"]
            return
        assert done.module is not None
        assert verify_plan(done.module, planner=planner, target=target) == []
        # without addresses a fill in place keeps its source's handle: the assembler refuses it, `lower` warns
        found = verify(done.mlir, target=target, planner=planner)
        assert [d for d in found if planner != "ptoas" or d.rule != "tfillpad.pad"] == []

    holds()
