"""Text templates: `@name@` stands for a value, and alone on its line for any number of lines at that indentation.

A template is a file under `templates/`; it decides nothing. Lines that begin with `@#` are its commentary and are not
part of the text. A block without lines takes its line with it; blank lines around it collapse into one.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

Lines = list[str]
_FOLDER = Path(__file__).resolve().parent / "templates"
_VALUE = re.compile(r"@(\w+)@")
_BLOCK = re.compile(r"( *|\t*)@(\w+)@")


@cache
def _template(form: str) -> tuple[str, ...]:
    text = (_FOLDER / f"{form}.in").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if not line.startswith("@#"))


def fill(form: str, **values: str | Lines) -> Lines:
    """The lines of the template `form` (`"kernel/tensor.cpp"`). A value is text, or lines where it stands alone.

    Raises KeyError for a template that asks for a value not given."""
    out: Lines = []
    for line in _template(form):
        block = _BLOCK.fullmatch(line)
        value = values[block[2]] if block else None
        if block and isinstance(value, list):
            out += [f"{block[1]}{inner}" if _indented(inner) else inner for inner in value]
        else:
            out.append(_VALUE.sub(lambda m: _text(values[m[1]]), line))
    return out


def fill_line(form: str, **values: str) -> str:
    """The single line of the template `form`, for a piece of a line."""
    (line,) = fill(form, **values)
    return line


def text(lines: Lines) -> str:
    """A file of `lines`: at most one blank line in a row, none at either end."""
    kept: Lines = []
    for line in lines:
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line.rstrip() if not line.strip() else line)
    while kept and not kept[-1].strip():
        kept.pop()
    return "\n".join(kept) + "\n"


def _indented(line: str) -> bool:
    """Directives of the preprocessor stay at the margin."""
    return bool(line.strip()) and not line.startswith("#")


def _text(value: str | Lines) -> str:
    assert isinstance(value, str), "a block stands alone on its line"
    return value
