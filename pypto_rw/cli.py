"""The command line: finds the command, parses its options, runs it.

stdout carries the product, stderr everything else. Exit codes: 0 ok, 1 input refused, 2 usage or file, 3 internal
error with a reproducer, 130 interrupted. Source: design §6.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from pypto_rw.commands import COMMANDS
from pypto_rw.resources import version


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    if sys.stdout is None:  # it was closed
        sys.stdout = _Closed()
    if isinstance(sys.stdout, io.TextIOWrapper):  # file names that are not UTF-8 are told byte for byte
        sys.stdout.reconfigure(errors="surrogateescape")
    try:
        code = _run(list(arguments))
        if not sys.stdout.closed:  # the language server closes it
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _nowhere()
        return 0
    except OSError as error:  # files of a command are its own business: this is the product
        _nowhere()
        print(f"pypto-rw: cannot write to stdout: {error.strerror or error}", file=sys.stderr)
        return 2


def _nowhere() -> None:
    """Nothing more can be told: not what is buffered either, when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the end


class _Closed(io.StringIO):
    """A stdout that takes nothing."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed")


def _run(arguments: list[str]) -> int:
    if not arguments or (arguments[0] not in COMMANDS and arguments[0] not in ("-h", "--help", "--version")):
        arguments.insert(0, "lower")  # `pypto-rw kernel.pyir` and `pypto-rw < kernel.pyir`
    try:
        if arguments[0] in COMMANDS:  # only the options of this command are built
            parser: argparse.ArgumentParser = _Parser(prog=f"pypto-rw {arguments[0]}")
            _add(arguments.pop(0), parser)
        else:
            parser = _overview()
        options = parser.parse_args(arguments)
        options.given = arguments
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    action: Callable[[argparse.Namespace], int] = options.action
    return action(options)


class _Parser(argparse.ArgumentParser):
    """argparse with our usage errors; it asks for the terminal's width only to print help."""

    def __init__(self, **options: object) -> None:
        super().__init__(formatter_class=_formatter, allow_abbrev=False, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"pypto-rw: {message}", file=sys.stderr)
        raise SystemExit(2)


def _formatter(prog: str) -> argparse.HelpFormatter:
    try:
        width = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size().columns
    except (OSError, ValueError):
        width = 80
    return argparse.HelpFormatter(prog, width=width - 2)


class _ShowVersion(argparse.Action):
    """`importlib.metadata` takes a tenth of a cold start, so only this asks it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"pypto-rw {version()}")
        parser.exit()


def _overview() -> argparse.ArgumentParser:
    """The parser of `pypto-rw --help` and `--version`."""
    parser = _Parser(prog="pypto-rw", description="Lower textual PyPTO IR (.pyir) to PTO-ISA MLIR (.pto).")
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    for name, (_, line) in COMMANDS.items():
        commands.add_parser(name, help=line)
    return parser


def _add(name: str, parser: argparse.ArgumentParser) -> None:
    module, _ = COMMANDS[name]
    getattr(import_module(f"pypto_rw.commands.{module}"), name)(parser)
