"""The state of one orchestration while it is written: names, values, open C++ scopes, kernels seen so far."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pypto_rw import ir
from pypto_rw.diagnostics import NOWHERE, Diagnostic, Span
from pypto_rw.records import dataclass, field
from pypto_rw.wrapper.manifest import Direction, Launched
from pypto_rw.wrapper.names import Names
from pypto_rw.wrapper.orchestration.callees import Program
from pypto_rw.wrapper.orchestration.values import KIND, BrokenValue, TensorValue, Value
from pypto_rw.wrapper.units import CORE, Rejected, external_source

_VERSION = re.compile(r"(\w+?)__(?:ssa|idx|iter|tmp)_v\d+(?:_\d+)?")
_GENERATED = re.compile(r"(?:params_t|alloc_|mixed_|task_)\d+\w*|indices(?:_\w+)?|orch_args|__init_i")


def author_name(name: str) -> str:
    """`name` without what the compiler appended to tell versions apart."""
    m = _VERSION.fullmatch(name)
    return m[1] if m else name


class Silenced(Exception):
    """A statement uses the result of a refused one."""


@dataclass(slots=True)
class Frame:
    """`target` is the chip, `written` the tensors (by C++ text) that some task has written so far."""

    function: ir.Function
    program: Program
    target: str
    filename: str
    names: Names = field(default_factory=Names)
    values: dict[str, Value] = field(default_factory=dict)
    scopes: list[int] = field(default_factory=lambda: [0])
    kernels: dict[str, Launched] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    loops: list[int] = field(default_factory=list)  # scopes that are bodies of sequential loops
    regions: list[int] = field(default_factory=list)  # scopes that may run never or often: loops, branches
    bound: dict[str, int] = field(default_factory=dict)  # the scope in which each name got its value
    symbols: dict[str, str] = field(default_factory=dict)  # dimension symbol -> C++ name
    used_symbols: set[str] = field(default_factory=set)
    reads: dict[str, int] = field(default_factory=dict)  # how often each name is read
    span: Span = NOWHERE
    tasks: int = 0
    allocs: int = 0
    _scopes_made: int = 0

    # ---------------------------------------------------------------------------------- refusals

    def refused(self, code: str, message: str, help: str = "", span: Span = NOWHERE) -> Rejected:
        """The refusal of what the current statement says."""
        place = span if span else self.span
        return Rejected(Diagnostic(code, message, place, help, filename=self.filename, function=self.function.name))

    # ------------------------------------------------------------------------------------ scopes

    @property
    def scope(self) -> int:
        """The innermost open C++ scope."""
        return self.scopes[-1]

    @contextmanager
    def opened(self, *, region: bool = False, loop: bool = False) -> Iterator[None]:
        """A C++ scope; `region` for one that may run never or often, `loop` for the body of a sequential loop."""
        self._scopes_made += 1
        opened = [self.scopes, *([self.regions] if region else []), *([self.loops] if loop else [])]
        for stack in opened:
            stack.append(self._scopes_made)
        try:
            yield
        finally:
            for stack in opened:
                stack.pop()

    # ------------------------------------------------------------------------------ names, values

    def named(self, name: str, also: tuple[str, ...] = ()) -> str:
        """A C++ name for the variable `name`: the author's, with what the compiler appended where that is taken."""
        wishes = [w for w in (author_name(name), name) if not _GENERATED.fullmatch(w)]
        return self.names.take(*(wishes or [f"{name}_1"]), also=also)

    def bind(self, name: str, value: Value) -> None:
        """`name` stands for `value` from here on.

        Raises Rejected for a name from outside a loop or branch that would stand for something else after it."""
        before = self.values.get(name)
        if before is not None and before != value and not isinstance(before, BrokenValue):
            home = self.bound[name]
            if home in self.scopes and any(region > home for region in self.regions):
                raise self.refused(
                    "implicit-carry",
                    f"{name} is given another value inside a loop or a branch",
                    "carry it: init_values=(…) and pl.yield_(…) for a loop, pl.yield_(…) in both arms of a branch",
                )
        self.values[name] = value
        self.bound[name] = self.scope

    def look(self, name: str) -> Value:
        """What `name` stands for. Raises Rejected for a name without a value, or whose C++ scope has closed."""
        if name not in self.values:
            raise self.refused("unbound-variable", f"{name} has no value here", "assign it on every way to this line")
        value = self.values[name]
        if isinstance(value, BrokenValue):
            raise Silenced
        if value.scope not in self.scopes:
            what = KIND[type(value)]
            help = "use it inside the scope, or make it before the scope"
            raise self.refused("closed-scope", f"{name} is {what} of a scope that has closed", help)
        return value

    def tensor(self, expr: ir.Expr, what: str) -> TensorValue:
        """The tensor that `expr` names. Raises Rejected for anything else."""
        if isinstance(expr, ir.Name):
            value = self.look(expr.id)
            if isinstance(value, TensorValue):
                return value
            raise self.refused("operand-kind", f"{what} takes a tensor, but {expr.id} is {KIND[type(value)]}")
        raise self.refused("operand-kind", f"{what} takes a tensor variable, not an expression")

    # ----------------------------------------------------------------------------------- kernels

    def kernel_id(self, kernel: ir.Function, directions: tuple[Direction, ...]) -> int:
        """The function id of a kernel, in order of first use."""
        if kernel.name not in self.kernels:
            core = CORE.get(kernel.kind or "")
            if core is None:
                kind = f"{'hand-written ' if external_source(kernel) else ''}kernel {kernel.name}"
                raise self.refused("core-type", f"the {kind} has type {kernel.kind}; a task runs on AIC or AIV")
            self.kernels[kernel.name] = Launched(len(self.kernels), kernel, core, directions)
        return self.kernels[kernel.name].id
