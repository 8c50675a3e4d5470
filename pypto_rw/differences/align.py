"""Which lines of two texts stand for one another.

Common ends first, then lines that are there once in each text and in the same order (anchors), then the same between
two anchors; what is left between is compared only where it is short, so that the time grows about as the texts do."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from pypto_rw.differences.line import Line
from pypto_rw.records import dataclass

_SHORT = 120  # lines between two anchors that are compared each with each


@dataclass(frozen=True, slots=True)
class Pair:
    """A line of the first text, of the second, or both; `equal`: they say the same."""

    a: Line | None
    b: Line | None
    equal: bool = False


def aligned(a: Sequence[Line], b: Sequence[Line]) -> list[Pair]:
    """Every line of both texts in order, those that stand for one another together."""
    keys = ([x.words for x in a], [x.words for x in b])
    pairs: list[Pair] = []
    at, to = 0, 0
    for i, j in [*_matches(*keys), (len(a), len(b))]:
        pairs += (Pair(x, None) for x in a[at:i])
        pairs += (Pair(None, x) for x in b[to:j])
        if i < len(a):
            pairs.append(Pair(a[i], b[j], True))
        at, to = i + 1, j + 1
    return _compared(pairs)


Keys = Sequence[tuple[str, ...]]


def _matches(a: Keys, b: Keys) -> Iterator[tuple[int, int]]:
    """Positions of equal lines, rising in both; regions of the texts still to be compared are kept on a stack."""
    todo = [(0, len(a), 0, len(b))]
    found: list[tuple[int, int]] = []
    while todo:
        start, end, first, last = todo.pop()
        while start < end and first < last and a[start] == b[first]:
            found.append((start, first))
            start, first = start + 1, first + 1
        while start < end and first < last and a[end - 1] == b[last - 1]:
            end, last = end - 1, last - 1
            found.append((end, last))
        if start == end or first == last:
            continue
        short = end - start <= _SHORT and last - first <= _SHORT
        anchors = _anchors(a[start:end], b[first:last])
        if not anchors and not short:  # lines that repeat: the first one for the first one, and so on
            anchors = _anchors(_counted(a[start:end]), _counted(b[first:last]))
        if anchors:
            edges = [(start + i, first + j) for i, j in anchors]
            found += edges
            begins = [(start, first), *((i + 1, j + 1) for i, j in edges)]
            todo += [(s, i, f, j) for (s, f), (i, j) in zip(begins, [*edges, (end, last)], strict=True)]
        elif short:
            from difflib import SequenceMatcher

            blocks = SequenceMatcher(None, a[start:end], b[first:last], autojunk=False).get_matching_blocks()
            found += [(start + m.a + k, first + m.b + k) for m in blocks for k in range(m.size)]
    yield from sorted(found)


def _counted(keys: Keys) -> Keys:
    """The keys, each with how many like it came before."""
    seen: Counter[tuple[str, ...]] = Counter()
    out = []
    for key in keys:
        out.append((*key, str(seen[key])))
        seen[key] += 1
    return out


def _anchors(a: Keys, b: Keys) -> list[tuple[int, int]]:
    """The longest rising run of lines that are in each text once."""
    often, other = Counter(a), Counter(b)
    places = {key: j for j, key in enumerate(b) if other[key] == 1 and often[key] == 1}
    lowest: list[int] = []  # by length of the run: the smallest last position
    ends: list[int] = []
    candidates = [(i, places[key]) for i, key in enumerate(a) if key in places]
    before: list[int] = []
    for k, (_, j) in enumerate(candidates):
        length = bisect_left(lowest, j)
        if length == len(lowest):
            lowest.append(j)
            ends.append(k)
        else:
            lowest[length], ends[length] = j, k
        before.append(ends[length - 1] if length else -1)
    run = []
    k = ends[-1] if ends else -1
    while k >= 0:
        run.append(candidates[k])
        k = before[k]
    return run[::-1]


def _compared(pairs: list[Pair]) -> list[Pair]:
    """The pairs, those that name different things made two lines. A name met first on both sides is one name; where
    lines were replaced, the names of the first old one are those of the first new one, and so on."""
    there: dict[object, object] = {}
    back: dict[object, object] = {}
    out: list[Pair] = []
    old: list[Line] = []
    new: list[Line] = []

    def same(x: Line, y: Line) -> bool:
        equal = True
        for m, n in zip(x.names, y.names, strict=False):
            if m not in there and n not in back:
                there[m], back[n] = n, m
            equal = equal and there.get(m) == n
        return equal

    def flush() -> None:
        for x, y in zip(old, new, strict=False):
            same(x, y)
        out.extend(Pair(x, None) for x in old)
        out.extend(Pair(None, y) for y in new)
        old.clear()
        new.clear()

    for p in pairs:
        if p.a is not None and p.b is not None:
            waiting = bool(old or new)
            if waiting:
                for x, y in zip(old, new, strict=False):
                    same(x, y)
            if same(p.a, p.b):
                flush()
                out.append(p)
            else:
                old.append(p.a)
                new.append(p.b)
        elif p.a is not None:
            old.append(p.a)
        elif p.b is not None:
            new.append(p.b)
    flush()
    return out
