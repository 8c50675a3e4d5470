"""`pypto-rw reduce`: the smallest kernel that still shows a fault."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable

from pypto_rw import api
from pypto_rw.commands.files import complain, over_input, read, reason, write
from pypto_rw.commands.options import rules_option, target_options
from pypto_rw.diagnostics import CompileError


def reduce(parser: argparse.ArgumentParser) -> None:
    """The options of `reduce`."""
    parser.add_argument("file", metavar="FILE", help="the kernel; - is stdin")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--test", metavar="CMD", help="shell command; {} is the candidate; exit code 0: still interesting")
    how.add_argument("--code", metavar="CODE", help="interesting while check reports this code and no new one")
    parser.add_argument("--exit", type=int, default=0, metavar="N", help="interesting while CMD exits with N (0)")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="seconds a CMD may take (60)")
    parser.add_argument("-o", "--output", metavar="OUT", help="write to OUT, every better text at once")
    target_options(parser)
    rules_option(parser)
    parser.set_defaults(action=_reduce)


def _reduce(options: argparse.Namespace) -> int:
    from pypto_rw.reduction import reduced
    from pypto_rw.syntax import parse
    from pypto_rw.syntax import write as written

    if options.test is not None and "{}" not in options.test:
        return complain("--test needs {} where the candidate's path goes, as in 'pypto-rw check {}'")
    if (message := over_input(options.output, [options.file])) is not None:
        return complain(message)
    try:
        source = read(options.file)
        module = parse(source, filename=options.file)
    except (OSError, UnicodeDecodeError) as error:
        return complain(f"cannot read {options.file}: {reason(error)}")
    except CompileError as error:
        print(error, file=sys.stderr)
        return complain(f"{options.file} is no module; a fault of syntax is where the message says")
    with tempfile.TemporaryDirectory(prefix="pypto-rw-reduce-") as folder:
        path = os.path.join(folder, "stdin.pyir" if options.file == "-" else os.path.basename(options.file))
        interesting = _reports(source, options) if options.test is None else _exits(options, path)
        if not interesting(written(module)):
            before = interesting(source)
            what = "is interesting only in its own layout" if before else "is not interesting itself"
            return complain(f"{options.file} {what}: nothing to reduce")
        text = reduced(module, interesting, lambda best, tried: _better(best, tried, options))
    if options.output is None:
        sys.stdout.write(text)
        return 0
    return 0 if (problem := write(options.output, text)) is None else complain(problem)


def _better(text: str, tried: int, options: argparse.Namespace) -> None:
    if options.output is not None:
        write(options.output, text)  # what an interrupt leaves
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text.count(chr(10))} lines, {tried} tried", end="", file=sys.stderr, flush=True)


def _exits(options: argparse.Namespace, path: str) -> Callable[[str], bool]:
    """Whether the command ends with the wanted code."""
    command = options.test.replace("{}", shlex.quote(path))

    def interesting(text: str) -> bool:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        quiet = subprocess.DEVNULL
        try:
            done = subprocess.run(command, shell=True, stdin=quiet, stdout=quiet, stderr=quiet, timeout=options.timeout)
        except subprocess.TimeoutExpired:
            return False
        return bool(done.returncode == options.exit)

    return interesting


def _reports(source: str, options: argparse.Namespace) -> Callable[[str], bool]:
    """Whether `check` reports the wanted code and none that it does not report of `source`."""
    allowed = _codes(source, options)

    def interesting(text: str) -> bool:
        found = _codes(text, options)
        return options.code in found and found <= allowed

    return interesting


def _codes(text: str, options: argparse.Namespace) -> set[str]:
    """What `check` reports; `internal-error` for a fault of the compiler itself."""
    target, planner = options.target, options.planner
    try:
        found = api.check(text, target=target, planner=planner, ptoas=options.ptoas, rules=options.rules)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return {"internal-error"}
    return {d.code for d in found}
