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
# Findings with the text they quote, or what is wrong with the file.
Told = tuple[tuple[Diagnostic, ...], str] | str
Compile = Callable[[str, argparse.Namespace, Teller], Compiled]


class Recorder(Teller):
    """Keeps what there is to tell, for the teller of another process."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.told: list[Told] = []

    def tell(self, diagnostics: Sequence[Diagnostic], source: str) -> None:
        """Keep some findings and the text they quote."""
        self.told.append((tuple(diagnostics), source))

    def complain(self, message: str) -> int:
        """Keep what is wrong with a file."""
        self.told.append(message)
        return 2


def in_order(action: Compile, files: Sequence[str], options: argparse.Namespace, teller: Teller) -> Iterator[Compiled]:
    """What `action` gives for each file, in the order of the files, from `options.jobs` processes."""
    with ProcessPoolExecutor(max_workers=min(options.jobs, len(files))) as pool:
        try:
            for compiled, told in pool.map(partial(_recorded, action, options), files):
                for what in told:
                    if isinstance(what, str):
                        teller.complain(what)
                    else:
                        teller.tell(*what)
                yield compiled
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


def _recorded(action: Compile, options: argparse.Namespace, file: str) -> tuple[Compiled, list[Told]]:
    recorder = Recorder(options)
    return action(file, options, recorder), recorder.told
