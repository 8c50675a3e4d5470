"""`pypto-rw codes`: what a diagnostic code means, with an example."""

from __future__ import annotations

import argparse

from pypto_rw.codes import codes as known
from pypto_rw.codes import nearest, page
from pypto_rw.commands.files import complain


def codes(parser: argparse.ArgumentParser) -> None:
    """The options of `codes`."""
    parser.add_argument("codes", nargs="*", metavar="CODE", help="codes to explain; none: list all")
    parser.set_defaults(action=_codes)


def _codes(options: argparse.Namespace) -> int:
    if not options.codes:
        pages = [found for code in known() if (found := page(code)) is not None]
        width = max(len(p.code) for p in pages)
        for p in pages:
            print(f"{p.code:<{width}}  {p.line}")
        return 0
    shown = []
    for code in options.codes:
        found = page(code)
        if found is None:
            near = nearest(code)
            return complain(f"no page for the code {code}" + (f"; similar: {', '.join(near)}" if near else ""))
        shown.append(found.text)
    print("\n".join(shown), end="")
    return 0
