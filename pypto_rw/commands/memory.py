"""`pypto-rw memory`: the map of a kernel's memory, planned first where it is not yet."""

from __future__ import annotations

import argparse
import os
import sys

from pypto_rw import api
from pypto_rw.commands.diagnostics import Teller, diagnostics_options
from pypto_rw.commands.files import complain, name_of, over_input, read, reason, write
from pypto_rw.commands.options import chip_options, rules_option
from pypto_rw.diagnostics import CompileError
from pypto_rw.memory.chart import charts
from pypto_rw.memory.picture import as_html, as_text
from pypto_rw.options import TARGETS
from pypto_rw.rewriting.rulebook import Rulebook


def memory(parser: argparse.ArgumentParser) -> None:
    """The options of `memory`."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="kernels; - or none: stdin")
    chip_options(parser)
    rules_option(parser)
    parser.add_argument("--html", metavar="OUT", help="write the map as a page to OUT instead")
    diagnostics_options(parser)
    parser.set_defaults(action=_memory)


def _memory(options: argparse.Namespace) -> int:
    if (message := over_input(options.html, options.files)) is not None:
        return complain(message)
    teller = Teller(options)
    return teller.finish(_map(options, teller))


def _map(options: argparse.Namespace, teller: Teller) -> int:
    texts = []
    for file in options.files or ["-"]:
        try:
            texts.append(_shown(file, read(file), options))
        except (OSError, UnicodeDecodeError) as error:
            return complain(f"cannot read {file}: {reason(error)}")
        except CompileError as error:
            teller.tell(error.diagnostics, error.source)
            return 1
    if options.html is None:
        sys.stdout.write("\n".join(texts))
        return 0
    if len(texts) > 1:
        return complain("--html takes one kernel")
    problem = write(options.html, texts[0])
    return 0 if problem is None else complain(problem)


def _shown(file: str, source: str, options: argparse.Namespace) -> str:
    staged = api.stop_after(
        source,
        stage="plan",
        filename=name_of(file),
        target=options.target,
        planner=options.planner,
        rules=options.rules,
    )
    target = TARGETS[options.target]
    found = charts(staged.module, planner=options.planner, target=target, rulebook=Rulebook(options.rules))
    if options.html is None:
        return as_text(found)
    return as_html(found, f"{'stdin' if file == '-' else os.path.basename(file)}, {target}, planner {options.planner}")
