"""What several statements say together: pipes, buffers of two functions, allocations, launches of all cores."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import CompileError, check, lower
from pypto_rw.diagnostics import Severity
from tests.shorthand import function, kernel, program, refusal

ZERO = "pl.const(0, pl.INT32)"
POPPED = "pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec]"
RING = "ring: pl.Scalar[pl.INT32] = pl.system.reserve_buffer(name='ring', size=8192, base=0)"
OPEN = f"pl.system.aiv_initialize_pipe(ring, {ZERO}, dir_mask=1, slot_size=1024, id=1)"
POP = f"p: {POPPED} = pl.tile.tpop_from_aic(split=0, id=1)"
USE = "e: <16x16 FP32 b> = pl.tile.exp(p)"
STORE = "pl.tile.store(e, [0, 0], y)"
FREE = "pl.system.tfree_to_aic(p, split=0, id=1)"

PIPES = {
    "pop without a pipe": (RING, POP, USE, FREE, STORE),
    "pipe of the other direction": (RING, OPEN.replace("dir_mask=1", "dir_mask=2"), POP, USE, FREE, STORE),
    "pipe of another id": (RING, OPEN.replace("id=1", "id=2"), POP, USE, FREE, STORE),
    "pipe opened later": (RING, POP, USE, FREE, OPEN, STORE),
    "pop without a free": (RING, OPEN, POP, USE, STORE),
    "free of another id": (RING, OPEN, POP, USE, FREE.replace("id=1", "id=2"), STORE),
    "free without the id": (RING, OPEN, POP, USE, FREE.replace(", id=1", ""), STORE),
    "free of another split": (RING, OPEN, POP, USE, FREE.replace("split=0", "split=1"), STORE),
    "free of a renamed tile": (
        RING,
        OPEN,
        POP,
        f"q: {POPPED} = p",
        USE,
        FREE.replace("(p", "(q").replace("id=1", "id=3"),
    ),
    "free twice": (RING, OPEN, POP, USE, FREE, FREE, STORE),
    "use after the free": (RING, OPEN, POP, FREE, USE, STORE),
    "buffer reserved twice": (RING, RING.replace("ring:", "wing:"), OPEN, POP, USE, FREE, STORE),
}


def taker(statements: tuple[str, ...], name: str = "taker") -> str:
    return function("y: pl.Out[<16x16 FP32>]", "b: Vec 1024 at 16384\n" + "\n".join(statements), name=name)


@pytest.mark.parametrize("fault", PIPES)
def test_refused_pipe(fault: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(program(taker(PIPES[fault])), "a5") == snapshot


@pytest.mark.parametrize(
    "statements",
    [
        (RING, OPEN, POP, USE, FREE, STORE),
        (RING, OPEN, POP, USE, f"q: {POPPED} = p", FREE.replace("(p", "(q"), STORE),
        (RING, OPEN, POP, "if n < 3:", f"    {FREE}", "else:", f"    {USE}", f"    {FREE}"),
        (RING, OPEN, "for i in pl.range(4):", f"    {POP}", f"    {USE}", f"    {FREE}", f"    {STORE}"),
    ],
    ids=["in line", "renamed", "in both arms", "in a loop"],
)
def test_pipe_that_is_right(statements: tuple[str, ...]) -> None:
    body = "b: Vec 1024 at 16384\n" + "\n".join(statements)
    assert check(kernel("n: pl.Scalar[pl.INDEX], y: pl.Out[<16x16 FP32>]", body), target="a5") == ()


def maker(peer: str = "taker", name: str = "ring") -> str:
    body = f"""
        a: Mat 512
        l: Left 512
        r: Right 512
        c: Acc 1024
        there: pl.Scalar[pl.INT32] = pl.system.import_peer_buffer(name='{name}', peer_func='{peer}')
        pl.system.aic_initialize_pipe(there, {ZERO}, dir_mask=1, slot_size=1024, id=1)
        p: <16x16 FP16 a> = pl.tile.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
        q: <16x16 FP16 l> = pl.tile.move(p, target_memory=pl.Mem.Left)
        s: <16x16 FP16 r> = pl.tile.move(p, target_memory=pl.Mem.Right)
        o: <16x16 FP32 c> = pl.tile.matmul(q, s)
        pl.tile.tpush_to_aiv(o, split=0, id=1)
        """
    return function("x: <16x16 FP16>", body, "AIC", "maker")


RIGHT = (RING, OPEN, POP, USE, FREE, STORE)


def test_peers_that_agree() -> None:
    assert check(program(maker(), taker(RIGHT)), target="a5") == ()


@pytest.mark.parametrize(("peer", "name"), [("talker", "ring"), ("taker", "wing"), ("maker", "ring")])
def test_refused_peer(peer: str, name: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(program(maker(peer, name), taker(RIGHT)), "a5") == snapshot


def warned(*functions: str, target: str = "a5") -> list[tuple[str, str, str]]:
    """Codes, messages and ways out of what is only warned of."""
    found = lower(program(*functions), target=target).diagnostics
    assert {d.severity for d in found} <= {Severity.warning}
    return [(d.code, d.message, d.help) for d in found]


def test_tiles_larger_than_their_slots() -> None:
    small = [f.replace("slot_size=1024", "slot_size=512") for f in (maker(), taker(RIGHT))]
    message = "the tile takes 1024 bytes, but a slot of its pipe has 512: the rest lies in the next one"
    help = "open the pipe on both sides with slot_size=1024 at least"
    assert warned(*small) == [
        ("slot-size", f"tile.tpush_to_aiv: {message}", help),
        ("slot-size", f"tile.tpop_from_aic: {message}", help),
    ]
    large = [f.replace("slot_size=1024", "slot_size=1056, slot_num=2") for f in (maker(), taker(RIGHT))]
    assert warned(*large) == []


@pytest.mark.parametrize(
    ("slots", "needed", "way"),
    [
        ("", "8 slots of 1024 bytes, 8192", "8192 bytes, or open the pipe with slot_num=6"),
        (", slot_num=7", "7 slots of 1024 bytes, 7168", "7168 bytes, or open the pipe with slot_num=6"),
    ],
)
def test_a_buffer_that_does_not_hold_all_slots(slots: str, needed: str, way: str) -> None:
    def sides(slots: str, size: int) -> list[str]:
        opened = f"slot_size=1024{slots}"
        return [
            f.replace("slot_size=1024", opened).replace("size=8192", f"size={size}") for f in (maker(), taker(RIGHT))
        ]

    assert warned(*sides(slots, 7000)) == [
        (
            "buffer-size",
            f"system.aiv_initialize_pipe: the pipe has {needed} together, but their buffer is reserved with 7000: the "
            "last slots lie behind it",
            f"reserve {way}",
        )
    ]
    assert warned(*sides(", slot_num=6", 7000)) == []


def test_a_buffer_of_less_than_a_slot() -> None:
    ring = RING.replace("8192", "768")
    assert warned(maker(), taker((ring, *RIGHT[1:]))) == [
        (
            "buffer-size",
            "system.aiv_initialize_pipe: the pipe has 8 slots of 1024 bytes, 8192 together, but their buffer is "
            "reserved with 768: the last slots lie behind it",
            "reserve 8192 bytes",
        )
    ]


def test_a_pop_of_another_split_than_the_push() -> None:
    split = [s.replace("split=0", "split=1") for s in RIGHT]
    assert warned(maker(), taker(tuple(split))) == [
        (
            "split-mismatch",
            "tile.tpop_from_aic: split=1, but maker pushes with split=0 at line 17",
            "write one split on both sides",
        )
    ]


@pytest.mark.parametrize(
    ("popped", "use"), [("[[8, 32], pl.FP32", "<8x32 FP32 b>"), ("[[16, 16], pl.INT32", "<16x16 INT32 b>")]
)
def test_a_pop_of_another_type_than_the_push(popped: str, use: str) -> None:
    other = POPPED.replace("[[16, 16], pl.FP32", popped)
    shown = popped.replace("[[", "[").replace(", pl.", " ")
    e = f"e: {use} = pl.tile.muls(p, 2)"
    assert warned(maker(), taker((RING, OPEN, POP.replace(POPPED, other), e, FREE))) == [
        (
            "popped-type",
            f"tile.tpop_from_aic: the popped tile is {shown}, but maker pushes [16, 16] FP32 with split=0 at line 17",
            "annotate the popped tile as [16, 16] FP32",
        )
    ]


def test_a_lane_pops_its_part() -> None:
    half = POPPED.replace("[16, 16]", "[8, 16]")
    rows = (RING, OPEN, POP.replace(POPPED, half), "e: <8x16 FP32 b> = pl.tile.exp(p)", FREE, STORE)
    split = [f.replace("split=0", "split=1") for f in (maker(), taker(rows))]
    assert warned(*split) == []
    whole = [f.replace("split=0", "split=1") for f in (maker(), taker(RIGHT))]
    assert warned(*whole) == [
        (
            "popped-type",
            "tile.tpop_from_aic: the popped tile is [16, 16] FP32, but maker pushes [16, 16] FP32 with split=1 at line "
            "17",
            "annotate the popped tile as [8, 16] FP32",
        )
    ]


def test_a_pop_that_waits_for_ever() -> None:
    silent = "\n".join(line for line in maker().split("\n") if "tpush" not in line)
    assert warned(silent, taker(RIGHT)) == [
        (
            "no-push",
            "tile.tpop_from_aic: maker opens this pipe but pushes nothing into it, so the pop waits for ever",
            "push a tile there: pl.tile.tpush_to_aiv(tile, …)",
        )
    ]
    assert warned(taker(RIGHT)) == []


def test_one_function_alone_still_has_its_peers() -> None:
    """A function that is compiled alone is checked, and placed in the slot buffer, as a member of its unit."""
    gm = ", __gm_pipe_buffer: pl.Out[<1 FP32>]"
    other = f"pl.system.aiv_initialize_pipe({ZERO}, {ZERO}, dir_mask=1, slot_size=512, id=0)"
    unit = [maker().replace("x: pl.Tensor[[16, 16], pl.FP16]", "x: pl.Tensor[[16, 16], pl.FP16]" + gm)]
    unit += [taker((other, *RIGHT)).replace("pl.FP32]]):", "pl.FP32]]" + gm + "):")]
    unit = [u.replace("<1 FP32>", "pl.Tensor[[1], pl.FP32]") for u in unit]
    whole = lower(program(*unit), filename="kernel.pyir", loc=False).mlir
    alone = lower(program(*unit), filename="kernel.pyir", loc=False, functions=["maker"]).mlir
    assert alone.splitlines()[1:-1] == whole.split("  func.func")[1].join(["  func.func", ""]).splitlines()


SYNCS = ["pl.system.sync_set(pipe=pl.PipeType.V, event_id=3)", "pl.system.sync_wait(e, pipe=pl.PipeType.MTE2)"]


@pytest.mark.parametrize("sync", SYNCS, ids=["set", "wait"])
def test_events_need_their_workspace_on_a2a3(sync: str, snapshot: SnapshotAssertion) -> None:
    parameters = "ws: <256 INT64>, e: pl.Scalar[pl.INDEX]"
    assert refusal(kernel(parameters, sync + "\n")) == snapshot
    assert check(kernel(parameters, f"pl.system.set_ffts(ws)\n{sync}\n")) == ()
    assert check(kernel(parameters, sync + "\n"), target="a5") == ()
    assert lower(kernel(parameters, sync + "\n"), reference=True, loc=False).mlir == snapshot


def launched(launch: str, core_type: str, kind: str = "AIV") -> str:
    barrier = f"pl.system.syncall(core_type='{core_type}')\n"
    host = "def main(self, x: pl.Tensor[[64], pl.FP32]):\n"
    return program(
        function("x: <64 FP32>", barrier, kind),
        f"@pl.function(type=pl.FunctionType.Orchestration)\n{host}    {launch}\n        self.kernel(x)\n",
    )


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize(
    ("launch", "core_type"),
    [
        ("with pl.spmd(4, sync_start=True):", "aiv_only"),
        ("for i in pl.spmd(24, sync_start=True):", "mix"),
        ("with pl.spmd({all}):", "aiv_only"),
    ],
    ids=["partial", "cores of another kind", "not together"],
)
def test_refused_launch_of_a_hard_barrier(
    launch: str, core_type: str, target: str, snapshot: SnapshotAssertion
) -> None:
    cores = {"a2a3": "48", "a5": "72"}[target]
    with pytest.raises(CompileError) as caught:
        lower(launched(launch.replace("{all}", cores), core_type), filename="kernel.pyir", target=target)
    first, second = caught.value.diagnostics
    assert (first.message, first.help, first.span.line) == snapshot
    assert second.code == "function-type"


@pytest.mark.parametrize(
    ("launch", "kind", "core_type"),
    [
        ("with pl.spmd(48, sync_start=True):", "AIV", "aiv_only"),
        ("with pl.spmd(24, sync_start=True):", "AIC", "aic_only"),
        ("with pl.scope():", "AIV", "aiv_only"),
    ],
)
def test_launch_that_fills_the_chip(launch: str, kind: str, core_type: str) -> None:
    with pytest.raises(CompileError) as caught:
        lower(launched(launch, core_type, kind), filename="kernel.pyir")
    assert [d.code for d in caught.value.diagnostics] == ["function-type"]


MEMORY = {
    "unknown base": "t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(aa, pl.const(0, pl.INT64), 4096), pl.Mem.Vec]",
    "other space": "t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(a, pl.const(0, pl.INT64), 4096), pl.Mem.Mat]",
    "more than the MemRef": "t: pl.Tile[[16, 128], pl.FP32, pl.MemRef(a, pl.const(0, pl.INT64), 4096), pl.Mem.Vec]",
    "more than the allocation": "t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(a, pl.const(0, pl.INT64), 8192), pl.Mem.Vec]",
    "more slots": "t: pl.Tile[[8, 64], pl.FP32, pl.MemRef(a, pl.const(0, pl.INT64), 2048, slots=3)[0], pl.Mem.Vec]",
}


@pytest.mark.parametrize("fault", MEMORY)
def test_refused_memory(fault: str, snapshot: SnapshotAssertion) -> None:
    tile = MEMORY[fault]
    rows, columns = tile.split("[[")[1].split("]")[0].split(", ")
    space = "Mat" if "pl.Mem.Mat" in tile else "Vec"
    call = f"pl.tile.load(x, [0, 0], [{rows}, {columns}], target_memory=pl.Mem.{space})"
    assert refusal(kernel("x: <16x128 FP32>", f"a: Vec 4096\n{tile} = {call}\n")) == snapshot


def test_addresses_whatever_the_planner(snapshot: SnapshotAssertion) -> None:
    body = """
        a: Vec 4096
        b: Vec 4096 at 4096
        t: <16x64 FP32 a> = pl.tile.load(x, [0, 0], [16, 64])
        u: <16x64 FP32 b> = pl.tile.exp(t)
        v: <16x64 FP32 a> = pl.tile.neg(u)
        pl.tile.store(v, [0, 0], y)
        """
    source = kernel("x: <16x64 FP32>, y: pl.Out[<16x64 FP32>]", body)

    def printed(planner: str, addresses: bool | None) -> str:
        return lower(source, filename="kernel.pyir", planner=planner, loc=False, emit_tile_addr=addresses).mlir

    assert printed("pypto", None) == printed("pypto", True) == printed("ptoas", True)
    assert printed("ptoas", None) == printed("ptoas", False) == printed("pypto", False)
    assert printed("pypto", False) == snapshot
