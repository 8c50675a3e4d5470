"""`pypto-rw lsp`: the language server, on stdin and stdout."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from pypto_rw.commands.files import complain
from pypto_rw.commands.options import target_options
from pypto_rw.diagnostics import CompileError


def lsp(parser: argparse.ArgumentParser) -> None:
    """The options of `lsp`."""
    target_options(parser)
    parser.add_argument("--rules", action="append", default=[], metavar="DIR", help="a rules folder to search first")
    parser.add_argument("--stdio", action="store_true", help="what editors pass; there is no other way")
    parser.set_defaults(action=_lsp)


def _lsp(options: argparse.Namespace) -> int:
    if find_spec("pygls") is None:
        return complain("the language server needs an extra: python3 -m pip install 'pypto-rw[lsp]'")
    from pypto_rw.server.analysis import Options
    from pypto_rw.server.session import Session

    try:
        session = Session(Options(options.target, options.planner, options.ptoas, tuple(options.rules)))
    except CompileError as error:  # of a rules folder
        print(error, file=sys.stderr)
        return 1
    session.run()
    return 0
