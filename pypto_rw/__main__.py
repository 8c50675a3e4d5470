"""Entry point of the console command and of `python -m pypto_rw`."""

import atexit
import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line; never returns.

    The process ends at once when everything is written: taking its objects apart took a seventh of a cold start."""
    from pypto_rw.cli import run

    code = run(sys.argv[1:])
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed: `run` has told what could not be written
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
