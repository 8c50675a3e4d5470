"""`pypto-rw rules list` and `pypto-rw rules test`."""

from __future__ import annotations

import argparse
import sys

from pypto_rw.commands.files import complain
from pypto_rw.diagnostics import CompileError
from pypto_rw.rulebook import Rulebook


def rules(parser: argparse.ArgumentParser) -> None:
    """The options of `rules`."""
    kinds = parser.add_subparsers(dest="what", required=True, parser_class=type(parser))
    listing = kinds.add_parser("list", help="op, file, targets, meaning")
    testing = kinds.add_parser("test", help="run the examples of rule files")
    for sub, action in ((listing, _list), (testing, _test)):
        sub.add_argument("names", nargs="*", metavar="NAME", help="ops, rule files or folders of them; none: all")
        sub.add_argument("--rules", action="append", default=[], metavar="DIR", help="a rules folder to search first")
        sub.set_defaults(action=action)


def _list(options: argparse.Namespace) -> int:
    try:
        rulebook = Rulebook(tuple(options.rules))
        rows = [
            (s.op, f"{s.op.replace('.', '/')}.egg", ",".join(rulebook.targets(s)), rulebook.meaning(s))
            for s in rulebook.ops()
            if not options.names or any(s.op.startswith(n) for n in options.names)
        ]
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    if options.names and not rows:
        near = ", ".join(rulebook.nearest(options.names[0]))
        return complain(f"no op {options.names[0]}" + (f"; the nearest are {near}" if near else ""))
    widths = [max((len(r[k]) for r in rows), default=0) for k in range(3)]
    for row in rows:
        print("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]).rstrip())
    return 0


def _test(options: argparse.Namespace) -> int:
    from pypto_rw.examples import Runner, examples

    try:
        rulebook = Rulebook(tuple(options.rules))
        names = rulebook.names()
        if options.names:
            wanted = [n.removesuffix(".egg").replace(".", "/") for n in options.names]
            missing = [w for w in wanted if not any(n == w or n.startswith(f"{w}/") for n in names)]
            if missing:
                return complain(f"no rule file {missing[0]}")
            names = [n for n in names if any(n == w or n.startswith(f"{w}/") for w in wanted)]
        runner = Runner(rulebook)
        count = failed = 0
        for name in names:
            file = rulebook.file(name)
            assert file is not None
            for example in examples(file):
                for outcome in runner.run(example):
                    count += 1
                    if outcome.message:
                        failed += 1
                        print(
                            f"{file.path}:{example.line}: {outcome.target}: {outcome.message}",
                            file=sys.stderr,
                        )
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} examples, {failed} failed")
    return 1 if failed else 0
