"""The parts of the DSA_RP planner: the fixed sequence of permutations, the search, and the wishes it weighs."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_rw.ir import Space
from pypto_rw.memory.shuffle import Twister, shuffle
from pypto_rw.memory.solver import Buffer, solve

CAPACITY = {Space.Vec: 4096, Space.Acc: 2048}


def test_the_stream_is_that_of_the_reference_algorithm() -> None:
    """First numbers of MT19937-64 with seed 0 (memory-planning.md §7)."""
    stream = Twister(0)
    assert [stream.draw(), stream.draw()] == [2947667278772165694, 18301848765998365067]


@pytest.mark.parametrize(
    ("count", "orders"),
    [
        (3, "201 201 120 021"),
        (4, "1023 0213 3201 3120"),
        (5, "20134 14302 02134 13042"),
        (8, "47236015 07162345 37215064 40762531"),
    ],
)
def test_shuffles(count: int, orders: str) -> None:
    items, stream, found = list(range(count)), Twister(0), []
    for _ in range(4):
        shuffle(items, stream)
        found.append("".join(map(str, items)))
    assert " ".join(found) == orders


def test_any_length_shuffles_to_a_permutation() -> None:
    for count in range(20):
        items = list(range(count))
        shuffle(items, Twister(0))
        assert sorted(items) == list(range(count))


def test_wishes_are_kept_while_there_is_room() -> None:
    a, b = Buffer(2048, Space.Vec, 1), Buffer(2048, Space.Vec, 5)
    a.soft[1] = b.soft[0] = 1
    assert solve([a, b], CAPACITY, {}) == [0, 2048]
    assert solve([a, b], {Space.Vec: 2048}, {}) == [0, 0]


def test_reserved_bytes_and_other_spaces() -> None:
    buffers = [Buffer(64, Space.Vec, 1), Buffer(64, Space.Acc, 1)]
    assert solve(buffers, CAPACITY, {Space.Vec: 100}) == [128, 0]


def test_a_result_does_not_begin_inside_its_operand() -> None:
    """Without `read`, the second buffer would begin at 32, where the lower neighbour ends."""
    neighbour, operand, result = Buffer(32, Space.Vec, 1), Buffer(128, Space.Vec, 1), Buffer(128, Space.Vec, 3)
    neighbour.hard, result.hard = [2], [0]
    assert solve([neighbour, operand, result], {Space.Vec: 288}, {}) is not None
    operand.written, result.read = [2], [1]
    at = solve([neighbour, operand, result], {Space.Vec: 288}, {})
    assert at is not None and not at[1] < at[2] < at[1] + 128


@st.composite
def problems(draw: st.DrawFn) -> list[Buffer]:
    count = draw(st.integers(0, 8))
    buffers = [
        Buffer(draw(st.integers(1, 12)) * 100, draw(st.sampled_from(list(CAPACITY))), draw(st.integers(0, 9)))
        for _ in range(count)
    ]
    for a, b in itertools.combinations(range(count), 2):
        if buffers[a].space is not buffers[b].space:
            continue
        kind = draw(st.sampled_from(("free", "hard", "soft", "read")))
        if kind == "hard":
            buffers[a].hard.append(b)
            buffers[b].hard.append(a)
        elif kind == "soft":
            buffers[a].soft[b] = buffers[b].soft[a] = 1
        elif kind == "read":
            buffers[a].written.append(b)
            buffers[b].read.append(a)
    return buffers


@given(problems())
def test_a_placement_keeps_every_rule(buffers: list[Buffer]) -> None:
    reserved = {Space.Vec: 96}
    at = solve(buffers, CAPACITY, reserved)
    if at is None:
        return
    for k, b in enumerate(buffers):
        assert at[k] % 32 == 0
        assert reserved.get(b.space, 0) <= at[k] <= CAPACITY[b.space] - b.size
        for n in b.hard:
            assert at[k] + b.size <= at[n] or at[n] + buffers[n].size <= at[k]
        for n in b.read:
            assert not at[n] < at[k] < at[n] + buffers[n].size
