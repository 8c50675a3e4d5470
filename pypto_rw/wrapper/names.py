"""Which names may become files, symbols, C++ identifiers and literals; and how two of them are kept apart."""

from __future__ import annotations

import re
from itertools import chain, count

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST = 200  # with a suffix it stays within the 255 bytes of a file name

_WORDS_OF_CPP = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default
delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
xor_eq
"""
KEYWORDS = frozenset(_WORDS_OF_CPP.split())
_SYMBOLS = frozenset(
    ("kernel_entry", "main", "std", "pto", "pypto_register_counter_completion", "pypto_fail_completion")
)
_WORDS_OF_WRAPPERS = """
half bfloat16_t float8_e4m3_t float8_e5m2_t float8_e8m0_t float4_e2m1x2_t int8_t int16_t int32_t int64_t uint8_t
uint16_t uint32_t uint64_t ChipTensor GlobalTensor __gm__ __aicore__ std pto args
"""
_TYPES = frozenset(_WORDS_OF_WRAPPERS.split())


class Unfit(ValueError):
    """A name that cannot become what it is wanted for. The message says why, the name comes first in it."""


def symbol(name: str) -> str:
    """`name`, where it may name a file, a C++ function and a Python string. Raises Unfit.

    Nothing but letters, digits and `_` (so no separator, no `..`, no quote, no line end), no C++ keyword."""
    if not _IDENTIFIER.fullmatch(name):
        raise Unfit(f"{name!r} cannot name a kernel source: only ASCII letters, digits and _, no digit first")
    if name in KEYWORDS or name in _SYMBOLS:
        raise Unfit(f"{name!r} cannot name a kernel source: C++ or the wrapper uses the word")
    if len(name) > _LONGEST:
        raise Unfit(f"{name[:40]!r}… cannot name a kernel source: {len(name)} characters, at most {_LONGEST}")
    return name


def source_path(path: str) -> str:
    """`path` of a hand-written source, where it may stand in the manifest. Raises Unfit."""
    if not path.strip() or not path.isprintable():
        raise Unfit(f"{path!r} cannot be the path of a source: it is empty or has unprintable characters")
    return path


class Names:
    """The names taken in one C++ scope; a second wish for one gets another."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken) | KEYWORDS | _TYPES
        self._numbered: dict[str, int] = {}  # the next number to try behind a name

    def take(self, *wishes: str, also: tuple[str, ...] = ()) -> str:
        """The first of `wishes` that is free, else the last with `_1`, `_2`, …; taken from now on.

        `also`: suffixes whose names must be free too, and are taken with it. Raises Unfit for what is no identifier."""
        for wish in wishes:
            if not _IDENTIFIER.fullmatch(wish):
                raise Unfit(f"{wish!r} cannot name a C++ variable: only ASCII letters, digits and _")
        last = wishes[-1]
        numbered = (f"{last}_{k}" for k in count(self._numbered.get(last, 1)))
        name = next(n for n in chain(wishes, numbered) if all(f"{n}{s}" not in self._taken for s in ("", *also)))
        if name not in wishes:
            self._numbered[last] = int(name.rpartition("_")[2]) + 1
        self._taken.update(f"{name}{s}" for s in ("", *also))
        return name
