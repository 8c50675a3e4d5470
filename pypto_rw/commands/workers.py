"""`-j N`: the files of one command in N processes; texts and findings come in the order of the files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from pypto_rw.commands.diagnostics import Teller
from pypto_rw.diagnostics import Diagnostic

# The exit code of a file, and its text.
Compiled = tuple[int, str | None]
Compile = Callable[[str, argparse.Namespace, Teller], Compiled]


class Recorder(Teller):
    """Keeps what there is to tell, for the teller of another process."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.findings: list[tuple[tuple[Diagnostic, ...], str]] = []

    def tell(self, diagnostics: Sequence[Diagnostic], source: str) -> None:
        """Keep some findings and the text they quote."""
        self.findings.append((tuple(diagnostics), source))


def in_order(action: Compile, files: Sequence[str], options: argparse.Namespace, teller: Teller) -> Iterator[Compiled]:
    """What `action` gives for each file, in the order of the files, from `options.jobs` processes."""
    with ProcessPoolExecutor(max_workers=min(options.jobs, len(files))) as pool:
        try:
            for compiled, findings in pool.map(partial(_recorded, action, options), files):
                for diagnostics, source in findings:
                    teller.tell(diagnostics, source)
                yield compiled
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


def _recorded(
    action: Compile, options: argparse.Namespace, file: str
) -> tuple[Compiled, list[tuple[tuple[Diagnostic, ...], str]]]:
    recorder = Recorder(options)
    return action(file, options, recorder), recorder.findings
