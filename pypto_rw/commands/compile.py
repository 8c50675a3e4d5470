"""`pypto-rw lower` and `pypto-rw check`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pypto_rw import api
from pypto_rw.commands.files import complain, read, reason, write
from pypto_rw.commands.options import compile_options, inspection_options
from pypto_rw.diagnostics import CompileError, Diagnostic, InternalError, Severity, render
from pypto_rw.pipeline import STAGES

if TYPE_CHECKING:
    from pypto_rw.inspection import Inspection

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
    parser.add_argument("-Werror", action="store_true", dest="werror", help="a warning is an error")
    parser.set_defaults(action=_lower)


def check(parser: argparse.ArgumentParser) -> None:
    """The options of `check`."""
    compile_options(parser)
    parser.set_defaults(action=_check)


def _lower(options: argparse.Namespace) -> int:
    files = options.files or ["-"]
    outputs: list[tuple[str, str]] = []
    worst = 0
    for file in files:
        code, text = _compile(file, options)
        worst = max(worst, code)
        if text is not None:
            outputs.append((file, text))
    if worst:
        return worst
    if options.output is None or options.output == "-":
        for _, text in outputs:
            sys.stdout.write(text)
        return 0
    if len(files) > 1:
        try:
            os.makedirs(options.output, exist_ok=True)
        except OSError as error:
            return complain(f"cannot make {options.output}: {reason(error)}")
    for file, text in outputs:
        target = options.output
        if len(files) > 1 or os.path.isdir(target):
            stem = "stdin" if file == "-" else os.path.splitext(os.path.basename(file))[0]
            target = os.path.join(target, f"{stem}.{'pyir' if options.stop_after else 'pto'}")
        if (problem := write(target, text)) is not None:
            return complain(problem)
    return 0


def _check(options: argparse.Namespace) -> int:
    worst = 0
    for file in options.files or ["-"]:
        found = _guarded(file, options, api.check, **_text_options(options))
        if isinstance(found, int):
            worst = max(worst, found)
            continue
        source, diagnostics = found
        if diagnostics:
            print(render(diagnostics, source), file=sys.stderr)
        worst = max(worst, int(any(d.severity is Severity.error for d in diagnostics)))
    return worst


def _compile(file: str, options: argparse.Namespace) -> tuple[int, str | None]:
    inspection = None
    if options.stats or options.disable_rule or options.only_rules:
        from pypto_rw.commands.stats import inspection_of  # few runs are looked at

        inspection = inspection_of(options)
    try:
        return _compiled(file, options, inspection)
    finally:
        if inspection is not None and options.stats:
            from pypto_rw.commands.stats import statistics

            print(statistics(inspection), file=sys.stderr)


def _compiled(file: str, options: argparse.Namespace, inspection: Inspection | None) -> tuple[int, str | None]:
    if options.stop_after:
        more = {"stage": options.stop_after, "reference": options.reference, "inspection": inspection}
        staged = _guarded(file, options, api.stop_after, **more)
        if isinstance(staged, int):
            return staged, None
        if staged[1].diagnostics:
            print(render(staged[1].diagnostics, staged[0]), file=sys.stderr)
        return 0, staged[1].pyir
    more = {"loc": not options.no_loc, "inspection": inspection, **_text_options(options)}
    found = _guarded(file, options, api.lower, **more)
    if isinstance(found, int):
        return found, None
    source, lowered = found
    diagnostics = api.as_errors(lowered.diagnostics) if options.werror else lowered.diagnostics
    if diagnostics:
        print(render(diagnostics, source), file=sys.stderr)
    return int(any(d.severity is Severity.error for d in diagnostics)), lowered.mlir


def _text_options(options: argparse.Namespace) -> dict[str, Any]:
    """What says how the text is printed and checked."""
    return {
        "ptoas": options.ptoas,
        "reference": options.reference,
        "assembler_checks": not options.no_assembler_checks,
        "emit_tile_addr": options.tile_addr,
    }


def _guarded(file: str, options: argparse.Namespace, action: Callable[..., T], **more: Any) -> int | tuple[str, T]:
    """The source of `file` and what `action` makes of it; an exit code when something else was to be said."""
    try:
        source = read(file)
    except (OSError, UnicodeDecodeError) as error:
        return complain(f"cannot read {file}: {reason(error)}")
    try:
        return source, action(
            source,
            filename="<stdin>" if file == "-" else file,
            target=options.target,
            planner=options.planner,
            rules=options.rules,
            functions=options.function,
            **more,
        )
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    except ValueError as error:
        return complain(str(error))
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except BaseException as error:
        return internal(error, source, file, options)


def internal(error: BaseException, source: str, file: str, options: argparse.Namespace) -> int:
    """A fault of the compiler: say so, and leave what reproduces it."""
    import tempfile
    import traceback
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="pypto-rw-fault-"))
    kernel = folder / "kernel.pyir"
    kernel.write_text(source, errors="surrogateescape")
    (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)))
    command = f"pypto-rw lower {kernel} --target {options.target} --planner {options.planner} --ptoas {options.ptoas}"
    diagnostic = Diagnostic(
        "internal-error",
        f"the compiler failed: {error if isinstance(error, InternalError) else type(error).__name__}",
        filename=file,
        help=f"this is no fault of the kernel; {folder} has the input and the traceback. To see it again: {command}",
    )
    print(render([diagnostic]), file=sys.stderr)
    return 3
