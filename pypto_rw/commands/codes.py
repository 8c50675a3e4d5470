"""`pypto-rw codes`: what a diagnostic code means, with an example."""

from __future__ import annotations

import argparse
import sys

from pypto_rw.commands.files import complain
from pypto_rw.commands.options import rules_option
from pypto_rw.diagnostics import CompileError
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rulepages import Pages


def codes(parser: argparse.ArgumentParser) -> None:
    """The options of `codes`."""
    parser.add_argument("codes", nargs="*", metavar="CODE", help="codes to explain; none: list all")
    rules_option(parser)
    parser.set_defaults(action=_codes)


def _codes(options: argparse.Namespace) -> int:
    try:
        pages = Pages(Rulebook(options.rules))
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    if not options.codes:
        known = pages.codes()
        width = max(map(len, known))
        for code in known:
            print(f"{code:<{width}}  {pages.line(code)}".rstrip())
        return 0
    shown = []
    for code in options.codes:
        found = pages.page(code)
        if found is None:
            near = pages.nearest(code)
            return complain(f"no page for the code {code}" + (f"; similar: {', '.join(near)}" if near else ""))
        shown.append(found.text)
    print("\n".join(shown), end="")
    return 0
