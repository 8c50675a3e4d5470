"""`pypto-rw fmt`."""

from __future__ import annotations

import argparse
import sys

from pypto_rw.commands.files import complain, read, reason, write
from pypto_rw.diagnostics import CompileError
from pypto_rw.syntax import parse
from pypto_rw.syntax import write as written


def fmt(parser: argparse.ArgumentParser) -> None:
    """The options of `fmt`."""
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("-w", "--write", action="store_true", help="rewrite the files in place")
    parser.add_argument("--check", action="store_true", help="only tell which files would change (exit 1)")
    parser.set_defaults(action=_fmt)


def _fmt(options: argparse.Namespace) -> int:
    worst = 0
    for file in options.files or ["-"]:
        try:
            source = read(file)
            text = written(parse(source, filename="<stdin>" if file == "-" else file))
        except (OSError, UnicodeDecodeError) as error:
            return complain(f"cannot read {file}: {reason(error)}")
        except CompileError as error:
            print(error, file=sys.stderr)
            worst = max(worst, 1)
            continue
        if options.check:
            if text != source:
                print(file)
                worst = max(worst, 1)
        elif options.write and file != "-":
            if text != source and (problem := write(file, text)) is not None:
                return complain(problem)
        else:
            sys.stdout.write(text)
    return worst
