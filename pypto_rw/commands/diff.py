"""`pypto-rw diff`: whether two texts say the same. Exit codes as of diff: 0 equal, 1 different, 2 trouble."""

from __future__ import annotations

import argparse
import sys

from pypto_rw.commands.files import complain, read, reason
from pypto_rw.diagnostics import CompileError
from pypto_rw.differences import difference, is_pto, lines_of


def diff(parser: argparse.ArgumentParser) -> None:
    """The options of `diff`."""
    parser.add_argument("files", nargs=2, metavar="FILE", help="two .pto or two .pyir files; - is stdin")
    parser.add_argument("--exact", action="store_true", help="byte for byte")
    parser.add_argument("-q", "--quiet", action="store_true", help="only the exit code")
    parser.set_defaults(action=_diff)


def _diff(options: argparse.Namespace) -> int:
    texts = []
    for file in options.files:
        try:
            texts.append(read(file))
        except (OSError, UnicodeDecodeError) as error:
            return complain(f"cannot read {file}: {reason(error)}")
    if not options.exact and is_pto(texts[0]) != is_pto(texts[1]):
        return complain("one of the files is .pto and the other .pyir; compare two of a kind, or give --exact")
    try:
        a, b = (lines_of(t, f, exact=options.exact) for t, f in zip(texts, options.files, strict=True))
    except CompileError as error:
        print(error, file=sys.stderr)
        return 2
    found = difference(a, b)
    if found and not options.quiet:
        sys.stdout.write(f"--- {options.files[0]}\n+++ {options.files[1]}\n{found}")
    return 1 if found else 0
