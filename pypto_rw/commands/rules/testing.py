"""`pypto-rw rules test`."""

from __future__ import annotations

import argparse
import sys

from pypto_rw.commands.files import complain
from pypto_rw.commands.rules.names import named, names_option
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.wording import counted


def options(parser: argparse.ArgumentParser) -> None:
    """The options of `rules test`."""
    names_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run the examples of the files named, or of all; exit 1 where one fails."""
    from pypto_rw.authoring.runs import run_files  # an engine and a parser

    rulebook = Rulebook(options.rules)
    names = named(rulebook, options.names)
    if isinstance(names, str):
        return complain(names)
    count = failed = 0
    for done in run_files(options.rules, names):
        file = rulebook.file(done.name)
        assert file is not None
        count += done.count
        lines = [f"{line}: {target}: {message}" for line, target, message in done.failed]
        if done.broken is not None:
            line, message, help = done.broken
            lines.append(f"{line}: error[rule-file]: {message}" + (f"\n  help: {help}" if help else ""))
        for text in lines:
            print(f"{file.path}:{text}", file=sys.stderr)
        failed += len(lines)
    print(f"{counted(count, 'example')}, {failed} failed")
    return 1 if failed else 0
