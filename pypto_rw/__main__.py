"""Entry point of the console command and of `python -m pypto_rw`."""

import sys


def main() -> None:
    """Run the command line; never returns."""
    from pypto_rw.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
