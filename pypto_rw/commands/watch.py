"""`--watch`: the same command again, in a process of its own, whenever a file it reads has changed.

Files are looked at, not listened to: no library, every file system. A change counts once it has been there for two
looks, so that a file is not read while it is written. What a run prints is passed on when the run is over, so an
interrupt never leaves half a text.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from pypto_rw.commands.files import complain
from pypto_rw.resources import folder
from pypto_rw.rewriting.shelf import stamp

_INTERVAL = 0.2  # seconds between two looks
State = tuple[object, ...]


def watch(options: argparse.Namespace) -> int:
    """Run the command of `options` now and after every change, until it is interrupted."""
    if not options.files or "-" in options.files:
        return complain("--watch needs a FILE")
    command = [sys.executable, "-m", "pypto_rw", "lower", *(a for a in options.given if a != "--watch")]
    while True:
        state = _state(options)
        code = _run(command)
        if code == 2:
            return 2
        _tell(f"exit code {code}; watching, Ctrl-C ends")
        while (now := _state(options)) == state or now != _later(options):
            time.sleep(_INTERVAL)
        _tell("something changed")


def _later(options: argparse.Namespace) -> State:
    time.sleep(_INTERVAL)
    return _state(options)


def _state(options: argparse.Namespace) -> State:
    """Names, sizes and times of the kernels, the grammar, and every rule file."""
    folders = (*options.rules, folder("rules"))
    return (
        *(stamp(f, ".egg") for f in folders),
        stamp(folder("grammar"), ".lark"),
        *(_file(f) for f in options.files),
    )


def _file(path: str) -> tuple[int, int] | None:
    import os

    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _run(command: list[str]) -> int:
    done = subprocess.run(command, capture_output=True, text=True)
    sys.stdout.write(done.stdout)
    sys.stdout.flush()
    sys.stderr.write(done.stderr)
    sys.stderr.flush()
    return done.returncode


def _tell(message: str) -> None:
    print(f"pypto-rw: {message}", file=sys.stderr, flush=True)
