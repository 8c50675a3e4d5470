"""What the planners refuse: the whole message, at the author's line."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import CompileError, lower

LOAD = "pl.tile.load(x, [0, 0], {size}, {size}, target_memory=pl.Mem.{space})"
BIG = "pl.Tile[[256, 128], pl.FP32, pl.Mem.Vec]"


def kernel(*lines: str, kind: str = "AIV", shape: str = "[256, 256], pl.FP32") -> str:
    head = [
        "import pypto.language as pl",
        "",
        "@pl.program",
        "class K:",
        f"    @pl.function(type=pl.FunctionType.{kind})",
    ]
    head.append(f"    def kernel(self, x: pl.Tensor[{shape}], o: pl.Out[pl.Tensor[{shape}]], n: pl.Scalar[pl.INDEX]):")
    return "\n".join([*head, *("        " + line for line in lines), ""])


def tile(name: str, rows: int, cols: int, memory: str = "", space: str = "Vec", dtype: str = "FP32") -> str:
    """A tile that is loaded."""
    size = f"[{rows}, {cols}]"
    declared = f"{memory}, " if memory else ""
    return f"{name}: pl.Tile[{size}, pl.{dtype}, {declared}pl.Mem.{space}] = {LOAD.format(size=size, space=space)}"


RING, SCRATCH = 'pl.MemRef("ring", slots={n})[{i}]', 'pl.MemRef("scratch")'
SUM = "c: pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec] = pl.tile.add(a, b)"

KERNELS = {
    "too much in Vec": kernel(
        tile("a", 256, 128), tile("b", 256, 128), f"c: {BIG} = pl.tile.add(a, b)", "pl.tile.store(c, [0, 0], o)"
    ),
    "one operand past its memory": kernel(
        tile("m", 256, 256, space="Mat", dtype="FP16"),
        "l: pl.Tile[[256, 256], pl.FP16, pl.Mem.Left] = pl.tile.move(m, target_memory=pl.Mem.Left)",
        kind="AIC",
        shape="[256, 256], pl.FP16",
    ),
    "reserved bytes count": kernel(
        "b: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='slots', size=98304, base=0)",
        tile("a", 256, 128),
        "pl.tile.store(a, [0, 0], o)",
    ),
    "reserved bytes overlap": kernel(
        "b: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='one', size=4096, base=0)",
        "c: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='two', size=4096, base=2048)",
        tile("a", 32, 64),
        "pl.tile.store(a, [0, 0], o)",
    ),
    "a run-time shape": kernel("t: pl.Tile[[n, 64], pl.FP32, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [n, 64], [n, 64])"),
    "a declaration with two slot counts": kernel(
        tile("a", 32, 64, RING.format(n=2, i=0)), tile("b", 32, 64, RING.format(n=3, i=1)), SUM
    ),
    "a declaration in two spaces": kernel(
        tile("a", 32, 64, SCRATCH, "Mat"),
        'b: pl.Tile[[32, 64], pl.FP32, pl.MemRef("scratch"), pl.Mem.Left] = pl.tile.move(a, target_memory=pl.Mem.Left)',
        kind="AIC",
    ),
    "a declaration on a view": kernel(
        tile("a", 64, 64),
        f"b: pl.Tile[[32, 64], pl.FP32, {SCRATCH}, pl.Mem.Vec] = pl.tile.slice(a, [32, 64], [0, 0])",
    ),
    "one declaration twice at once": kernel(tile("a", 32, 64, SCRATCH), tile("b", 32, 64, SCRATCH), SUM),
    "one slot twice at once": kernel(
        tile("a", 32, 64, RING.format(n=2, i=1)), tile("b", 32, 64, RING.format(n=2, i=1)), SUM
    ),
    "an accumulator needed elsewhere": kernel(
        "l: pl.Tile[[64, 64], pl.FP16, pl.Mem.Left] = "
        "pl.tile.create([64, 64], dtype=pl.FP16, target_memory=pl.Mem.Left)",
        "r: pl.Tile[[64, 64], pl.FP16, pl.Mem.Right] = "
        "pl.tile.create([64, 64], dtype=pl.FP16, target_memory=pl.Mem.Right)",
        "p: pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc] = pl.tile.matmul(l, r)",
        "q: pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc] = pl.tile.matmul(l, r)",
        "for i, (acc,) in pl.range(0, n, 1, init_values=(p,)):",
        "    s: pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc] = pl.yield_(q)",
        "pl.tile.store(s, [0, 0], o)",
        kind="AIC",
    ),
}


def refusal(source: str, planner: str, target: str = "a2a3") -> str:
    with pytest.raises(CompileError) as caught:
        lower(source, filename="kernel.pyir", planner=planner, target=target)
    return str(caught.value)


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp"])
@pytest.mark.parametrize("name", KERNELS)
def test_refusal_of(name: str, planner: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(KERNELS[name], planner) == snapshot


def test_a_declaration_without_slots_needs_a_planner_with_addresses(snapshot: SnapshotAssertion) -> None:
    source = kernel(tile("a", 32, 64, SCRATCH), "pl.tile.store(a, [0, 0], o)")
    assert lower(source, planner="pypto").diagnostics == ()
    assert refusal(source, "ptoas") == snapshot


def test_the_assembler_judges_capacity_where_it_places() -> None:
    (found,) = lower(KERNELS["too much in Vec"], planner="ptoas").diagnostics
    assert (found.code, found.severity.value) == ("ptoas-capacity", "warning")
    assert found.message == "262144 bytes of Vec tiles are live here, the chip has 196608"


def test_a_pipeline_with_too_little_memory_is_planned_with_a_note(snapshot: SnapshotAssertion) -> None:
    stages = []
    for s in range(4):
        mark = f', attrs={{"pipeline_membership": "0:{s}"}})'
        load = "pl.tile.load(x, [0, 0], [128, 128], [128, 128], target_memory=pl.Mem.Vec"
        stages.append(f"    t{s}: pl.Tile[[128, 128], pl.FP32, pl.Mem.Vec] = {load}{mark}")
        stages.append(f"    pl.tile.store(t{s}, [0, 0], o)")
    source = kernel("for i in pl.range(0, n, 4):", *stages)
    for planner in ("pypto", "dsa_rp"):
        found = lower(source, filename="kernel.pyir", planner=planner).diagnostics
        assert [(d.severity.value, d.code, d.message, d.help, d.span.line) for d in found] == snapshot(name=planner)
