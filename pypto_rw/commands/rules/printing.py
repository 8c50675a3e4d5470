"""`pypto-rw rules docs`."""

from __future__ import annotations

import argparse
import os

from pypto_rw.commands.files import complain, reason, write
from pypto_rw.commands.rules.names import named, names_option
from pypto_rw.rewriting.rulebook import Rulebook


def options(parser: argparse.ArgumentParser) -> None:
    """The options of `rules docs`."""
    names_option(parser)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder for the pages")


def run(options: argparse.Namespace) -> int:
    """Write a page for each op and for each file of rules that ops share, and an index of them."""
    from pypto_rw.authoring.pages import pages  # only pages are made of it

    book = Rulebook(options.rules)
    names = named(book, options.names)
    if isinstance(names, str):
        return complain(names)
    count = 0
    for path, text in pages(book, names):
        place = os.path.join(options.output, path)
        try:
            os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        except OSError as error:
            return complain(f"cannot make {os.path.dirname(place)}: {reason(error)}")
        if (problem := write(place, text)) is not None:
            return complain(problem)
        count += 1
    print(f"{count} pages")
    return 0
