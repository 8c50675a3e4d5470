"""`pypto-rw rules lint`."""

from __future__ import annotations

import argparse

from pypto_rw.commands.files import complain
from pypto_rw.commands.rules.names import named, names_option
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.wording import counted


def options(parser: argparse.ArgumentParser) -> None:
    """The options of `rules lint`."""
    names_option(parser)
    parser.add_argument("--all", action="store_true", help="the built-in rules too, where --rules is given")


def run(options: argparse.Namespace) -> int:
    """Print what is wrong; exit 1 where something is. Without names: the files of --rules, else the built-in ones."""
    from pypto_rw.authoring.lint import lint  # runs the examples

    names = named(Rulebook(options.rules), options.names, own=not options.all)
    if isinstance(names, str):
        return complain(names)
    findings = lint(options.rules, names)
    for finding in findings:
        print(finding)
    print(f"{counted(len(names), 'file')}, {counted(len(findings), 'finding')}")
    return 1 if findings else 0
