"""`pypto-rw lower` and `pypto-rw check`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from pypto_rw import api
from pypto_rw.commands.diagnostics import Teller, diagnostics_options
from pypto_rw.commands.files import complain, name_of, over_input, read, reason, write
from pypto_rw.commands.options import compile_options, count, given_of, inspection_options
from pypto_rw.diagnostics import CompileError, Diagnostic, Severity
from pypto_rw.options import TARGETS
from pypto_rw.pipeline import STAGES

if TYPE_CHECKING:
    from pypto_rw.inspection import Inspection
    from pypto_rw.options import Given
    from pypto_rw.rewriting.rulebook import Rulebook

T = TypeVar("T")


def lower(parser: argparse.ArgumentParser) -> None:
    """The options of `lower`."""
    compile_options(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="write to OUT (a folder when there are several files)")
    parser.add_argument(
        "--stop-after",
        metavar="STAGE",
        choices=list(STAGES),
        help=f"print the module after a stage: {', '.join(STAGES)}",
    )
    parser.add_argument("--no-loc", action="store_true", help="no source places on op lines")
    inspection_options(parser)
    parser.add_argument("-j", "--jobs", type=count, default=1, metavar="N", help="compile the files in N processes")
    parser.add_argument("--depfile", metavar="F", help="write to F what OUT depends on, in the syntax of Make")
    parser.add_argument("--watch", action="store_true", help="again whenever a kernel or a rule file changes")
    _common(parser)
    parser.set_defaults(action=_lower)


def check(parser: argparse.ArgumentParser) -> None:
    """The options of `check`."""
    compile_options(parser)
    _common(parser)
    parser.set_defaults(action=_check)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-Werror", action="store_true", dest="werror", help="a warning is an error")
    parser.add_argument("--keep-going", action="store_true", help="print what is good, report what is not")
    diagnostics_options(parser)


def _lower(options: argparse.Namespace) -> int:
    if options.depfile is not None and (options.output in (None, "-") or options.files in ([], ["-"])):
        return complain("--depfile needs a FILE and -o OUT")
    if options.depfile is not None and len(options.files) > 1:
        return complain("--depfile takes one FILE")
    if options.watch:
        from pypto_rw.commands.watch import watch

        return watch(options)
    return _lower_once(options)


def _lower_once(options: argparse.Namespace) -> int:
    teller = Teller(options)
    files = options.files or ["-"]
    if (clash := _clash(files, options)) is not None:
        return complain(clash)
    outputs: list[tuple[str, str, Rulebook | None]] = []
    worst = 0
    for file, (code, made) in zip(files, _compilations(files, options, teller), strict=True):
        worst = max(worst, code)
        if made is not None:
            outputs.append((file, *made))
    if worst == 0 or (options.keep_going and worst < 3):
        worst = max(worst, _written(outputs, len(files) > 1, options))
    return teller.finish(worst)


def _compilations(
    files: Sequence[str], options: argparse.Namespace, teller: Teller
) -> Iterator[tuple[int, tuple[str, Rulebook | None] | None]]:
    """Exit code and text of each file, in order."""
    if options.jobs < 2 or len(files) < 2 or "-" in files or options.stats:
        yield from (_compile(file, options, teller) for file in files)
        return
    from pypto_rw.commands.workers import in_order  # one file needs no other process

    for code, text in in_order(_text_of, files, options, teller):
        yield code, None if text is None else (text, None)


def _text_of(file: str, options: argparse.Namespace, teller: Teller) -> tuple[int, str | None]:
    code, made = _compile(file, options, teller)
    return code, made[0] if made is not None else None


def _clash(files: Sequence[str], options: argparse.Namespace) -> str | None:
    """A file that would be written over a kernel or over another text, if there is such."""
    if options.output in (None, "-"):
        return None
    outputs = {file: _output_name(file, options) for file in files}
    for path in (options.output, options.depfile, *(os.path.join(options.output, o) for o in outputs.values())):
        if (message := over_input(path, files)) is not None:
            return message
    if len(files) < 2:
        return None
    first: dict[str, str] = {}
    for file, output in outputs.items():
        other = first.setdefault(output, file)
        if other != file:
            return f"{other} and {file} would both become {output} in {options.output}"
    return None


def _output_name(file: str, options: argparse.Namespace) -> str:
    stem = "stdin" if file == "-" else os.path.splitext(os.path.basename(file))[0]
    return f"{stem}.{'pyir' if options.stop_after else 'pto'}"


def _written(outputs: Sequence[tuple[str, str, Rulebook | None]], several: bool, options: argparse.Namespace) -> int:
    """Print or write the texts; an exit code."""
    if options.output is None or options.output == "-":
        for _, text, _ in outputs:
            sys.stdout.write(text)
        return 0
    if several:
        try:
            os.makedirs(options.output, exist_ok=True)
        except OSError as error:
            return complain(f"cannot make {options.output}: {reason(error)}")
    for file, text, rulebook in outputs:
        target = options.output
        if several or os.path.isdir(target):
            target = os.path.join(target, _output_name(file, options))
        if (problem := write(target, text)) is not None:
            return complain(problem)
        if options.depfile is not None and rulebook is not None:
            from pypto_rw.commands.depfile import depfile

            chip = TARGETS[options.target]
            listed = depfile(target, file, text, rulebook, target=chip, ptoas=options.ptoas)
            if (problem := write(options.depfile, listed)) is not None:
                return complain(problem)
    return 0


def _check(options: argparse.Namespace) -> int:
    teller = Teller(options)

    def attempt(source: str, functions: Sequence[str] | None, filename: str) -> tuple[None, Sequence[Diagnostic]]:
        return None, api.check(source, **_text_given(given_of(filename, functions, options), options))

    worst = 0
    for file in options.files or ["-"]:
        worst = max(worst, guarded(file, options, teller, attempt)[0])
    return teller.finish(worst)


def _compile(file: str, options: argparse.Namespace, teller: Teller) -> tuple[int, tuple[str, Rulebook | None] | None]:
    """The exit code of one file, and its text with the rules that made it."""
    inspection: Inspection | None = None
    if options.stats or options.disable_rule or options.only_rules:
        from pypto_rw.commands.stats import inspection_of  # few runs are looked at

        inspection = inspection_of(options)

    def attempt(
        source: str, functions: Sequence[str] | None, filename: str
    ) -> tuple[tuple[str, Rulebook | None], Sequence[Diagnostic]]:
        given = given_of(filename, functions, options)
        given["inspection"] = inspection
        if options.stop_after:
            staged = api.stop_after(source, stage=options.stop_after, **given)
            return (staged.pyir, staged.rulebook), staged.diagnostics
        given["loc"] = not options.no_loc
        lowered = api.lower(source, **_text_given(given, options))
        return (lowered.mlir, lowered.rulebook), lowered.diagnostics

    try:
        return guarded(file, options, teller, attempt)
    finally:
        if inspection is not None and options.stats:
            from pypto_rw.commands.stats import statistics

            print(statistics(inspection), file=sys.stderr)


def _text_given(given: Given, options: argparse.Namespace) -> Given:
    """`given` and how the text is printed and checked."""
    return {**given, "assembler_checks": not options.no_assembler_checks, "emit_tile_addr": options.tile_addr}


def guarded(
    file: str,
    options: argparse.Namespace,
    teller: Teller,
    attempt: Callable[[str, Sequence[str] | None, str], tuple[T, Sequence[Diagnostic]]],
) -> tuple[int, T | None]:
    """The exit code of one file and what `attempt` makes of its source; what there is to tell is told."""
    try:
        source = read(file)
    except (OSError, UnicodeDecodeError) as error:
        return teller.complain(f"cannot read {file}: {reason(error)}"), None
    filename = name_of(file)

    def tried(functions: Sequence[str] | None) -> tuple[T | None, Sequence[Diagnostic]]:
        try:
            made, found = attempt(source, functions, filename)
        except CompileError as error:
            if not options.keep_going or any(d.filename != filename for d in error.diagnostics):
                raise
            return None, error.diagnostics
        return made, api.as_errors(found) if options.werror else found

    found: Sequence[Diagnostic]
    try:
        if options.keep_going:
            from pypto_rw.partial import good_part

            made, found = good_part(tried, source, options.function, filename=filename)
        else:
            made, found = tried(options.function)
    except CompileError as error:
        teller.tell(error.diagnostics, error.source)
        return 1, None
    except ValueError as error:
        return teller.complain(str(error)), None
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except BaseException as error:
        from pypto_rw.commands.fault import internal

        return internal(error, source, file, options, teller), None
    teller.tell(found, source)
    return int(any(d.severity is Severity.error for d in found)), made
