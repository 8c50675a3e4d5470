"""A walked function: statements as nodes that hold instances, in the order they print."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.records import dataclass, field
from pypto_rw.shaping.operands import Instance, Operand
from pypto_rw.shaping.values import Value


@dataclass(slots=True, eq=False, repr=False)
class Do:
    """One call: the declaration of its result's handle (if it has one of its own), then the call."""

    instance: Instance
    alloc: Instance | None
    span: Span
    call_span: Span
    shares: str | None = None  # the operand whose handle the result takes


@dataclass(slots=True, eq=False, repr=False)
class Declare:
    """The declaration of a handle, ahead of the call that writes it."""

    alloc: Instance
    span: Span


@dataclass(slots=True, eq=False, repr=False)
class Same:
    """`y = x`: y is x from here on; nothing is printed."""

    name: str
    source: Operand
    alloc: Instance | None
    span: Span


@dataclass(slots=True, eq=False, repr=False)
class Carry:
    """A loop-carried value: its name in the body, its initial value, its name after the loop."""

    name: str
    kind: str
    initial: Operand
    result: str | None
    type: ir.Type


@dataclass(slots=True, eq=False, repr=False)
class Loop:
    """A counted loop; `yields` are the scalar values carried on."""

    variable: str
    bounds: tuple[Operand, Operand, Operand]
    carries: list[Carry]
    body: list[Node]
    yields: list[Operand]
    span: Span
    yield_span: Span


@dataclass(slots=True, eq=False, repr=False)
class WhileLoop:
    """A conditional loop."""

    condition: Operand
    carries: list[Carry]
    body: list[Node]
    yields: list[Operand]
    span: Span
    yield_span: Span


@dataclass(slots=True, eq=False, repr=False)
class Merge:
    """One result of an `if`: a scalar result, a tile handle declared at the head, or one of the branches' values."""

    name: str
    kind: str
    type: ir.Type
    alloc: Instance | None = None
    narrow: Instance | None = None


@dataclass(slots=True, eq=False, repr=False)
class Branch:
    """An `if`; `yields` per branch: scalar values, in the order of the scalar results."""

    condition: Operand
    merges: list[Merge]
    body: list[Node]
    orelse: list[Node] | None
    yields: tuple[list[Operand], list[Operand]]
    sources: list[str]
    copies: tuple[list[Instance], list[Instance]]
    span: Span
    yield_spans: tuple[Span, Span]


Node = Do | Declare | Same | Loop | WhileLoop | Branch


@dataclass(slots=True, eq=False, repr=False)
class Walked:
    """A function as nodes, with everything the prologue needs."""

    function: ir.Function
    body: list[Node]
    tiles: dict[str, object]  # tile variables with a MemRef, in definition order -> identity of their handle
    offsets: list[ir.Expr]
    used: set[str]
    hidden: set[str] = field(default_factory=set)
    regions: list[tuple[Instance, Span]] = field(default_factory=list)
    unviewed: set[str] = field(default_factory=set)  # tensors of which only the pointer is used
    updates: dict[str, str] = field(default_factory=dict)  # results that update a tile in place, and that tile


class Scoped(dict[str, Value]):
    """Values by name; what a block defines ends with the block."""

    def __init__(self) -> None:
        super().__init__()
        self._journal: list[dict[str, Value | None]] = []

    def __setitem__(self, name: str, value: Value) -> None:
        if self._journal:
            self._journal[-1].setdefault(name, self.get(name))
        super().__setitem__(name, value)

    def enter(self) -> None:
        """A block begins."""
        self._journal.append({})

    def leave(self) -> dict[str, Value]:
        """The block ends; what it had defined."""
        inner = {}
        for name, outer in self._journal.pop().items():
            inner[name] = self[name]
            if outer is None:
                del self[name]
            else:
                super().__setitem__(name, outer)
        return inner

    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._journal)

    def here(self, name: str) -> bool:
        """Whether the innermost block defines `name`."""
        return bool(self._journal) and name in self._journal[-1]


def yield_span(body: tuple[ir.Stmt, ...], span: Span) -> Span:
    """Where a block's yield stands; `span` for a block without one."""
    last = body[-1] if body else None
    return (last.call_span or last.span) if isinstance(last, ir.Yield) else span
