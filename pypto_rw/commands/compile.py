"""`pypto-rw lower` and `pypto-rw check`."""

from __future__ import annotations

import argparse
import os
import sys

from pypto_rw import api
from pypto_rw.commands.files import complain, read, reason, write
from pypto_rw.commands.options import compile_options
from pypto_rw.diagnostics import CompileError, Diagnostic, InternalError, Severity, render


def lower(parser: argparse.ArgumentParser) -> None:
    """The options of `lower`."""
    compile_options(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="write to OUT (a folder when there are several files)")
    parser.add_argument("--no-loc", action="store_true", help="no source places on op lines")
    parser.set_defaults(action=_lower)


def check(parser: argparse.ArgumentParser) -> None:
    """The options of `check`."""
    compile_options(parser)
    parser.set_defaults(action=_check, no_loc=True)


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
    for file, text in outputs:
        target = options.output
        if len(files) > 1 or os.path.isdir(target):
            stem = "stdin" if file == "-" else os.path.splitext(os.path.basename(file))[0]
            target = os.path.join(target, f"{stem}.pto")
        if (problem := write(target, text)) is not None:
            return complain(problem)
    return 0


def _check(options: argparse.Namespace) -> int:
    return max(_compile(file, options)[0] for file in options.files or ["-"])


def _compile(file: str, options: argparse.Namespace) -> tuple[int, str | None]:
    try:
        source = read(file)
    except (OSError, UnicodeDecodeError) as error:
        return complain(f"cannot read {file}: {reason(error)}"), None
    try:
        lowered = api.lower(
            source,
            filename="<stdin>" if file == "-" else file,
            target=options.target,
            planner=options.planner,
            ptoas=options.ptoas,
            reference=options.reference,
            loc=not options.no_loc,
            rules=options.rules,
            functions=options.function,
            emit_tile_addr=options.tile_addr,
        )
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1, None
    except ValueError as error:
        return complain(str(error)), None
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except BaseException as error:
        return internal(error, source, file, options), None
    if lowered.diagnostics:
        print(render(lowered.diagnostics, source), file=sys.stderr)
    return int(any(d.severity is Severity.error for d in lowered.diagnostics)), lowered.mlir


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
