"""Windows of tiles that are viewed, filled, carried or merged: what is printed with and without addresses.

A tile in a window's bytes is the window: without addresses it is written through the window's handle, never to a handle
of its own that nobody reads. With addresses its rows must follow one another. Refusals are compared whole.
"""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import CompileError, check, lower
from tests.front.authored import kernel

TENSORS = "x: <32x64 FP32>, y: Out <32x64 FP32>, n: INDEX"
LOAD = "t = pl.load(x, [0, 0], [16, 64])\n"
ROWS = f"{LOAD}w = pl.slice(t, [8, 64], [8, 0])\n"
PART = f"{LOAD}w = pl.slice(t, [8, 32], [8, 0])\n"
STORE = "\npl.store(u, [0, 0], y)"
PADDED = (
    "s = pl.load(x, [0, 0], [16, 64])\nt = pl.fillpad(s, pad_value=pl.PadValue.zero)\n"
    "w = pl.slice(t, [8, 64], [8, 0], [4, 64])\n"
)
CASES = {
    "reshape to the same shape": f"{ROWS}u = pl.reshape(w, [8, 64]){STORE}",
    "reshape of the whole": f"{LOAD}w = pl.slice(t, [16, 64], [0, 0])\nu = pl.reshape(w, [16, 64]){STORE}",
    "fillpad_inplace": f"{LOAD}w = pl.slice(t, [8, 64], [8, 0], [4, 64])\nu = pl.tile.fillpad_inplace(w){STORE}",
    "fillpad_inplace of a padded tile": f"{PADDED}u = pl.tile.fillpad_inplace(w){STORE}",
    "carried": f"{ROWS}u = w\nfor i in pl.range(4):\n    u = pl.add(u, 1.0){STORE}",
    "merged": f"{LOAD}if n > 3:\n    u = pl.slice(t, [8, 64], [8, 0])\nelse:\n"
    f"    u = pl.slice(t, [8, 64], [8, 0]){STORE}",
    "another name of some columns": f"{PART}u = w{STORE}",
    "reshape of some columns": f"{PART}u = pl.reshape(w, [16, 16]){STORE}",
    "some columns carried": f"{PART}u = w\nfor i in pl.range(4):\n    u = pl.add(u, 1.0){STORE}",
    "some columns merged": f"{LOAD}if n > 3:\n    u = pl.slice(t, [8, 32], [8, 0])\nelse:\n"
    f"    u = pl.slice(t, [8, 32], [8, 0]){STORE}",
    "some columns filled": f"{LOAD}w = pl.slice(t, [8, 32], [8, 0], [4, 32])\nu = pl.tile.fillpad_inplace(w){STORE}",
}


def outcome(source: str, planner: str, target: str = "a2a3") -> list[str]:
    """The lines that name tiles, without types, or the refusal."""
    try:
        text = lower(source, planner=planner, loc=False, target=target).mlir
    except CompileError as error:
        return re.sub(r"(\.egg):\d+", r"\1", str(error)).splitlines()
    lines = [re.sub(r" : !pto[^()]*", "", line).strip() for line in text.splitlines()]
    return [
        line for line in lines if re.search(r"alloc_tile|subview|set_validshape|pto\.t(?!ensor)[a-z]+ |scf|^}", line)
    ]


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
@pytest.mark.parametrize("case", CASES)
def test_a_tile_in_the_bytes_of_a_window(case: str, planner: str, snapshot: SnapshotAssertion) -> None:
    assert outcome(kernel(TENSORS, CASES[case]), planner) == snapshot


PACKED = "x: <32x256 FP4>, y: Out <32x256 FP4>, n: INDEX"
LOAD_PACKED = "t = pl.load(x, [0, 0], [16, 128])\n"
PACKED_CASES = {
    "rows": f"{LOAD_PACKED}u = pl.slice(t, [8, 128], [8, 0]){STORE}",
    "rows of rows": f"{LOAD_PACKED}w = pl.slice(t, [8, 128], [8, 0])\nu = pl.slice(w, [4, 128], [4, 0]){STORE}",
    "a row that moves": f"{LOAD_PACKED}u = pl.slice(t, [1, 128], [n, 0]){STORE}",
    "some columns": f"{LOAD_PACKED}u = pl.slice(t, [16, 64], [0, 64]){STORE}",
    "some are valid": f"{LOAD_PACKED}u = pl.slice(t, [8, 128], [8, 0], [4, 64]){STORE}",
    "reshaped": f"{LOAD_PACKED}w = pl.slice(t, [8, 128], [8, 0])\nu = pl.reshape(w, [4, 256]){STORE}",
    "assembled": f"{LOAD_PACKED}w = pl.load(x, [8, 0], [8, 128])\nu = pl.tile.assemble(t, w, [8, 0]){STORE}",
    "narrowed": f"{LOAD_PACKED}u = pl.tile.set_validshape(t, 16, 64){STORE}",
}


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
@pytest.mark.parametrize("case", PACKED_CASES)
def test_windows_of_packed_tiles_count_pairs(case: str, planner: str, snapshot: SnapshotAssertion) -> None:
    source = kernel(PACKED, PACKED_CASES[case])
    assert check(source, planner=planner, target="a5") == ()
    assert outcome(source, planner, "a5") == snapshot


def test_half_a_byte_begins_no_window() -> None:
    source = kernel(PACKED, f"{LOAD_PACKED}u = pl.slice(t, [16, 64], [0, 33]){STORE}")
    assert [(d.code, d.span.line) for d in check(source, target="a5")] == [("odd-origin", 9)]
