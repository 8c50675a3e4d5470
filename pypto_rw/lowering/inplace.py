"""Tiles that an op updates in place and that are read again: what is read there is the update.

An op such as `tile.assemble` writes its result into the tile it begins with. Where the program goes on to use that tile
as it was, the two are one on the device. Found by names: other names of a tile count, windows of it do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.scalars import names_in

_Range = tuple[int, int]  # positions of the statements of a block


class Update(NamedTuple):
    """The tile `tile` is read at `line` after `result` was made of it in place, at `span`."""

    tile: str
    result: str
    span: Span
    line: int


def updates(body: tuple[ir.Stmt, ...], made: dict[str, str]) -> Iterator[Update]:
    """Every tile that is read after its update, in the order of the text; `made`: the tile that each update is of."""
    return _Reads(body, made).found()


class _Write(NamedTuple):
    """An update: the tile, the result, where it stands, its position, the loops around it from the inside out (by
    number), and the positions of arms that do not run when it does."""

    tile: str
    result: str
    span: Span
    at: int
    loops: tuple[int, ...]
    others: tuple[_Range, ...] = ()


class _Reads:
    """Where names are read and tiles are updated, by position in the text."""

    def __init__(self, body: tuple[ir.Stmt, ...], made: dict[str, str]) -> None:
        self.same: dict[str, str] = {}  # what another name of a tile stands for
        for s in ir.statements(body):
            if isinstance(s, ir.Assign) and isinstance(s.value, ir.Name):
                self.same[s.targets[0]] = self._root(s.value.id)
        self.made = {result: self._root(tile) for result, tile in made.items()}
        self.read: dict[str, list[tuple[int, int]]] = {tile: [] for tile in self.made.values()}  # position, line
        self.born: dict[str, int] = {}
        self.loops: list[_Range] = []
        self.written: list[_Write] = []
        self.now = 0
        self._block(body, ())

    def found(self) -> Iterator[Update]:
        """Every tile that is read after its update."""
        for write in self.written:
            line = self._line(write)
            if line is not None:
                yield Update(write.tile, write.result, write.span, line)

    def _line(self, write: _Write) -> int | None:
        """The line in which a tile is first read after its update; None if it is not."""
        reads = self.read[write.tile]
        for position, line in reads:
            if position > write.at and not any(first <= position < end for first, end in write.others):
                return line
        born = self.born.get(write.tile, -1)
        for loop in write.loops:
            first, end = self.loops[loop]
            if born <= first:  # the next turn reads it
                return next((line for position, line in reads if first <= position < end), None)
        return None

    def _root(self, name: str) -> str:
        return self.same.get(name, name)

    def _block(self, body: tuple[ir.Stmt, ...], loops: tuple[int, ...]) -> None:
        for stmt in body:
            self.now += 1
            match stmt:
                case ir.Assign():
                    self._note((stmt.value,), stmt.span.line)
                    name = stmt.targets[0]
                    self.born[name] = self.now
                    if name in self.made:
                        self.written.append(_Write(self.made[name], name, stmt.span, self.now, loops))
                case ir.Evaluate():
                    self._note((stmt.value,), stmt.span.line)
                case ir.Yield() | ir.Return():
                    self._note(stmt.values, stmt.span.line)
                    if isinstance(stmt, ir.Yield):
                        self.born.update(dict.fromkeys(stmt.targets, self.now))
                case ir.For() | ir.While():
                    self._note(stmt.initial, stmt.span.line)
                    self._loop(stmt, loops)
                case ir.If():
                    self._arms(stmt, loops)

    def _loop(self, stmt: ir.For | ir.While, loops: tuple[int, ...]) -> None:
        number, first = len(self.loops), self.now
        self.loops.append((first, first))
        self.born.update(dict.fromkeys(stmt.carried, first + 1))
        self._block(stmt.body, (number, *loops))
        self.now += 1
        self.loops[number] = (first, self.now)

    def _arms(self, stmt: ir.If, loops: tuple[int, ...]) -> None:
        begin = len(self.written)
        self._block(stmt.body, loops)
        middle, end = self.now + 1, len(self.written)
        self._block(stmt.orelse or (), loops)
        other = (middle, self.now + 1)
        self.written[begin:end] = [w._replace(others=(*w.others, other)) for w in self.written[begin:end]]

    def _note(self, values: tuple[ir.Expr, ...], line: int) -> None:
        for name in names_in(values):
            found = self.read.get(self._root(name))
            if found is not None:
                found.append((self.now, line))
