"""`pypto-rw lit`: the tests that kernels carry in their comments."""

from __future__ import annotations

import argparse
import os
import sys

from pypto_rw.commands.files import complain, read, reason, write


def lit(parser: argparse.ArgumentParser) -> None:
    """The options of `lit`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help=".pyir files with RUN lines, or folders of them")
    parser.add_argument("--bless", action="store_true", help="rewrite the CHECK and expected lines that fail")
    parser.set_defaults(action=_lit)


def _lit(options: argparse.Namespace) -> int:
    from pypto_rw.lit.script import has_run_line

    count = failed = 0
    for path in options.paths:
        found = list(_files(path))
        for file in found:
            try:
                text = read(file)
            except (OSError, UnicodeDecodeError) as error:
                return complain(f"cannot read {file}: {reason(error)}")
            if not has_run_line(text):
                if file == path:
                    return complain(f"{file} has no RUN line")
                continue
            count += 1
            code = _test(file, text, bless=options.bless)
            if code == 2:
                return 2
            failed += code
    if count == 0:
        return complain(f"no file below {', '.join(options.paths)} has a RUN line")
    from pypto_rw.wording import counted

    print(f"{counted(count, 'file')}, {failed} failed")
    return int(failed > 0)


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return sorted(f for f in found if f.endswith(".pyir"))


def _test(file: str, text: str, *, bless: bool) -> int:
    """Run one file; 1 where it fails."""
    from pypto_rw.lit.run import run
    from pypto_rw.lit.script import ScriptError, script

    try:
        test = script(file, text)
        failures = [f for r in run(test) for f in r.failures]
        if failures and bless:
            from difflib import unified_diff

            from pypto_rw.lit.bless import blessed

            new = blessed(test)
            if (problem := write(file, new)) is not None:
                return complain(problem)
            print("".join(unified_diff(text.splitlines(True), new.splitlines(True), file, file, n=0)), end="")
            failures = [f for r in run(script(file, new)) for f in r.failures]
    except ScriptError as error:
        print(error, file=sys.stderr)
        return 1
    for line, message in dict.fromkeys(failures):
        print(f"{file}:{line}: {message}", file=sys.stderr)
    return int(bool(failures))
