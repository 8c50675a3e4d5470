"""A Markdown page whose files are written and whose commands are run, block by block.

```file PATH          the file's text
```replace PATH       a text of the file, a line `=>`, what comes in its place
```console            `$ pypto-rw …` and what it prints, stdout first
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_BLOCK = re.compile(r"^```(file|replace|console)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


def run(page: str, folder: Path) -> str:
    """The page with what its commands print now, run in `folder`. AssertionError for a text that is not there."""

    def done(m: re.Match[str]) -> str:
        kind, path, body = m[1], m[2], m[3]
        if kind == "console":
            return f"```console\n{''.join(_command(line, folder) for line in _commands(body))}```"
        target = folder / path
        if kind == "file":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(body)
        else:
            old, _, new = body.partition("=>\n")
            assert old in target.read_text(), f"{path} has no {old!r}"
            target.write_text(target.read_text().replace(old, new, 1))
        return m[0]

    return _BLOCK.sub(done, page)


def _commands(body: str) -> Iterator[str]:
    return (line for line in body.splitlines() if line.startswith("$ pypto-rw "))


def _command(line: str, folder: Path) -> str:
    words = shlex.split(line)[2:]
    result = subprocess.run(
        [sys.executable, "-m", "pypto_rw", *words], capture_output=True, text=True, cwd=folder, check=False
    )
    told = f"{result.stdout}{result.stderr}".replace(f"{folder}/", "")
    return f"{line}\n{told}" + (f"(exit {result.returncode})\n" if result.returncode else "")
