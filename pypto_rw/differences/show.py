"""Differing lines with a few equal ones around them, each with its number in its own text."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_rw.differences.align import Pair

_AROUND = 3


def shown(pairs: Sequence[Pair]) -> str:
    """`-` lines of the first text, `+` lines of the second, a line between stretches; ends in a line feed."""
    near = [False] * len(pairs)
    for k, pair in enumerate(pairs):
        if not pair.equal:
            for m in range(max(0, k - _AROUND), min(len(pairs), k + _AROUND + 1)):
                near[m] = True
    width = max((len(str(x.number)) for p in pairs for x in (p.a, p.b) if x is not None), default=1)
    out: list[str] = []
    for k, pair in enumerate(pairs):
        if not near[k]:
            if k and near[k - 1]:
                out.append(f"{' ' * (2 * width + 2)} ...")
            continue
        numbers = " ".join(str(x.number if x is not None else "").rjust(width) for x in (pair.a, pair.b))
        line = pair.a or pair.b
        assert line is not None
        out.append(f"{' ' if pair.equal else '-' if pair.a else '+'} {numbers} | {line.text}".rstrip())
    return "\n".join(out) + "\n"
