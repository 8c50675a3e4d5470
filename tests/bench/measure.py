"""One measurement, in a process of its own: `python -m tests.bench.measure KERNEL COUNT [--memory]` prints JSON.

Times are seconds of this process's CPU. `first`: no shape is known, nor kept from other processes; `again`: every
shape is known, but no function as a whole, the best of three; `same`: every function is kept too, as where a text is
compiled over and over. Memory is bytes at the highest, less those before, with the compilation alone."""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

from pypto_rw import api, kept, lower, pipeline
from tests.bench.kernels import KERNELS

STAGES = ("parse", "type", "legalize", "plan", "print", "assembler")


def measure(source: str) -> dict[str, Any]:
    """Seconds of `ast.parse`, of the first compilation, the best of three more (also by stage), and of the same."""
    best = _best(lambda: ast.parse(source))
    first = _seconds(lambda: lower(source))
    runs = []
    for _ in range(3):
        kept.forget()
        with _stages() as spent:
            total = _seconds(lambda: lower(source))
        runs.append((total, spent))
    again, stages = min(runs, key=lambda run: run[0])
    lower(source)
    same = _best(lambda: lower(source))
    return {"ast": best, "first": first, "again": again, "same": same, "stages": stages}


def memory(source: str) -> int:
    """Bytes that a compilation needs at its highest."""
    lower(KERNELS["allocated"](10))  # what is loaded once
    before = _peak()
    lower(source)
    return _peak() - before


def _seconds(action: Callable[[], object]) -> float:
    start = process_time()
    action()
    return process_time() - start


def _best(action: Callable[[], object]) -> float:
    return min(_seconds(action) for _ in range(3))


def _peak() -> int:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


@contextmanager
def _stages() -> Iterator[dict[str, float]]:
    """Seconds spent in each stage within the block."""
    spent = dict.fromkeys(STAGES, 0.0)

    def timed(name: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            start = process_time()
            try:
                return action(*arguments, **named)
            finally:
                spent[name] += process_time() - start

        return run

    names = {"parse": "parse", "print": "lower_module", "assembler": "assembler_warnings"}
    plain = {attribute: getattr(api, attribute) for attribute in names.values()}
    stages = dict(pipeline.STAGES)
    try:
        for stage, attribute in names.items():
            setattr(api, attribute, timed(stage, plain[attribute]))
        for stage, action in stages.items():
            pipeline.STAGES[stage] = timed(stage, action)
        yield spent
    finally:
        for attribute, action in plain.items():
            setattr(api, attribute, action)
        pipeline.STAGES.update(stages)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kernel", choices=[*KERNELS])
    parser.add_argument("count", type=int)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    os.environ["PYPTO_RW_CACHE"] = ""  # nothing is known from other processes
    source = KERNELS[options.kernel](options.count)
    print(json.dumps(memory(source) if options.memory else measure(source)))


if __name__ == "__main__":
    main()
