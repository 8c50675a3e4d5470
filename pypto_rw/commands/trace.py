"""`pypto-rw trace`: the module after each stage, and what became of each line."""

from __future__ import annotations

import argparse
import sys

from pypto_rw.commands.compile import guarded
from pypto_rw.commands.files import complain, write
from pypto_rw.commands.options import target_options
from pypto_rw.diagnostics import Severity, render


def trace(parser: argparse.ArgumentParser) -> None:
    """The options of `trace`."""
    parser.add_argument("file", metavar="FILE", help="a kernel; - is stdin")
    parser.add_argument("-o", "--output", metavar="OUT", help="write a page to OUT instead of text to stdout")
    parser.add_argument("--text", action="store_true", help="text, also with -o")
    target_options(parser)
    parser.add_argument("--reference", action="store_true", help="as the reference build prints it")
    parser.add_argument("--rules", action="append", default=[], metavar="DIR", help="a rules folder to search first")
    parser.add_argument("--function", action="append", metavar="NAME", help="only this function (repeatable)")
    parser.set_defaults(action=_trace)


def _trace(options: argparse.Namespace) -> int:
    from pypto_rw.explain import explain
    from pypto_rw.trace import as_html, as_text, told

    found = guarded(options.file, options, explain, ptoas=options.ptoas, reference=options.reference)
    if isinstance(found, int):
        return found
    source, explained = found
    if explained.diagnostics:
        print(render(explained.diagnostics, source), file=sys.stderr)
    story = told(explained)
    shown = as_text(story) if options.text or options.output is None else as_html(story)
    if options.output is None or options.output == "-":
        sys.stdout.write(shown)
    elif (problem := write(options.output, shown)) is not None:
        return complain(problem)
    return int(any(d.severity is Severity.error for d in explained.diagnostics))
