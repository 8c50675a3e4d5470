"""The table of `python -m tests.bench`: every figure is a ratio measured in one run on this machine."""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.bench.kernels import KERNELS
from tests.bench.measure import STAGES

_ROOT = Path(__file__).resolve().parent.parent.parent
_README = _ROOT / "tests" / "kernels" / "readme.pyir"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--counts", default="100,1000,10000", help="numbers of statements; 100000 takes minutes")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="which of them")
    parser.add_argument("--pairs", type=int, default=9, help="how often the cold start is measured")
    options = parser.parse_args()
    counts = [int(c) for c in options.counts.split(",")]
    print(
        "Ratios to ast.parse of the same text. first: no shape is known; again: all are, of another text; same: it is"
    )
    print("the text that was compiled before; then `again` by stage.")
    print(_row("kernel", "count", "ast ms", "first", "again", "same", *STAGES, "KiB/stmt", "growth"))
    for kernel in options.kernels.split(","):
        before = 0.0
        for count in counts:
            found = _run("tests.bench.measure", kernel, str(count))
            peak = _run("tests.bench.measure", kernel, str(count), "--memory")
            parsed = found["ast"]
            times = [found["first"], found["again"], found["same"], *(found["stages"][s] for s in STAGES)]
            growth = f"{found['again'] / before:.1f}x" if before else ""
            before = found["again"]
            ratios = [f"{t / parsed:.2f}" for t in times]
            print(
                _row(kernel, count, f"{parsed * 1000:.1f}", *ratios, f"{peak / count / 1024:.1f}", growth), flush=True
            )
    small = _run("tests.bench.small")
    print()
    for what, ratios in (("all shapes known", small["ratios"]), ("compiled over and over", small["same"])):
        print(f"{len(ratios)} small kernels, {what}: median {statistics.median(ratios):.1f}, worst {ratios[-1]:.1f}")
    print(
        f"1000 different small kernels: {small['rate'][0]:.0f} a second, {small['rate'][1]} KiB left by the second half"
    )
    print(f"cold start: {_cold(options.pairs):.1f} times `python -c pass`")


def _row(kernel: object, count: object, *rest: object) -> str:
    return f"{kernel:<10}{count:>8}" + "".join(f"{x:>10}" for x in rest)


def _run(module: str, *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _cold(pairs: int) -> float:
    """CPU of the command on the README's kernel by that of an empty program: the median of pairs."""
    command = [sys.executable, "-m", "pypto_rw", str(_README), "-o", os.devnull]
    found = []
    for _ in range(pairs + 1):
        bare, full = _spent([sys.executable, "-c", "pass"]), _spent(command)
        found.append(full / bare)
    return statistics.median(found[1:])  # the first fills the caches


def _spent(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # An installed command has its bytecode; some environments keep a checkout from having it.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
