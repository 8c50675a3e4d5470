"""Options that several commands take."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypto_rw.options import ASSEMBLERS, PLANNERS, TARGETS

if TYPE_CHECKING:
    from pypto_rw.options import Given


def compile_options(parser: argparse.ArgumentParser) -> None:
    """What is compiled, for what, with which rules."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="kernels; - or none: stdin")
    target_options(parser)
    parser.add_argument("--reference", action="store_true", help="print exactly what the reference build prints")
    parser.add_argument(
        "--no-assembler-checks", action="store_true", help="say nothing about what the assembler would refuse"
    )
    rules_option(parser)
    parser.add_argument(
        "--tile-addr",
        action=argparse.BooleanOptionalAction,
        help="whether pto.alloc_tile carries an address (default: not with --planner ptoas)",
    )
    parser.add_argument("--function", action="append", metavar="NAME", help="only this function (repeatable)")


def given_of(filename: str, functions: Sequence[str] | None, options: argparse.Namespace) -> Given:
    """What is compiled for what, with which rules, as the keyword arguments of `api.lower` and the others."""
    return {
        "filename": filename,
        "target": options.target,
        "planner": options.planner,
        "ptoas": options.ptoas,
        "reference": options.reference,
        "rules": options.rules,
        "functions": functions,
    }


def target_options(parser: argparse.ArgumentParser) -> None:
    """The chip, the planner and the assembler the text is for."""
    chip_options(parser)
    parser.add_argument("--ptoas", default="0.57", choices=ASSEMBLERS, help="assembler the text is for")


def chip_options(parser: argparse.ArgumentParser) -> None:
    """The chip and the planner."""
    parser.add_argument("--target", default="a2a3", choices=list(TARGETS), help="chip (default a2a3)")
    parser.add_argument("--planner", default="pypto", choices=PLANNERS, help="memory planner (default pypto)")


def inspection_options(parser: argparse.ArgumentParser) -> None:
    """Which rules take part, and what they did."""
    parser.add_argument("--disable-rule", action="append", default=[], metavar="NAME", help="leave this rule out")
    parser.add_argument(
        "--only-rules", action="append", default=[], metavar="GLOB", help="of the rules of op files only these"
    )
    parser.add_argument("--stats", action="store_true", help="on stderr: matches and time of each rule")


def rules_option(parser: argparse.ArgumentParser) -> None:
    """Rules folders of the user's."""
    parser.add_argument(
        "--rules", action="append", default=[], type=_folder, metavar="DIR", help="a rules folder to search first"
    )


def _folder(path: str) -> str:
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"there is no folder {path}")
    return path


def count(text: str) -> int:
    """A number of processes."""
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes: 1 or more")
    return int(text)
