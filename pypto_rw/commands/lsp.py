"""`pypto-rw lsp`: the language server, on stdin and stdout."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from pypto_rw.commands.files import complain
from pypto_rw.commands.options import rules_option, target_options


def lsp(parser: argparse.ArgumentParser) -> None:
    """The options of `lsp`."""
    target_options(parser)
    rules_option(parser)
    parser.add_argument("--stdio", action="store_true", help="what editors pass; there is no other way")
    parser.set_defaults(action=_lsp)


def _lsp(options: argparse.Namespace) -> int:
    if find_spec("pygls") is None:
        return complain("the language server needs an extra: python3 -m pip install 'pypto-rw[lsp]'")
    from pypto_rw.options import Options
    from pypto_rw.server.session import Session

    chosen = Options.of(target=options.target, planner=options.planner, ptoas=options.ptoas, rules=options.rules)
    Session(chosen).run()
    return 0
