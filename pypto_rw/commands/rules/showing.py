"""`pypto-rw rules show`."""

from __future__ import annotations

import argparse
import sys

from pypto_rw.commands.files import complain
from pypto_rw.rewriting.rulebook import Rulebook


def options(parser: argparse.ArgumentParser) -> None:
    """The options of `rules show`."""
    parser.add_argument("op", metavar="OP", help="the op, as tile.mul")


def run(options: argparse.Namespace) -> int:
    """Print what an op's rule file says of it."""
    from pypto_rw.authoring.pages import shown  # only a page is made of it

    book = Rulebook(options.rules)
    signature = book.signature(options.op)
    if signature is None:
        near = ", ".join(book.nearest(options.op))
        return complain(f"no op {options.op}" + (f"; the nearest are {near}" if near else ""))
    sys.stdout.write(shown(book, signature))
    return 0
