"""Operands of a statement: variables, constants, and instances, which are uses of a shape."""

from __future__ import annotations

from typing import NamedTuple

from pypto_rw.records import dataclass, field
from pypto_rw.rewriting.template import Template


class Var(NamedTuple):
    """Operand: a variable of the function."""

    name: str


class Const(NamedTuple):
    """Operand: a constant; `dtype` by name."""

    value: int | float
    dtype: str


@dataclass(slots=True)
class Instance:
    """One use of a shape: the operands at its positions, the values of its run-time extents, its result."""

    shape: str
    operands: tuple[Operand, ...]
    extents: tuple[Operand, ...] = ()
    result: str | None = None
    template: Template | None = field(default=None, compare=False)

    @property
    def plain(self) -> bool:
        """Whether no operand is an expression of its own."""
        for o in (*self.operands, *self.extents) if self.extents else self.operands:
            if isinstance(o, Instance):
                return False
        return True


Operand = Var | Const | Instance
