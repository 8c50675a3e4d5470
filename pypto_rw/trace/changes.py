"""Which lines of a stage are not in the stage before it, and which part of them is new."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

Parts = tuple[tuple[int, int], ...]  # of a text, as offsets
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def changed(before: Sequence[tuple[str, Hashable]], now: Sequence[tuple[str, Hashable]]) -> list[Parts | None]:
    """For each line of `now` None where `before` has it too, else its new parts.

    Lines are (text, origin); one is compared with those of its origin only, indentation aside, so time is linear."""
    left: dict[Hashable, list[str]] = {}
    for text, origin in before:
        left.setdefault(origin, []).append(text.strip())
    fresh: list[bool] = []
    for text, origin in now:
        mine = left.get(origin, [])
        fresh.append(text.strip() not in mine)
        if not fresh[-1]:
            mine.remove(text.strip())
    found: list[Parts | None] = []
    for (text, origin), is_new in zip(now, fresh, strict=True):
        if not is_new or not text.strip():
            found.append(None)
            continue
        mine = left.get(origin, [])
        found.append(_parts(mine.pop(0) if mine else "", text))
    return found


def _parts(old: str, new: str) -> Parts:
    """What `new` has and `old` has not, whole words."""
    start = len(new) - len(new.lstrip())
    a, b = _WORD.findall(old), _WORD.findall(new.strip())
    offsets = list(accumulate(map(len, b), initial=start))
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(None, a[head : len(a) - tail], b[head : len(b) - tail], autojunk=False)
    found = [(offsets[head + j], offsets[head + k]) for tag, _, _, j, k in middle.get_opcodes() if tag != "equal"]
    return tuple((j, k) for j, k in found if j < k)
