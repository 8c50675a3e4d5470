"""`pypto-rw rules new`."""

from __future__ import annotations

import argparse
import os

from pypto_rw.commands.files import complain, reason, write
from pypto_rw.rewriting.rulebook import Rulebook


def options(parser: argparse.ArgumentParser) -> None:
    """The options of `rules new`."""
    parser.add_argument("op", metavar="OP", help="the op, as tile.twice")
    parser.add_argument(
        "--operands",
        metavar="TEXT",
        help='its operands, as "lhs:tile rhs:tile" (default "tile:tile")',
        default="tile:tile",
    )
    parser.add_argument(
        "--emits", action="append", default=[], metavar="NAME", help="its instruction; two of them: one after the other"
    )


def run(options: argparse.Namespace) -> int:
    """Write a rule file whose example holds into the folder given with --rules."""
    from pypto_rw.authoring.skeleton import skeleton  # only a new file needs it

    if len(options.rules) != 1:
        return complain("give the folder of the new file: --rules DIR")
    folder = options.rules[0]
    path = os.path.join(folder, f"{options.op.replace('.', '/')}.egg")
    if os.path.exists(path):
        return complain(f"{path} is there already")
    text = skeleton(options.op, options.operands, options.emits, Rulebook())
    if text.startswith("cannot "):
        return complain(text)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        return complain(f"cannot make {os.path.dirname(path)}: {reason(error)}")
    if (problem := write(path, text)) is not None:
        return complain(problem)
    print(path)
    return 0
