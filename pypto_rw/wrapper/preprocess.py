"""The assembler's C++ as the body of a wrapper: no headers of its own, static functions, no undone gather operands.

Nothing is refused: text it does not know passes. Source: kernel-wrapper.md §4.
"""

from __future__ import annotations

import re

_DROPPED_INCLUDE = re.compile(r"#\s*include\b.*(pto-inst|cstdint|tensor\.h)")
_TENSOR = re.compile(r"\bTensor\b")
_KERNEL = re.compile(r'(?:extern\s+"C"\s+)?(?:__global__\s+)?\bAICORE\s+void\b')
_AICORE = re.compile(r"\bAICORE\b")

_GATHER = re.compile(r"\bMGATHER\b(?:<[^;()]*>)?\(([^()]*)\)\s*;")
_ALIAS = re.compile(
    r"(?:__(?:ubuf|cbuf)__\s+[\w:]+\s*\*\s*(?P<local>\w+)\s*=\s*(?P<tile>\w+)\.data\(\)"
    r"|__gm__\s+(?P<type>[\w:]+)\s*\*\s*(?P<name>\w+)\s*=\s*\(\s*__gm__\s+(?P=type)\s*\*\s*\)\s*(?P<pointer>\w+))\s*;"
)
_WORD = re.compile(r"\w+")


def preprocess(text: str) -> str:
    """`text` of the assembler, ready to stand between the wrapper's headers and its entry."""
    lines = [line for line in text.split("\n") if not _dropped(line.strip())]
    if "MGATHER" in text:
        lines = _undo_gather_aliases(lines)
    joined = _TENSOR.sub("ChipTensor", "\n".join(lines))
    return _AICORE.sub("__aicore__", _KERNEL.sub("static __aicore__ void", joined))


def _dropped(line: str) -> bool:
    return (
        _DROPPED_INCLUDE.match(line) is not None
        or line == "using namespace pto;"
        or line.startswith("set_ffts_base_addr(")
    )


def _undo_gather_aliases(lines: list[str]) -> list[str]:
    """A gather takes its operands' wrappers, where the pointers to them were made for the gather alone."""
    defined: dict[str, list[tuple[int, str]]] = {}  # alias -> (line, what it points into), in order
    used: dict[str, list[int]] = {}  # word -> lines of its uses that are no definition
    for at, line in enumerate(lines):
        alias = _ALIAS.fullmatch(line.strip())
        name = (alias["local"] or alias["name"]) if alias else None
        if alias and name:
            defined.setdefault(name, []).append((at, alias["tile"] or alias["pointer"]))
        for word in _WORD.findall(line):
            if word != name:
                used.setdefault(word, []).append(at)
    out: list[str | None] = list(lines)
    for at, line in enumerate(lines):
        call = _GATHER.search(line)
        operands = [o.strip() for o in call[1].split(",")] if call else []
        if call is None or len(operands) not in (3, 4):
            continue
        aliases = [_only_for(at, o, defined, used) for o in operands]
        scratch_is_plain = len(operands) == 4 and operands[3] not in defined
        if all(a is not None for a in aliases[:3]) and (len(operands) == 3 or aliases[3] or scratch_is_plain):
            wrapped = [o if a is None else a[1] for o, a in zip(operands, aliases, strict=True)]
            out[at] = f"{line[: call.start(1)]}{', '.join(wrapped)}{line[call.end(1) :]}"
            for a in aliases:
                if a is not None:
                    out[a[0]] = None
    return [line for line in out if line is not None]


def _only_for(
    at: int, name: str, defined: dict[str, list[tuple[int, str]]], used: dict[str, list[int]]
) -> tuple[int, str] | None:
    """The latest definition of the alias `name` before line `at`, if line `at` is the only one that uses it."""
    before = [d for d in defined.get(name, ()) if d[0] < at]
    if not before:
        return None
    latest = before[-1]
    after = next((d[0] for d in defined[name] if d[0] > latest[0]), None)
    uses = [u for u in used.get(name, ()) if u > latest[0] and (after is None or u < after)]
    return latest if uses == [at] else None
