"""Reading inputs, writing products whole, and telling the user what went wrong with a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable


def read(file: str) -> str:
    """Text of a file, of stdin for `-`. Raises OSError and UnicodeDecodeError."""
    data = sys.stdin.buffer.read() if file == "-" else _bytes(file)
    return data.decode("utf-8")


def name_of(file: str) -> str:
    """What diagnostics call a file given on the command line."""
    return "<stdin>" if file == "-" else file


def write(path: str, text: str) -> str | None:
    """Write atomically: the file is the old one or the whole new one. A message when it cannot be.

    A link stays, and what it names is written; what is no regular file (a device, a pipe) is written to. A file name in
    the text that is not UTF-8 is written byte for byte."""
    import tempfile

    given, path = path, os.path.realpath(path)
    try:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
                out.write(text)
            return None
        handle, name = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=f".{os.path.basename(path)}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
                out.write(text)
            mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666 & ~_umask()
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        return f"cannot write {given}: {reason(error)}"
    return None


def over_input(output: str | None, files: Iterable[str]) -> str | None:
    """A message where `output` is one of the files that are read."""
    if output in (None, "-") or not os.path.exists(str(output)):
        return None
    if any(file != "-" and os.path.exists(file) and os.path.samefile(str(output), file) for file in files):
        return f"{output} is the kernel itself; name another output"
    return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def reason(error: Exception) -> str:
    """Why a file cannot be read or written, in words."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8 text"


def complain(message: str) -> int:
    """One line on stderr; the exit code for a usage or file error."""
    print(f"pypto-rw: {message}", file=sys.stderr)
    return 2


def _bytes(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read()
