"""One CHECK line as a regular expression: `{{regex}}`, `[[NAME:regex]]` (names what it matches), `[[NAME]]` (the same
again); everything else is literal, and a run of blanks matches any other. NAMEs are in capitals."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PIECE = re.compile(r"\{\{(.*?)\}\}|\[\[([A-Z][A-Z0-9_]*)(?::(.*?))?\]\](?!\])")
_BLANKS = re.compile(r"[ \t]+")


def plain(text: str) -> str:
    """A text with every run of blanks made one."""
    return _BLANKS.sub(" ", text)


def compiled(text: str, values: Mapping[str, str]) -> re.Pattern[str]:
    """The expression of a CHECK line; `values` are the names matched before. Raises ValueError."""
    out, at = [], 0
    own: set[str] = set()
    for m in _PIECE.finditer(text):
        out.append(re.escape(plain(text[at : m.start()])))
        at = m.end()
        if m[1] is not None:
            out.append(f"(?:{m[1]})")
        elif m[3] is not None:
            own.add(m[2])
            out.append(f"(?P<{m[2]}>{m[3]})")
        elif m[2] in own:
            out.append(f"(?P={m[2]})")
        elif m[2] in values:
            out.append(re.escape(values[m[2]]))
        else:
            raise ValueError(f"[[{m[2]}]] has not matched anything yet; write [[{m[2]}:regex]] the first time")
    out.append(re.escape(plain(text[at:])))
    try:
        return re.compile("".join(out))
    except re.error as error:
        raise ValueError(f"it is no regular expression: {error}") from None


def example(text: str, values: Mapping[str, str]) -> str:
    """A text that a CHECK line would about match, to find the line that is most like it."""
    return _PIECE.sub(lambda m: values.get(m[2] or "", ""), text)


def literal(line: str) -> str:
    """The CHECK text that matches exactly this line of output."""
    text = plain(line.strip()).replace("{{", "{{\\{\\{}}")
    return re.sub(r"\[\[(?=[A-Z][A-Z0-9_]*(?::|\]\]))", r"{{\\[\\[}}", text)
