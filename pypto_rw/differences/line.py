"""A line in canonical form."""

from __future__ import annotations

from collections.abc import Iterable

from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a text.

    `number` counts from 1, `text` is what is shown, `words` are its words with every name blanked, `names` what the
    blanks stand for: two of them are equal where the names mean the same thing."""

    number: int
    text: str
    words: tuple[str, ...]
    names: tuple[object, ...] = ()


def raw(text: str) -> list[Line]:
    """The lines of a text as they are, line ends included."""
    return [Line(number, line, (line,)) for number, line in enumerate(text.split("\n"), 1)]


def canonical(lines: Iterable[Line]) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    """What counts of the lines: their words, and names as numbers in the order they first stand there."""
    numbers: dict[object, int] = {}
    return [(x.words, tuple(numbers.setdefault(n, len(numbers)) for n in x.names)) for x in lines]
