"""Many small kernels in one process: `python -m tests.bench.small` prints JSON.

`ratios`: of each kernel of tests/kernels for a2a3, its compilation, every shape known but no function as a whole, to
`ast.parse` of its text, best of five; `same`: of the text compiled over and over. `rate`: kernels a second of 1,000
different ones, and how much the process grew over their second half."""

from __future__ import annotations

import ast
import json
import resource
from pathlib import Path
from time import perf_counter, process_time

from pypto_rw import CompileError, kept, lower
from tests.bench.kernels import KERNELS

_FOLDER = Path(__file__).resolve().parent.parent / "kernels"


def ratios() -> tuple[list[float], list[float]]:
    """Seconds of a compilation by seconds of `ast.parse`, sorted: of texts with known shapes, of the same texts."""
    found, same = [], []
    for path in sorted(_FOLDER.glob("*.pyir")):
        source = path.read_text()
        try:
            lower(source, target="a2a3")
        except CompileError:  # it is written for the other chip
            continue
        parsed = min(_seconds_to_parse(source) for _ in range(5))
        again = []
        for _ in range(5):
            kept.forget()
            again.append(_seconds_to_lower(source))
        found.append(min(again) / parsed)
        same.append(min(_seconds_to_lower(source) for _ in range(5)) / parsed)
    return sorted(found), sorted(same)


def rate(count: int = 1000) -> tuple[float, int]:
    """Kernels of 10 to 60 statements a second, and KiB that the second half of them left behind."""
    makers = [KERNELS[name] for name in ("allocated", "unrolled", "loops", "authored")]
    texts = [
        makers[k % 4](10 + 5 * (k % 11)).replace("t1", f"sum_{k}").replace("kernel", f"kernel_{k}")
        for k in range(count)
    ]
    start = perf_counter()
    for text in texts[: count // 2]:
        lower(text)
    half = _resident()
    for text in texts[count // 2 :]:
        lower(text)
    return count / (perf_counter() - start), _resident() - half


def _seconds_to_parse(source: str) -> float:
    start = process_time()
    ast.parse(source)
    return process_time() - start


def _seconds_to_lower(source: str) -> float:
    start = process_time()
    lower(source)
    return process_time() - start


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    again, same = ratios()
    print(json.dumps({"ratios": again, "same": same, "rate": rate()}))
