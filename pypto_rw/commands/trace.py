"""`pypto-rw trace`: the module after each stage, and what became of each line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pypto_rw.commands.compile import guarded
from pypto_rw.commands.diagnostics import Teller, diagnostics_options
from pypto_rw.commands.files import complain, over_input, write
from pypto_rw.commands.options import given_of, rules_option, target_options
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.explain import Explanation, explain
from pypto_rw.trace import as_html, as_text, told


def trace(parser: argparse.ArgumentParser) -> None:
    """The options of `trace`."""
    parser.add_argument("file", metavar="FILE", help="a kernel; - is stdin")
    parser.add_argument("-o", "--output", metavar="OUT", help="write a page to OUT instead of text to stdout")
    parser.add_argument("--text", action="store_true", help="text, also with -o")
    target_options(parser)
    parser.add_argument("--reference", action="store_true", help="as the reference build prints it")
    rules_option(parser)
    parser.add_argument("--function", action="append", metavar="NAME", help="only this function (repeatable)")
    diagnostics_options(parser)
    parser.set_defaults(action=_trace, keep_going=False, werror=False)


def _trace(options: argparse.Namespace) -> int:
    def attempt(
        source: str, functions: Sequence[str] | None, filename: str
    ) -> tuple[Explanation, Sequence[Diagnostic]]:
        explained = explain(source, **given_of(filename, functions, options))
        return explained, explained.diagnostics

    if (message := over_input(options.output, [options.file])) is not None:
        return complain(message)
    teller = Teller(options)
    code, explained = guarded(options.file, options, teller, attempt)
    if explained is None:
        return teller.finish(code)
    story = told(explained)
    shown = as_text(story) if options.text or options.output is None else as_html(story)
    if options.output is None or options.output == "-":
        sys.stdout.write(shown)
    elif (problem := write(options.output, shown)) is not None:
        return complain(problem)
    return teller.finish(code)
