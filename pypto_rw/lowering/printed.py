"""Distinct instructions of a function as they are printed: what the assembler's rules look at.

Two lines are one instruction when their template, the types of their operands, what operands are one value, the
windows among them, and the integers that rules read (addresses modulo their alignment) are the same. An offset or
an extent (an index) is not read: the rules of the op have checked it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pypto_rw import cache
from pypto_rw.diagnostics import NOWHERE, Diagnostic, Span
from pypto_rw.rewriting.template import mnemonic

_NAME = re.compile(r"%[\w.$]+")
_DECLARES = frozenset({"pto.alloc_tile", "pto.alloc_multi_tile", "pto.subview"})
_IMPORTS = "pto.import_reserved_buffer"  # looks at what other functions of the unit reserve
_LOCAL = frozenset({"pto.set_ffts", "pto.aic_initialize_pipe", "pto.aiv_initialize_pipe"})


# Instructions that were found good: the identity of a template, which is kept alive, and what `Printed.known` says.
Sound = dict[tuple[int, tuple[Any, ...]], Sequence[Any]]


class Place:
    """Where a line comes from: its printed location, the author's span, and the shape of the statement."""

    __slots__ = ("shape", "span", "text")

    def __init__(self, text: str = "", span: Span = NOWHERE, shape: str = "") -> None:
        self.text, self.span, self.shape = text, span, shape


class Printed:
    """One distinct instruction: its text, where it was printed first, and what was known of its operands then.

    `known` tells it from other lines of its template; a constant has no template."""

    __slots__ = ("_types", "cut", "known", "name", "names", "numbers", "place", "template", "text")

    def __init__(
        self,
        text: str,
        name: str,
        place: Place,
        names: Sequence[str],
        types: Sequence[str | None],
        *,
        template: Sequence[Any] | None = None,
        known: tuple[Any, ...] = (),
        numbers: dict[str, int] | None = None,
        cut: dict[str, int] | None = None,
    ) -> None:
        self.text, self.name, self.place, self.names = text, name, place, names
        self._types = types  # one a name, and what else the caller has behind them
        self.template, self.known = template, known
        self.numbers, self.cut = numbers or {}, cut or {}

    @property
    def types(self) -> dict[str, str]:
        """Types of the names that had one."""
        return {n: t for n, t in zip(self.names, self._types, strict=False) if t is not None}

    def key(self) -> tuple[object, ...]:
        """The instruction without its names, as another process would see it."""
        order: dict[str, int] = {}
        text = _NAME.sub(lambda m: f"%{order.setdefault(m[0], len(order))}", self.text)
        types = self.types
        return text, *((types.get(n), self.numbers.get(n), self.cut.get(n)) for n in order)

    def remember(self, sound: Sound) -> None:
        """Note that the assembler takes it, if that depends on nothing outside it."""
        if self.template is not None and self.name != _IMPORTS:
            sound[id(self.template), self.known] = self.template


class Distinct:
    """The distinct instructions of one function, in the order of the text; `planned` where tiles have addresses."""

    def __init__(self, planned: bool = True) -> None:
        self.planned = planned
        self.first: list[Printed] = []
        self.tiles: dict[str, Place] = {}  # where each tile is declared
        self.settled: set[int] = set()  # templates of which one line tells all: a shape fixes types and handles
        self._seen: dict[int, set[tuple[Any, ...]]] = {}  # by template, what was noted
        self._cut: dict[str, int] = {}

    def note(
        self,
        template: Sequence[Any],
        names: list[str],
        text: str,
        place: Place,
        types: Mapping[str, str],
        numbers: Mapping[str, tuple[int, object]],
    ) -> None:
        """A line; `names` are its result and its operands, `numbers` the integers and what of them tells lines apart.

        It need not be called again for a template that is settled."""
        key: tuple[Any, ...] = tuple(map(types.get, names))
        numbered = not numbers.keys().isdisjoint(names)
        if numbered:
            key = (*key, *[numbers[n][1] for n in names if n in numbers])
        if len(set(names)) < len(names):
            key = (*key, *map(names.index, names))
        if self._cut:
            self.settled.clear()
            key = (*key, *map(self._cut.get, names))
        name: str = template[5]
        seen = self._seen.get(id(template))
        if seen is None:
            seen = self._seen[id(template)] = set()
            # The addresses of a function are constants before its first line.
            settles = name not in _DECLARES or (
                name != "pto.subview" and self.planned and not _addresses(types, numbers)
            )
            if settles and not (numbered or self._cut):
                self.settled.add(id(template))
        if key not in seen:
            seen.add(key)
            read = {n: numbers[n][0] for n in names if n in numbers} if numbered else None
            cut = {n: self._cut[n] for n in names if n in self._cut} if self._cut else None
            self.first.append(
                Printed(text, name, place, names, key, template=template, known=key, numbers=read, cut=cut)
            )
        if name not in _DECLARES:
            return
        if name == "pto.subview":
            part, whole = (re.search(r" cols=(\d+),", types.get(n, "")) for n in names[:2])
            if part and whole and part[1] != whole[1]:
                self._cut[names[0]] = int(whole[1])
        else:
            self.tiles[names[0]] = place

    def constant(self, text: str, place: Place, name: str, type_: str) -> None:
        """A constant that rules look at."""
        self.first.append(Printed(text, mnemonic(text), place, (name,), (type_,)))


def _addresses(types: Mapping[str, str], numbers: Iterable[str]) -> bool:
    return any(types.get(name) == "i64" for name in numbers)


class PrintedFunction:
    """A function's distinct instructions; `lines` are its text where the assembler plans its memory, else empty.

    `asked`: the version of the assembler for which is known what it says of them, whatever else is in the module, and
    that is `told`; None where it is not known."""

    __slots__ = ("asked", "distinct", "kernel", "lines", "name", "told")

    def __init__(self, name: str, kernel: str | None, distinct: Distinct, lines: list[str]) -> None:
        self.name, self.kernel, self.distinct, self.lines = name, kernel, distinct, lines
        self.asked: str | None = None
        self.told: tuple[Diagnostic, ...] = ()

    def around(self, version: str) -> tuple[object, ...]:
        """What the verdict of any of its instructions depends on, beside the instruction."""
        return version, self.kernel, *sorted({p.name for p in self.distinct.first} & _LOCAL)

    def alone(self) -> bool:
        """Whether the verdict of none of its instructions depends on other functions."""
        return all(p.name != _IMPORTS for p in self.distinct.first)

    def keyed(
        self, around: tuple[object, ...], unit: Sequence[PrintedFunction], sound: Sound
    ) -> Iterator[tuple[str, Printed]]:
        """Every instruction with a key of all that its verdict depends on, but for those in `sound`.

        Two templates may print one line, which is given once."""
        lines: set[tuple[Any, ...]] = set()
        for printed in self.distinct.first:
            if printed.template is not None and (id(printed.template), printed.known) in sound:
                continue
            key = printed.key()
            if (key[0], printed.known) in lines:
                continue
            lines.add((key[0], printed.known))
            reserved: object = None
            if printed.name == _IMPORTS:
                reserved = sorted(p.text for f in unit for p in f.distinct.first if p.name == "pto.reserve_buffer")
            yield cache.digest(around, reserved, key), printed
