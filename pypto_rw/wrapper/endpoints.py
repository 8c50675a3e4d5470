"""Split FIFO endpoints of vector functions get the lane as their third argument, in device builds.

`TPUSH<…, TileSplitAxis::TILE_UP_DOWN>(pipe, tile)` becomes a guarded pair of calls. The lane is the function's own
sub-block argument, its last, or a private parameter added behind the others. Sources: newer-rules.md §9,
kernel-wrapper.md §7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pypto_rw.wrapper.templates import fill

LANE = "__pypto_lane"
_FUNCTION = re.compile(r"\bstatic\s+__aicore__\s+void\s+(\w+)\s*\(")
_ENDPOINT = re.compile(r"\b(?:TPUSH|TPOP)\s*<")
_AXIS = re.compile(r"\bTileSplitAxis::(\w+)")
_SKIPPED = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)


class Unreadable(ValueError):
    """The assembler's text is no C++ that an endpoint can be found in."""


def pass_lane(text: str, vector: dict[str, bool]) -> tuple[str, set[str]]:
    """`text` with lanes passed in the functions named in `vector`, and those that got a private parameter.

    `vector` tells of each vector function whether its last parameter is the sub-block id. Raises Unreadable for
    brackets that never close."""
    if not _ENDPOINT.search(text):
        return text, set()
    hidden = _SKIPPED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)  # same length, no comments, no literals
    out: list[str] = []
    private: set[str] = set()
    at = 0
    for name, head, body_start, body_end in _functions(hidden):
        ends = list(_split_endpoints(hidden, body_start, body_end)) if name in vector else []
        if not ends:
            continue
        opened, closed = head
        if vector[name]:
            lane = _last_name(text[opened + 1 : closed])
        else:
            private.add(name)
            lane = LANE
            parameters = text[opened + 1 : closed].strip()
            out += [text[at : opened + 1], f"{parameters}, " if parameters else "", f"int32_t {LANE}"]
            at = closed
        for start, callee_end, call_end, statement_end in ends:
            out += [text[at:start].rstrip(" \t"), "" if _at_margin(text, start) else "\n"]
            guarded = fill(
                "kernel/endpoint.cpp",
                name=text[start:callee_end],
                arguments=text[callee_end + 1 : call_end].strip(),
                lane=lane,
            )
            out.append("\n".join(guarded))
            at = statement_end
            if text[at : at + 1] != "\n":
                out.append("\n")
    return "".join([*out, text[at:]]), private


def _functions(hidden: str) -> Iterator[tuple[str, tuple[int, int], int, int]]:
    """Name, parameter brackets, and body braces of every kernel function that has a body."""
    at = 0
    while m := _FUNCTION.search(hidden, at):
        opened = m.end() - 1
        closed = _closing(hidden, opened, "()")
        at = closed + 1
        brace = re.compile(r"\s*\{").match(hidden, at)
        if brace:
            end = _closing(hidden, brace.end() - 1, "{}")
            yield m[1], (opened, closed), brace.end(), end
            at = end


def _split_endpoints(hidden: str, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Of each split endpoint: its start, its `(`, its `)`, the place behind its `;`."""
    at = start
    while (m := _ENDPOINT.search(hidden, at, end)) is not None:
        angle = _closing(hidden, m.end() - 1, "<>")
        opened = re.compile(r"\s*\(").match(hidden, angle + 1)
        at = angle + 1
        axis = _AXIS.search(hidden, m.start(), angle)
        if opened is None or axis is None or axis[1] == "TILE_NO_SPLIT":
            continue
        closed = _closing(hidden, opened.end() - 1, "()")
        semicolon = re.compile(r"\s*;").match(hidden, closed + 1)
        if semicolon is not None:
            yield m.start(), opened.end() - 1, closed, semicolon.end()
        at = closed + 1


def _closing(hidden: str, opened: int, pair: str) -> int:
    """Where the bracket that opens at `opened` closes."""
    depth = 0
    for m in re.compile(f"[{re.escape(pair)}]").finditer(hidden, opened):
        depth += 1 if m[0] == pair[0] else -1
        if depth == 0:
            return m.start()
    raise Unreadable(f"a {pair[0]} never closes")


def _last_name(parameters: str) -> str:
    words = re.findall(r"\w+", parameters)
    if not words:
        raise Unreadable("a function that reads its sub-block id has no parameters")
    return str(words[-1])


def _at_margin(text: str, start: int) -> bool:
    return text[text.rfind("\n", 0, start) + 1 : start].strip() == ""
