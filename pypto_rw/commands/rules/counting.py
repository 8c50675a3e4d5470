"""`pypto-rw rules coverage`."""

from __future__ import annotations

import argparse
import json
import os
import sys

from pypto_rw.commands.files import complain, read, reason
from pypto_rw.commands.options import target_options
from pypto_rw.commands.rules.names import named
from pypto_rw.rewriting.rulebook import Rulebook


def options(parser: argparse.ArgumentParser) -> None:
    """The options of `rules coverage`."""
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="kernels, or folders of them; none: the examples")
    parser.add_argument("--of", action="append", default=[], metavar="NAME", help="only rules of these ops or files")
    parser.add_argument("--fail-under", type=float, metavar="PERCENT", help="exit 1 where fewer of the rules fire")
    parser.add_argument("--json", action="store_true", help="counts as JSON")
    parser.add_argument("--all", action="store_true", help="the built-in rules too, where --rules is given")
    target_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print how often each rule fires, those that never do last."""
    from pypto_rw.authoring.coverage import counted, of_examples, of_kernels  # an engine and a parser

    book = Rulebook(options.rules)
    names = named(book, options.of, own=not options.all)
    if isinstance(names, str):
        return complain(names)
    if options.kernels:
        sources = []
        for path in _kernels(options.kernels):
            try:
                sources.append((path, read(path)))
            except (OSError, UnicodeDecodeError) as error:
                return complain(f"cannot read {path}: {reason(error)}")
        if not sources:
            return complain(f"no kernel (.pyir) in {', '.join(options.kernels)}")
        matches, refused = of_kernels(sources, options.rules, options.target, options.planner)
        for path, why in refused:
            print(f"{path}: refused: {why}", file=sys.stderr)
    else:
        matches = of_examples(options.rules, names)
    found = counted(book, names, matches)
    percent = 100.0 if not found else 100 * sum(n > 0 for _, n in found) / len(found)
    if options.json:
        rows = [{"rule": rule.rpartition(" ")[2], "place": rule, "matches": n} for rule, n in found]
        print(json.dumps({"schema": 1, "percent": round(percent, 2), "rules": rows}, indent=1))
    else:
        width = max((len(str(n)) for _, n in found), default=1)
        for rule, n in sorted(found, key=lambda row: (row[1] == 0, row[0])):
            print(f"{n:>{width}}  {rule}")
        print(f"{percent:.1f} % of {len(found)} rules fire")
    if options.fail_under is not None and percent < options.fail_under:
        print(f"pypto-rw: {percent:.1f} % is less than {options.fail_under:g} %", file=sys.stderr)
        return 1
    return 0


def _kernels(paths: list[str]) -> list[str]:
    """The kernels named, and those below the folders named, in order."""
    found = []
    for path in paths:
        if os.path.isdir(path):
            inside = (os.path.join(d, f) for d, _, files in os.walk(path) for f in files if f.endswith(".pyir"))
            found += sorted(inside)
        else:
            found.append(path)
    return found
