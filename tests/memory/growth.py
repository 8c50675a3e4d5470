"""How planning time grows with the number of tiles: `python -m tests.memory.growth`.

Processor seconds of the best of three runs. `pypto` and `ptoas` grow linearly, `dsa_rp` with the square.
"""

from __future__ import annotations

import time
from random import Random

from pypto_rw import ir
from pypto_rw.collector import paused
from pypto_rw.memory import plan_function
from pypto_rw.memory.facts import Facts
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.syntax import parse
from tests.memory.kernels import file

_TILE = "pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec]"
_SIZES = {"pypto": (1000, 10_000), "ptoas": (1000, 10_000), "dsa_rp": (250, 500, 1000)}


def kernel(count: int, *, loops: bool) -> ir.Function:
    """A function with so many tiles, six of them in use at a time; with `loops`, every twentieth is carried by one."""
    choose = Random(0)
    lines: list[str] = []
    live: list[str] = []
    for k in range(count):
        if loops and k % 20 == 0 and live:
            start = live.pop()
            lines.append(f"        for i{k}, (c{k},) in pl.range(0, 4, 1, init_values=({start},)):")
            lines.append(f"            t{k}: {_TILE} = pl.tile.exp(c{k})")
            lines.append(f"            w{k}: {_TILE} = pl.yield_(t{k})")
            live.append(f"w{k}")
            continue
        value = "pl.tile.load(x, [0, 0], [16, 64], [16, 64], target_memory=pl.Mem.Vec)"
        if len(live) > 1 and choose.random() > 0.3:
            value = f"pl.tile.add({', '.join(choose.sample(live, 2))})"
        lines.append(f"        t{k}: {_TILE} = {value}")
        live = [*live[-5:], f"t{k}"]
    lines.append(f"        pl.tile.store({live[-1]}, [0, 0], o)")
    tensor = "pl.Tensor[[16, 64], pl.FP32]"
    return parse(file("AIV", f"x: {tensor}, o: pl.Out[{tensor}]", lines)).functions[0]


def seconds(function: ir.Function, planner: str, facts: Facts) -> float:
    """Best of three, without the collector's work, as in a compile."""
    best = float("inf")
    for _ in range(3):
        with paused():
            start = time.process_time()
            plan_function(function, planner=planner, facts=facts)
            best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Print a line for each planner and kind of kernel."""
    facts = Facts(Rulebook(), "a2a3")
    for loops in (False, True):
        for planner, sizes in _SIZES.items():
            took = [seconds(kernel(n, loops=loops), planner, facts) for n in sizes]
            told = ", ".join(f"{n} tiles {t:.3f} s" for n, t in zip(sizes, took, strict=True))
            print(f"{planner:7}{'loops' if loops else 'straight':9}{told}; {took[-1] / took[0]:.1f} times")


if __name__ == "__main__":
    main()
