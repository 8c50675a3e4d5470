"""Kernels with windows: what is refused, in which order signals and data leave, which forms of real programs lower."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import lower, verify
from tests.shorthand import function, kernel, program, refusal

WINDOW = "w: pl.InOut[pld.DistributedTensor[[16, 64], pl.FP32]]"
CELLS = "bell: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]"
CONTEXTS = "w_ctx: pld.CommCtxType, bell_ctx: pld.CommCtxType"
PARAMETERS = f"{WINDOW}, {CELLS}, x: <16x64 FP32>, peer: pl.Scalar[pl.INT32], f: pl.Scalar[pl.FP32], {CONTEXTS}"
TILE = """
a: Vec 4096
t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
"""
STORE = "pld.tile.remote_store(t, w, peer, [0, 0])"
NOTIFY = "pld.system.notify(bell, peer, [0, 0], pl.const(1, pl.INT32), op=0)"


def lowered(source: str, *, target: str = "a2a3", planner: str = "pypto", reference: bool = False) -> str:
    """The text of a kernel; it must verify."""
    text = lower(source, filename="kernel.pyir", target=target, planner=planner, reference=reference, loc=False).mlir
    assert verify(text, target=target, planner=planner) == []
    return text


def ordered(text: str) -> list[str]:
    """The instructions of a text whose order matters between ranks, by name."""
    words = re.findall(r"^ *(?:%\S+ = )?pto\.(\S+?)(?:\(|(?: |$)(all)?)", text, re.M)
    kept = "tstore|comm|barrier|fence|cmo|store_scalar"
    return [f"{word} {all_}".strip() for word, all_ in words if re.match(kept, word)]


# ------------------------------------------------------------------------------------------- refusals
MISTAKES = {
    "load from a plain tensor": "u: <16x64 FP32 a> = pld.tile.remote_load(x, peer, [0, 0], [16, 64])",
    "load past the window": "u: <16x64 FP32 a> = pld.tile.remote_load(w, peer, [8, 0], [16, 64])",
    "peer of a float": f"{STORE.replace('peer', 'f')}",
    "value of a float": NOTIFY.replace("pl.const(1, pl.INT32)", "f"),
    "signal of another dtype": "pld.system.wait(w, [0, 0], 1, cmp=1)",
    "unknown notify code": NOTIFY.replace("op=0", "op=5"),
    "notify without a code": NOTIFY.replace(", op=0", ""),
    "store past the window": STORE.replace("[0, 0]", "[1, 0]"),
    "offsets of another rank": STORE.replace("[0, 0]", "[0]"),
    "list where a tile is due": "pld.tile.put(w, peer, x, [0, 0], [0, 0], [8, 64])",
    "stage larger than the transfer": "pld.tile.put(w, peer, x, t, [0, 0], [0, 0], [8, 64])",
    "context that is none": "r: pl.Scalar[pl.INT32] = pld.system.rank(peer)",
    "use of a call for its effect": f"""
seen: pl.UnknownType = {NOTIFY}
pld.system.wait(bell, [0, 0], seen, cmp=1)""",
    "view of a plain tensor": """
v: pld.DistributedTensor[[1, 1024], pl.FP32] = pl.tensor.view(x, [1, 1024])
pld.tile.remote_store(t, v, peer, [0, 0])""",
    "deferred outside a waiter": "pld.system.defer_wait(bell, [0, 0], 1, cmp=1)",
    "two windows in a loop": """
for i, (c,) in pl.range(4, init_values=(w,)):
    d: pld.DistributedTensor[[4, 1], pl.INT32] = pl.yield_(bell)""",
    "two windows in an if": f"""
if peer > 0:
    c: pld.DistributedTensor[[16, 64], pl.FP32] = pl.yield_(w)
else:
    c: pld.DistributedTensor[[16, 64], pl.FP32] = pl.yield_(bell)
{STORE.replace("w,", "c,")}""",
}


@pytest.mark.parametrize("body", MISTAKES.values(), ids=MISTAKES.keys())
def test_refusal(body: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(kernel(PARAMETERS, TILE + body)) == snapshot


@pytest.mark.parametrize("contexts", ["w_ctx: pld.CommCtxType", f"{CONTEXTS}, third: pld.CommCtxType"])
def test_every_window_has_a_context(contexts: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(kernel(f"{WINDOW}, {CELLS}, peer: pl.Scalar[pl.INT32], {contexts}", NOTIFY)) == snapshot


WAITER = "{}\npld.system.defer_wait(bell, [0, 0], 1, cmp=1)\n{}"
WAITERS = {
    "reads after a registration": WAITER.format("", "n: pl.Scalar[pl.INT32] = pl.tensor.read(bell, [0, 0])"),
    "works": WAITER.format("a: Vec 4096\nt: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])", ""),
    "loop of unknown length": "for i in pl.range(n):\n    pld.system.defer_wait(bell, [0, 0], 1, cmp=1)",
    "while": "while n < 4:\n    pld.system.defer_wait(bell, [0, 0], 1, cmp=1)",
    "empty loop": "for i in pl.range(4, 4):\n    pld.system.defer_wait(bell, [0, 0], 1, cmp=1)",
    "too many": """
