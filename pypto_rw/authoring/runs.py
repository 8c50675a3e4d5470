"""Runs the examples of many rule files, several at a time, and tells what fired.

Each file is run on its own, so that the answer does not depend on how many processes share the work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pypto_rw.authoring.overlap import Overlap, Overlaps, Roots
from pypto_rw.diagnostics import CompileError
from pypto_rw.examples import Runner, examples
from pypto_rw.options import Options
from pypto_rw.records import dataclass
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.rulebook import Rulebook

_NO_RULES = ("target/", "instruction/", "core/assembler")  # facts that the compiler reads, or that come with the chip
_ALONE = 12  # files that are not worth a second process


@dataclass(frozen=True, slots=True)
class FileRun:
    """What came of a file's examples: how many ran, those that failed (line, target, message), how often each rule
    matched, which two rules lowered one op, and why the file cannot be loaded ("" where it can)."""

    name: str
    count: int
    failed: tuple[tuple[int, str, str], ...]
    matches: dict[str, int]
    overlaps: tuple[Overlap, ...]
    broken: tuple[int, str, str] | None = None


def run_files(folders: Sequence[str], names: Sequence[str], *, overlaps: bool = False) -> Iterator[FileRun]:
    """The runs of the files, in the order of `names`; `folders` are searched before the built-in rules.

    `overlaps`: look for two rules that lower one op."""
    tasks = [(tuple(folders), name, overlaps) for name in names]
    workers = min(os.cpu_count() or 1, len(tasks) // _ALONE + 1)
    if workers == 1:
        yield from map(_run, tasks)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_run, tasks, chunksize=8)


class _Bench:
    """What a process keeps from file to file: the search path as it was read, and the engines."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        book = Rulebook(folders)
        self.roots, self.runner = Roots(book), Runner(book)

    def run(self, file: RuleFile, *, overlaps: bool) -> FileRun:
        """Run the examples of a file; one without examples is loaded."""
        self.runner.start(file)
        before = dict(self.runner.watch.matches)
        seen = Overlaps(self.roots, before) if overlaps else None
        count = 0
        failed = []
        for example in examples(file):
            for outcome in self.runner.run(example):
                count += 1
                if outcome.message:
                    failed.append((outcome.example.line, outcome.target, outcome.message))
                if seen is not None:
                    seen.look(self.runner, outcome)
        if not count and not file.name.startswith(_NO_RULES):
            self.runner.engine("a2a3", Options().facts).load_file(file.name)
        matches = {r: m for r, n in self.runner.watch.matches.items() if (m := n - before.get(r, 0))}
        return FileRun(file.name, count, tuple(failed), matches, seen.found() if seen is not None else ())


@lru_cache(maxsize=1)
def _bench(folders: tuple[str, ...]) -> _Bench:
    """One a process."""
    return _Bench(folders)


def _run(task: tuple[tuple[str, ...], str, bool]) -> FileRun:
    folders, name, overlaps = task
    try:
        bench = _bench(folders)
        file = bench.roots.book.file(name)
        assert file is not None
        return bench.run(file, overlaps=overlaps)
    except CompileError as error:
        (d, *_) = error.diagnostics
        _bench.cache_clear()
        return FileRun(name, 0, (), {}, (), (d.span.line, d.message, d.help))


def failures(run: FileRun, path: str) -> Iterator[str]:
    """The failed examples of a file as lines for a terminal."""
    for line, target, message in run.failed:
        yield f"{path}:{line}: {target}: {message}"
