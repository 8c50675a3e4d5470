"""`pypto-rw verify`."""

from __future__ import annotations

import argparse

from pypto_rw import api
from pypto_rw.commands.diagnostics import Teller, diagnostics_options
from pypto_rw.commands.files import complain, name_of, read, reason
from pypto_rw.commands.options import target_options
from pypto_rw.diagnostics import Severity
from pypto_rw.options import TARGETS


def verify(parser: argparse.ArgumentParser) -> None:
    """The options of `verify`."""
    parser.add_argument("files", nargs="*", metavar="FILE", help=".pto files; - or none: stdin")
    target_options(parser)
    parser.set_defaults(target=None)  # the module says
    parser.add_argument("-Werror", action="store_true", dest="werror", help="a warning is an error")
    diagnostics_options(parser)
    parser.set_defaults(action=_verify)


def _verify(options: argparse.Namespace) -> int:
    teller = Teller(options)
    worst = 0
    for file in options.files or ["-"]:
        try:
            text = read(file)
        except (OSError, UnicodeDecodeError) as error:
            worst = max(worst, complain(f"cannot read {file}: {reason(error)}"))
            continue
        found = api.verify(
            text,
            target=options.target or _target(text),
            planner=options.planner,
            ptoas=options.ptoas,
            filename=name_of(file),
        )
        if options.werror:
            found = list(api.as_errors(found))
        teller.tell(found, text)
        worst = max(worst, int(any(d.severity is Severity.error for d in found)))
    return teller.finish(worst)


def _target(text: str) -> str:
    """The chip that a module names."""
    import re

    found = re.search(r'pto\.target_arch = "(\w+)"', text)
    return found[1] if found and found[1] in TARGETS else "a2a3"
