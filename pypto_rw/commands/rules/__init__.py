"""`pypto-rw rules WHAT`: list and show ops, lint and test rule files, count what fires, begin a new one, print pages.

What a WHAT needs is imported when it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from pypto_rw.commands.options import rules_option
from pypto_rw.commands.rules import counting, linting, listing, printing, showing, starting, testing
from pypto_rw.diagnostics import CompileError

Run = Callable[[argparse.Namespace], int]
_WHATS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], Run, str]] = {
    "list": (listing.options, listing.run, "op, file, targets, meaning"),
    "show": (showing.options, showing.run, "signature, forms, rules and examples of an op"),
    "lint": (linting.options, linting.run, "what is wrong in rule files"),
    "test": (testing.options, testing.run, "run the examples of rule files"),
    "coverage": (counting.options, counting.run, "how often each rule fires, in kernels or in the examples"),
    "new": (starting.options, starting.run, "write a rule file to begin with"),
    "docs": (printing.options, printing.run, "pages of ops and rules, as Markdown"),
}


def rules(parser: argparse.ArgumentParser) -> None:
    """The options of `rules`."""
    kinds = parser.add_subparsers(dest="what", required=True, parser_class=type(parser))
    for what, (options, run, line) in _WHATS.items():
        sub = kinds.add_parser(what, help=line, description=line)
        options(sub)
        rules_option(sub)
        sub.set_defaults(action=_guarded(run))


def _guarded(run: Run) -> Run:
    def action(options: argparse.Namespace) -> int:
        try:
            return run(options)
        except CompileError as error:
            print(error, file=sys.stderr)
            return 1

    return action
