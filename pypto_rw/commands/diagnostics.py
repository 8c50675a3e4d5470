"""How a command tells its findings: `--diagnostics`, `--diagnostics-file`; one `Teller` a run.

Findings go to stderr, or whole to the file. Text, short and JSON lines are told as they come, a SARIF log once, at the
end, also where nothing was found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pypto_rw.commands.files import complain, write
from pypto_rw.diagnostics import Diagnostic, render


def diagnostics_options(parser: argparse.ArgumentParser) -> None:
    """How findings are told."""
    parser.add_argument(
        "--diagnostics",
        default="text",
        choices=("text", "short", "json", "sarif"),
        metavar="FORM",
        help="how findings are told: text, short (one line each), json (one object a line), sarif (2.1.0)",
    )
    parser.add_argument("--diagnostics-file", metavar="OUT", help="write findings to OUT, not to stderr")


class Teller:
    """Tells the findings of one run in the form that was asked for."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._form: str = options.diagnostics
        self._file: str | None = options.diagnostics_file
        self._texts: list[str] = []
        self._found: list[Diagnostic] = []
        self._complaints: list[str] = []

    def tell(self, diagnostics: Sequence[Diagnostic], source: str) -> None:
        """Tell some findings; `source` is the text they quote."""
        if not diagnostics:
            return
        if self._form == "sarif":
            self._found += diagnostics
            return
        if self.is_text:
            self.say(render(diagnostics, source))
        else:
            from pypto_rw.formats import formatted  # few runs ask for it

            self.say(formatted(diagnostics, self._form))

    def complain(self, message: str) -> int:
        """Tell what is wrong with a file or an option; the exit code for it. A SARIF log on stderr has it inside."""
        self._complaints.append(message)
        return 2 if self._form == "sarif" and self._file is None else complain(message)

    @property
    def is_text(self) -> bool:
        """Whether people are told, in more lines than one."""
        return self._form == "text"

    def say(self, text: str) -> None:
        """Tell a finished text."""
        if self._file is None:
            print(text, file=sys.stderr)
        else:
            self._texts.append(f"{text}\n")

    def finish(self, code: int) -> int:
        """Tell what is told at the end; the exit code `code`, or that of a file that cannot be written."""
        text = "".join(self._texts)
        if self._form == "sarif":
            from pypto_rw.formats import sarif
            from pypto_rw.resources import version
            from pypto_rw.rewriting.rulebook import Rulebook
            from pypto_rw.rulepages import Pages

            meaning = Pages(Rulebook()).line
            text = sarif(self._found, version=version(), meaning=meaning, exit_code=code, complaints=self._complaints)
            if self._file is None:
                sys.stderr.write(text)
        if self._file is not None and (problem := write(self._file, text)) is not None:
            return complain(problem)
        return code
