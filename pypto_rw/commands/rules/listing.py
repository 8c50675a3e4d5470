"""`pypto-rw rules list`."""

from __future__ import annotations

import argparse

from pypto_rw.commands.files import complain
from pypto_rw.commands.rules.names import names_option
from pypto_rw.rewriting.rulebook import Rulebook


def options(parser: argparse.ArgumentParser) -> None:
    """The options of `rules list`."""
    names_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print a line for each op whose name begins with one of the words."""
    rulebook = Rulebook(options.rules)
    rows = [
        (s.op, f"{s.op.replace('.', '/')}.egg", ",".join(rulebook.targets(s)), rulebook.meaning(s))
        for s in rulebook.ops()
        if not options.names or any(s.op.startswith(n) for n in options.names)
    ]
    if options.names and not rows:
        near = ", ".join(rulebook.nearest(options.names[0]))
        return complain(f"no op {options.names[0]}" + (f"; the nearest are {near}" if near else ""))
    widths = [max((len(r[k]) for r in rows), default=0) for k in range(3)]
    for row in rows:
        print("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]).rstrip())
    return 0
