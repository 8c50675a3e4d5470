"""What an orchestration has to know of the functions it launches: cores, results, pipes.

Source: orchestration-overview.md §1, §4.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.records import dataclass, field
from pypto_rw.shaping.unit import workspace_bytes
from pypto_rw.wrapper.units import KERNELS, attribute, callee_of, callees, calls


class Unlaunchable(ValueError):
    """A function that no task can run; the message says why."""


@dataclass(frozen=True, slots=True)
class Task:
    """What one launch runs: `callee` as it was called, a kernel on the cube core, one on the vector cores.

    `layers` are the functions between, outermost first; their attributes hold launch options."""

    callee: ir.Function
    cube: ir.Function | None
    vector: ir.Function | None
    layers: tuple[ir.Function, ...]

    @property
    def both_lanes(self) -> bool:
        """Whether the vector kernel runs on both vector cores."""
        return self.vector is not None and attribute(self.vector, "dual_aiv_dispatch") == "True"

    @property
    def kernels(self) -> tuple[ir.Function, ...]:
        """The kernels, in the order of their ids."""
        return tuple(k for k in (self.cube, self.vector) if k is not None)


@dataclass(slots=True)
class Program:
    """The functions of a program, by name; what was found out about them is kept."""

    functions: dict[str, ir.Function]
    _tasks: dict[str, Task] = field(default_factory=dict)
    _outputs: dict[str, list[int]] = field(default_factory=dict)

    def task(self, name: str) -> Task:
        """What launching `name` runs. Raises Unlaunchable."""
        if name not in self._tasks:
            self._tasks[name] = self._task(name)
        return self._tasks[name]

    def _task(self, name: str) -> Task:
        if name not in self.functions:
            raise Unlaunchable(f"the program has no function {name}")
        callee = self.functions[name]
        layers = [callee]
        while layers[-1].kind == "Spmd" and layers[-1] not in layers[:-1]:
            layers.append(self._only_callee(layers[-1]))
        last = layers[-1]
        if last.kind in KERNELS:
            cube, vector = (last, None) if last.kind == "AIC" else (None, last)
            return Task(callee, cube, vector, tuple(layers))
        if last.kind != "Group":
            raise Unlaunchable(
                f"{last.name} has type {last.kind or 'Opaque'}; a task runs a kernel, a Group or an Spmd"
            )
        cores: dict[str, ir.Function] = {}
        for member in callees(last):
            function = self.functions.get(member)
            kind = function.kind if function else None
            if function is None or kind not in ("AIC", "AIV") or kind in cores:
                raise Unlaunchable(f"the group {last.name} runs {member}; a group has one AIC and one AIV kernel")
            cores[kind] = function
            self._same_arguments(last, function)
        return Task(callee, cores.get("AIC"), cores.get("AIV"), tuple(layers))

    def _only_callee(self, function: ir.Function) -> ir.Function:
        names = callees(function)
        inner = self.functions.get(names[0]) if len(names) == 1 else None
        if inner is None:
            raise Unlaunchable(f"the Spmd function {function.name} runs {', '.join(names) or 'nothing'}; it runs one")
        self._same_arguments(function, inner)
        return inner

    def _same_arguments(self, outer: ir.Function, inner: ir.Function) -> None:
        """A task's arguments are packed once; every function below the launch must take them as they are."""
        own = [p.name for p in outer.params]
        for call in calls(outer.body):
            if callee_of(call) == inner.name:
                given = [a.id if isinstance(a, ir.Name) else "" for a in call.args]
                if given != own:
                    raise Unlaunchable(f"{outer.name} calls {inner.name} with other arguments than its own")

    def outputs(self, name: str) -> list[int]:
        """For each result of the function `name`, the parameter that holds it. Raises Unlaunchable."""
        if name not in self._outputs:
            self._outputs[name] = []  # what a function that calls itself finds
            self._outputs[name] = self._traced_outputs(name)
        return self._outputs[name]

    def _traced_outputs(self, name: str) -> list[int]:
        function = self.functions[name]
        returned = next((s.values for s in ir.statements(function.body) if isinstance(s, ir.Return)), ())
        written = [i for i, p in enumerate(function.params) if p.direction != "In"]
        count = len(returned) or _count(function.returns)
        found = []
        for position in range(count):
            value = returned[position] if position < len(returned) else None
            traced = self._parameter(function, value) if value is not None else None
            if traced is None:
                if position >= len(written):
                    raise Unlaunchable(f"result {position} of {name} is none of its parameters")
                traced = written[position]
            found.append(traced)
        return found

    def _parameter(self, function: ir.Function, value: ir.Expr) -> int | None:
        """The parameter that `value` is, through copies, stores and calls."""
        indices = {p.name: i for i, p in enumerate(function.params)}
        defined = {s.targets[0]: s.value for s in ir.statements(function.body) if isinstance(s, ir.Assign)}
        for _ in range(len(defined) + 1):
            match value:
                case ir.Name(id) if id in indices:
                    return indices[id]
                case ir.Name(id) if id in defined:
                    value = defined[id]
                case ir.Call(callee="tile.store", args=(_, _, destination, *_)):
                    value = destination
                case ir.Call() if (inner := callee_of(value)) in self.functions and inner is not None:
                    outputs = self.outputs(inner)
                    if len(outputs) != 1 or outputs[0] >= len(value.args):
                        return None
                    value = value.args[outputs[0]]
                case ir.Item(value=ir.Name(id), index=position) if id in defined:
                    call = defined[id]
                    inner = callee_of(call) if isinstance(call, ir.Call) else None
                    if not isinstance(call, ir.Call) or inner not in self.functions or inner is None:
                        return None
                    outputs = self.outputs(inner)
                    if position >= len(outputs) or outputs[position] >= len(call.args):
                        return None
                    value = call.args[outputs[position]]
                case _:
                    return None
        return None

    def workspace_elements(self, task: Task) -> int:
        """How many FP32 elements of global memory the pipes of one block of `task` need."""
        return workspace_bytes(task.kernels) // 4


def _count(returns: ir.Type | None) -> int:
    if returns is None:
        return 0
    return len(returns.items) if isinstance(returns, ir.TupleType) else 1