for i in pl.range(5):
    for j in pl.range(0, 26, 2):
        pld.system.defer_wait(bell, [0, 0], 1, cmp=1)""",
    "a result": WAITER.format("", "return n"),
}


@pytest.mark.parametrize("body", WAITERS.values(), ids=WAITERS.keys())
def test_a_waiter_only_registers(body: str, snapshot: SnapshotAssertion) -> None:
    parameters = f"x: <16x64 FP32>, {CELLS}, n: pl.Scalar[pl.INDEX], bell_ctx: pld.CommCtxType"
    source = program(function(parameters, body, attributes='"deferred_completion_waiter": True'))
    assert refusal(source) == snapshot


def test_a_waiter_is_no_cube_kernel_and_keeps_off_the_name_of_the_adapter(snapshot: SnapshotAssertion) -> None:
    parameters = f"{CELLS}, bell_ctx: pld.CommCtxType"
    body = "pld.system.defer_wait(bell, [0, 0], 1, cmp=1)"
    waiter = '"deferred_completion_waiter": True'
    name = "pypto_register_counter_completion"
    assert refusal(program(function(parameters, body, "AIC", name, attributes=waiter))) == snapshot


# -------------------------------------------------------------------------------------------- order
def test_a_notify_leaves_after_the_stored_data() -> None:
    text = lowered(kernel(PARAMETERS, f"{TILE}{STORE}\n{NOTIFY}"))
    assert ordered(text) == [
        "tstore",
        "cmo.cacheinvalid",
        "fence.barrier_all",
        "barrier",
        "comm.tnotify",
    ]


def test_a_notify_leaves_after_a_put() -> None:
    text = lowered(kernel(PARAMETERS, f"{TILE}pld.tile.put(w, peer, x, t, atomic=pl.AtomicType.None_)\n{NOTIFY}"))
    assert ordered(text) == [
        "barrier",
        "comm.tput",
        "barrier",
        "cmo.cacheinvalid",
        "fence.barrier_all",
        "barrier",
        "comm.tnotify",
    ]


def test_a_notify_leaves_after_a_store_into_the_own_window() -> None:
    """The peer reads it with a remote load or get."""
    text = lowered(
        kernel(PARAMETERS, f"{TILE}v: pld.DistributedTensor[[16, 64], pl.FP32] = pl.tile.store(t, [0, 0], w)\n{NOTIFY}")
    )
    assert ordered(text) == [
        "tstore",
        "cmo.cacheinvalid",
        "fence.barrier_all",
        "barrier",
        "comm.tnotify",
    ]


def test_a_notify_leaves_after_an_element_written_by_the_scalar_core() -> None:
    text = lowered(kernel(PARAMETERS, f"pl.tensor.write(w, [0, 0], f)\n{NOTIFY}"))
    assert ordered(text) == [
        "store_scalar",
        "cmo.cacheinvalid",
        "fence.barrier_all",
        "barrier",
        "comm.tnotify",
    ]


def test_a_notify_leaves_after_a_get_into_the_own_window() -> None:
    text = lowered(kernel(PARAMETERS, f"{TILE}pld.tile.get(w, peer, w, t)\n{NOTIFY}"))
    assert ordered(text) == [
        "barrier",
        "comm.tget",
        "barrier",
        "cmo.cacheinvalid",
        "fence.barrier_all",
        "barrier",
        "comm.tnotify",
    ]


def test_what_a_wait_waited_for_is_read_from_memory() -> None:
    load = "u: <16x64 FP32 a> = pl.tile.load(w, [0, 0], [16, 64])"
    text = lowered(kernel(PARAMETERS, f"a: Vec 4096\npld.system.wait(bell, [0, 0], 1, cmp=1)\n{load}"))
    assert ordered(text) == ["comm.twait", "cmo.cacheinvalid all"]


def test_a_plain_tensor_needs_no_marks() -> None:
    text = lowered(kernel(PARAMETERS, f"{TILE}y: <16x64 FP32> = pl.tile.store(t, [0, 0], x)\n{NOTIFY}"))
    assert ordered(text) == ["tstore", "barrier", "comm.tnotify"]


MARKED = f"""{TILE}
v: pld.DistributedTensor[[16, 64], pl.FP32] = pl.tile.store(t, [0, 0], w)
pl.system.cacheinvalid(w, [16, 64], [0, 0])
pl.system.fence()
{STORE}
pl.system.fence()
{NOTIFY}
pld.system.wait(bell, [0, 0], 1, cmp=1)
pl.system.cacheinvalid()
"""


def test_marks_that_are_there_are_not_doubled() -> None:
    source = kernel(PARAMETERS, MARKED)
    assert lowered(source) == lowered(source, reference=True)


def test_a_missing_mark_is_added_beside_the_one_that_is_there() -> None:
    source = kernel(PARAMETERS, MARKED)
    for mark in ("        pl.system.cacheinvalid(w, [16, 64], [0, 0])\n", "        pl.system.fence()\n"):
        assert lowered(source.replace(mark, "", 1)) == lowered(source)


def test_the_reference_text_has_only_the_marks_that_are_written() -> None:
    assert ordered(lowered(kernel(PARAMETERS, f"{TILE}{STORE}\n{NOTIFY}"), reference=True)) == [
        "tstore",
        "cmo.cacheinvalid",
        "barrier",
        "comm.tnotify",
    ]


# ------------------------------------------------------------------------------------- mixed kernels
MEMBER = f"{WINDOW}, {CELLS}, x: <16x64 FP32>, peer: pl.Scalar[pl.INT32], e: pl.Scalar[pl.INDEX], {CONTEXTS}"
CUBE_STORE = "pl.tensor.write(w, [0, 0], 1.0)\n"
SYNC = "pl.system.sync_wait(e, pipe=pl.PipeType.MTE3)"


def mixed(cube: str, vector: str) -> str:
    """A mixed kernel of two members."""
    return program(function(MEMBER, cube, "AIC", "k_aic"), function(MEMBER, vector, "AIV", "k_aiv"))


def notifies(text: str) -> dict[str, int]:
    """How many notifies each function of a text has."""
    parts = text.split("func.func @")[1:]
    return {p.split("(")[0]: p.count("pto.comm.tnotify") for p in parts}


def test_a_copied_notify_stays_with_the_vector_member_that_writes() -> None:
    assert notifies(lowered(mixed(NOTIFY, f"{TILE}{STORE}\n{NOTIFY}"), target="a5")) == {"k_aic": 0, "k_aiv": 1}


def test_a_copied_notify_stays_with_the_cube_member_that_writes() -> None:
    assert notifies(lowered(mixed(f"{CUBE_STORE}{NOTIFY}", NOTIFY), target="a5")) == {"k_aic": 1, "k_aiv": 0}


def test_a_copied_notify_without_data_stays_with_the_vector_member() -> None:
    assert notifies(lowered(mixed(NOTIFY, NOTIFY), target="a5")) == {"k_aic": 0, "k_aiv": 1}


def test_a_copied_notify_inside_control_flow_is_dropped_there() -> None:
    nested = f"for i in pl.range(4):\n    if i != e:\n        {NOTIFY}\n    else:\n        {NOTIFY}"
    assert notifies(lowered(mixed(nested, f"{TILE}{STORE}\n{nested}"), target="a5")) == {"k_aic": 0, "k_aiv": 2}


def test_the_reference_text_has_both_copies() -> None:
    source = mixed(NOTIFY, f"{TILE}{STORE}\n{NOTIFY}")
    assert notifies(lowered(source, target="a5", reference=True)) == {"k_aic": 1, "k_aiv": 1}


UNORDERED = {
    "cube tells of the vector's data": (NOTIFY, f"{TILE}{STORE}"),
    "vector tells of the cube's data": (CUBE_STORE, NOTIFY),
    "both write, both tell": (f"{CUBE_STORE}{NOTIFY}", f"{TILE}{STORE}\n{NOTIFY}"),
}


@pytest.mark.parametrize("members", UNORDERED.values(), ids=UNORDERED.keys())
def test_a_notify_of_the_other_member_s_data_is_refused(members: tuple[str, str], snapshot: SnapshotAssertion) -> None:
    assert refusal(mixed(*members), target="a5") == snapshot


def test_a_notify_after_waiting_for_the_other_member_is_in_order() -> None:
    assert notifies(lowered(mixed(CUBE_STORE, f"{SYNC}\n{NOTIFY}"), target="a5")) == {"k_aic": 0, "k_aiv": 1}
    with_wait = mixed(f"{SYNC}\n{NOTIFY}", f"{TILE}{STORE}")
    assert notifies(lowered(with_wait, target="a5")) == {"k_aic": 1, "k_aiv": 0}


def test_members_of_different_kernels_do_not_meet() -> None:
    source = program(function(MEMBER, NOTIFY, "AIC", "one_aic"), function(MEMBER, f"{TILE}{STORE}", "AIV", "two_aiv"))
    assert notifies(lowered(source, target="a5")) == {"one_aic": 1, "two_aiv": 0}


@pytest.mark.parametrize("name", ["remote_exchange", "window_paths", "deferred", "allgather"])
@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_the_texts_of_whole_kernels_verify(name: str, planner: str) -> None:
    path = Path(__file__).parent / "kernels" / f"{name}.pyir"
    assert lowered(path.read_text(encoding="utf-8"), planner=planner)
