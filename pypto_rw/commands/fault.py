"""A fault of the compiler, told as one, with what reproduces it."""

from __future__ import annotations

import argparse

from pypto_rw.commands.diagnostics import Teller
from pypto_rw.diagnostics import Diagnostic, InternalError


def internal(error: BaseException, source: str, file: str, options: argparse.Namespace, teller: Teller) -> int:
    """Say that the compiler failed, and leave the input and the traceback in a folder; the exit code."""
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
    teller.tell([diagnostic], "")
    return 3
