"""Pages of diagnostic codes, one file a code, each with a text that is reported and one that is not.

A page, `rules/codes/CODE.md`, is Markdown: `# CODE: one line`, what it is about, `## Way out`, `## Reported [options]`
and `## Accepted [options]`, the last two with a whole `.pyir` or `.pto` text indented by four columns. Tests run both.
A new code is a new file. Codes of checks in rule files need none: `rulepages.py` makes their pages of the rules."""

from __future__ import annotations

import os
import re

from pypto_rw import resources
from pypto_rw.records import dataclass

_HEAD = re.compile(r"# (\S+): (.*)\n")
_SECTION = re.compile(r"^## (\w[\w ]*?)((?: --\w+ \S+)*)$", re.M)


@dataclass(frozen=True, slots=True)
class Sample:
    """A whole text and the options it is for, as `(("target", "a5"),)`."""

    text: str
    options: tuple[tuple[str, str], ...]

    @property
    def lowered(self) -> bool:
        """Whether the text is `.pto` already."""
        return self.text.startswith(("module ", "func.func "))


@dataclass(frozen=True, slots=True)
class Page:
    """One code: a line, the page as it is shown, a text that is reported and one that is not."""

    code: str
    line: str
    text: str
    reported: Sample
    accepted: Sample


def codes() -> list[str]:
    """Every code with a page, sorted."""
    return sorted(n.removesuffix(".md") for n in os.listdir(_folder()) if n.endswith(".md"))


def page(code: str) -> Page | None:
    """The page of a code; None for a code without one."""
    if code not in codes():
        return None
    with open(os.path.join(_folder(), f"{code}.md"), encoding="utf-8") as file:
        text = file.read()
    head = _HEAD.match(text)
    samples = {}
    marks = list(_SECTION.finditer(text))
    for mark, following in zip(marks, [*(m.start() for m in marks[1:]), len(text)], strict=True):
        words = mark[2].split()
        options = tuple((w[2:], v) for w, v in zip(words[::2], words[1::2], strict=True))
        body = "\n".join(line[4:] for line in text[mark.end() : following].strip("\n").split("\n"))
        samples[mark[1]] = Sample(f"{body}\n", options)
    if head is None or head[1] != code or not {"Reported", "Accepted"} <= samples.keys():
        raise ValueError(f"the page {code}.md is not `# {code}: …` with the sections Reported and Accepted")
    return Page(code, head[2], text, samples["Reported"], samples["Accepted"])


def _folder() -> str:
    return os.path.join(resources.folder("rules"), "codes")
