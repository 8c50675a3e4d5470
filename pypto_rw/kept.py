"""Functions that come again unchanged, and what was made of them, for the life of the process.

An editor checks a file at every pause and most of its functions are as they were; a program compiles the same kernels
over and over. A function is kept when its text is read for the second time, so that many different texts leave nothing
behind. What the stages make of a kept function stands with it, under a key of all else that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from pypto_rw import ir

T = TypeVar("T")

_MOST_LINES = 20_000  # of source that are kept, about 50 MiB
_MOST_NOTES = 16  # of one function
_LONGEST = 4_000  # lines of a function that is kept
_MOST_SEEN = 16_000  # texts of which is known that they were read

_seen: dict[int, None] = {}  # hashes of what has been read once
_read: dict[Hashable, Any] = {}
_made: dict[int, tuple[ir.Function, dict[Hashable, Any]]] = {}  # by the identity of a function, which is kept alive
_lines = 0


def again(text: Hashable) -> bool:
    """Whether a text has been asked about before. It may say so of a new one, very seldom."""
    if len(_seen) >= _MOST_SEEN:
        _seen.clear()
    mark = hash(text)
    if mark in _seen:
        return True
    _seen[mark] = None
    return False


def read(text: Hashable) -> Any:
    """What a text was read into, if that is kept."""
    return _read.get(text)


def keep(text: Hashable, value: Any, function: ir.Function, lines: int) -> None:
    """Keep what a text of so many lines was read into, and whatever will be made of its function."""
    if lines <= _LONGEST:
        adopt(function, lines)
        _read[text] = value


def adopt(function: ir.Function, lines: int) -> None:
    """Keep what will be made of a function of so many lines of source."""
    global _lines
    if lines > _LONGEST:
        return
    if _lines + lines > _MOST_LINES:
        _lines = 0
        _read.clear()
        _made.clear()
    _lines += lines
    _made[id(function)] = function, {}


def is_kept(function: ir.Function) -> bool:
    """Whether what is made of a function is kept."""
    found = _made.get(id(function))
    return found is not None and found[0] is function


def known(function: ir.Function, key: Hashable) -> Any:
    """What was noted of a function under that key; None where nothing was."""
    found = _made.get(id(function))
    return found[1].get(key) if found is not None and found[0] is function else None


def note(function: ir.Function, key: Hashable, value: Any) -> None:
    """Note what was made of a function, if it is kept."""
    found = _made.get(id(function))
    if found is not None and found[0] is function:
        if len(found[1]) >= _MOST_NOTES:  # of other options, or of rules that are no more
            found[1].clear()
        found[1][key] = value


def once(function: ir.Function, key: Hashable, make: Callable[[ir.Function], T]) -> T:
    """What `make` gives for a function, never None; asked once where the function is kept."""
    value: T | None = known(function, key)
    if value is None:
        value = make(function)
        note(function, key, value)
    return value


def forget() -> None:
    """Keep nothing of all this any longer."""
    global _lines
    _lines = 0
    _seen.clear()
    _read.clear()
    _made.clear()
