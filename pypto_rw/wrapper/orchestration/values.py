"""What a name of an orchestration stands for in C++, and in which C++ scope it lives."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A `ChipTensor`; `text` is an expression for it."""

    text: str
    type: ir.TensorType
    scope: int


@dataclass(frozen=True, slots=True)
class ScalarValue:
    """A number."""

    text: str
    dtype: ir.DType
    scope: int


@dataclass(frozen=True, slots=True)
class WindowValue:
    """A communication context: a word that kernels get as a scalar."""

    text: str
    scope: int


@dataclass(frozen=True, slots=True)
class TaskValue:
    """A `PTO2TaskId`; not `certain`: it may be the invalid one."""

    text: str
    scope: int
    certain: bool


@dataclass(frozen=True, slots=True)
class TasksValue:
    """An array of `size` task ids, any of which may be invalid."""

    text: str
    size: int
    scope: int


@dataclass(frozen=True, slots=True)
class TupleValue:
    """What a call with several results gives; None for a result that nothing can name."""

    items: tuple[Value | None, ...]
    scope: int = 0


@dataclass(frozen=True, slots=True)
class BrokenValue:
    """The result of a statement that was refused; what uses it is not reported again."""

    scope: int = 0


Value = TensorValue | ScalarValue | WindowValue | TaskValue | TasksValue | TupleValue | BrokenValue

KIND = {
    TensorValue: "a tensor",
    ScalarValue: "a scalar",
    WindowValue: "a communication context",
    TaskValue: "a task id",
    TasksValue: "an array of task ids",
    TupleValue: "several values",
}
