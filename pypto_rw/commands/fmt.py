"""`pypto-rw fmt`."""

from __future__ import annotations

import argparse
import sys

from pypto_rw.commands.diagnostics import Teller, diagnostics_options
from pypto_rw.commands.files import complain, name_of, read, reason, write
from pypto_rw.diagnostics import CompileError
from pypto_rw.syntax import parse
from pypto_rw.syntax import write as written


def fmt(parser: argparse.ArgumentParser) -> None:
    """The options of `fmt`."""
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("-w", "--write", action="store_true", help="rewrite the files in place")
    parser.add_argument("--check", action="store_true", help="only tell which files would change (exit 1)")
    diagnostics_options(parser)
    parser.set_defaults(action=_fmt)


def _fmt(options: argparse.Namespace) -> int:
    teller = Teller(options)
    return teller.finish(_formatted(options, teller))


def _formatted(options: argparse.Namespace, teller: Teller) -> int:
    worst = 0
    for file in options.files or ["-"]:
        try:
            source = read(file)
            text = written(parse(source, filename=name_of(file)))
        except (OSError, UnicodeDecodeError) as error:
            return complain(f"cannot read {file}: {reason(error)}")
        except CompileError as error:
            teller.tell(error.diagnostics, error.source)
            worst = max(worst, 1)
            continue
        if options.check:
            if text != source:
                print(file)
                worst = max(worst, 1)
        elif options.write and file != "-":
            if (lost := _remarks(source) - _remarks(text)) > 0:
                worst = max(worst, complain(f"{file}: not rewritten, {_counted(lost)} would be lost"))
            elif text != source and (problem := write(file, text)) is not None:
                return complain(problem)
        else:
            sys.stdout.write(text)
            if (lost := _remarks(source) - _remarks(text)) > 0:
                print(f"pypto-rw: {file}: warning: {_counted(lost)} left out", file=sys.stderr)
    return worst


def _counted(lost: int) -> str:
    from pypto_rw.wording import counted

    return counted(lost, "comment or docstring", "comments or docstrings")


def _remarks(text: str) -> int:
    """How many comments and docstrings a text has."""
    import io
    import tokenize

    count, before = 0, tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        starts = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        count += token.type == tokenize.COMMENT or (token.type == tokenize.STRING and starts)
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type
    return count
