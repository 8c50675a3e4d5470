"""An orchestration function as C++: entry, scopes, loops, branches, statements.

It prints statement by statement; what a name stands for is in the frame. Source: orchestration-overview.md.
"""

from __future__ import annotations

from collections import Counter

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic
from pypto_rw.records import dataclass
from pypto_rw.scalars import names_in
from pypto_rw.wrapper.manifest import Direction, Launched
from pypto_rw.wrapper.names import Unfit
from pypto_rw.wrapper.orchestration.aliases import Aliases, reads, trailing_yield
from pypto_rw.wrapper.orchestration.callees import Program
from pypto_rw.wrapper.orchestration.carries import Slot, at_yield, before_branches, before_loop, start_value
from pypto_rw.wrapper.orchestration.expressions import c_type, cpp, scalar_type
from pypto_rw.wrapper.orchestration.frame import Frame, Silenced, author_name
from pypto_rw.wrapper.orchestration.scopes import scoped
from pypto_rw.wrapper.orchestration.tasks import bind_item, dummy, launch
from pypto_rw.wrapper.orchestration.tensors import MAKERS, allocate, is_create, is_ready, workspaces, write
from pypto_rw.wrapper.orchestration.values import (
    BrokenValue,
    ScalarValue,
    TasksValue,
    TaskValue,
    TensorValue,
    TupleValue,
    WindowValue,
)
from pypto_rw.wrapper.signature import extents, others_of, tensors_of
from pypto_rw.wrapper.templates import Lines, fill, fill_line, text
from pypto_rw.wrapper.units import Rejected, callee_of

_DIRECTION = {"In": Direction.IN, "Out": Direction.OUT, "InOut": Direction.INOUT}
_MANUAL = ("mode", ir.Symbol("ScopeMode.MANUAL"))


@dataclass(frozen=True, slots=True)
class Orchestration:
    """The text of one orchestration, the kernels it launches, and what the entry does with its tensors."""

    text: str
    kernels: tuple[Launched, ...]
    signature: tuple[Direction, ...]


def generate(module: ir.Module, function: ir.Function, *, target: str, filename: str) -> Orchestration:
    """C++ of the orchestration `function` of `module`. Raises OrchestrationRefused with all that is refused."""
    function = scoped(function)
    frame = Frame(function, Program({f.name: f for f in module.functions}), target, filename, span=function.span)
    writer = _Writer(frame)
    lines = writer.entry()
    if writer.refused:
        raise OrchestrationRefused(writer.refused)
    signature = tuple(_DIRECTION[p.direction] for p, _ in tensors_of(function))
    return Orchestration(text(lines), tuple(frame.kernels.values()), signature)


class OrchestrationRefused(Exception):
    """An orchestration that cannot be written; `diagnostics` in source order."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(f"{len(diagnostics)} refusals")
        self.diagnostics = tuple(diagnostics)


class _Writer:
    """Writes one orchestration; what is refused on the way is kept in `refused`."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.refused: list[Diagnostic] = []
        self.aliases = Aliases(frame.function.body, frame.program)
        self.workspaces = workspaces(frame)
        self.root_reads: dict[str, int] = {}
        for name in reads(frame.function.body):
            frame.reads[name] = frame.reads.get(name, 0) + 1
            root = self.aliases.root.get(name, name)
            self.root_reads[root] = self.root_reads.get(root, 0) + 1
        self.assigned = Counter(  # only what has one value can be made ahead of its statement
            t for s in ir.statements(frame.function.body) if isinstance(s, ir.Assign) for t in s.targets
        )
        self.made: set[str] = set()  # temporaries that have been allocated ahead
        self.yields: list[tuple[list[Slot], str]] = []
        self.placeholder: TensorValue | None = None

    # ------------------------------------------------------------------------------------- entry

    def entry(self) -> Lines:
        """The whole file."""
        frame = self.frame
        arguments: Lines = []
        body: Lines = []
        try:
            arguments = self._arguments()
            body = self.body(frame.function.body)
            arguments += self._dimensions()
        except Rejected as rejected:
            self.refused.append(rejected.diagnostic)
        except Unfit as unfit:
            self.refused.append(frame.refused("unfit-name", str(unfit), "rename it").diagnostic)
        return fill(
            "orchestration/source.cpp",
            name=frame.function.name,
            count=str(len(frame.function.params)),
            arguments=arguments,
            body=body,
        )

    def _arguments(self) -> Lines:
        frame = self.frame
        lines: Lines = []
        for index, (param, type_) in enumerate(tensors_of(frame.function)):
            name = frame.names.take(f"ext_{author_name(param.name)}", f"ext_{param.name}")
            frame.bind(param.name, TensorValue(name, type_, 0))
            self.placeholder = self.placeholder or TensorValue(name, type_, 0)
            lines += fill("orchestration/tensor_argument.cpp", name=name, index=str(index))
        for index, param in enumerate(others_of(frame.function)):
            frame.span = param.span
            name = frame.named(param.name)
            match param.type:
                case ir.ScalarType(dtype):
                    frame.bind(param.name, ScalarValue(name, dtype, 0))
                    form, type_text = "orchestration/scalar_argument.cpp", c_type(frame, dtype)
                    lines += fill(form, name=name, index=str(index), type=type_text)
                case ir.OpaqueType("pld.CommCtxType"):
                    frame.bind(param.name, WindowValue(name, 0))
                    lines += fill("orchestration/context_argument.cpp", name=name, index=str(index))
                case _:
                    raise frame.refused(
                        "entry-parameter",
                        f"{param.name} is neither a tensor, a scalar nor a communication context",
                        "pass a tensor",
                    )
        for symbol in dict.fromkeys(n for _, t in tensors_of(frame.function) for n in names_in(t.shape)):
            if symbol not in frame.values:
                frame.symbols[symbol] = frame.named(symbol)
        return lines

    def _dimensions(self) -> Lines:
        """The run-time extents that the body mentions."""
        frame = self.frame

        def extent(tensor: int, axis: int) -> str:
            return fill_line("orchestration/extent.cpp", index=str(tensor), axis=str(axis))

        values = extents(frame.function, extent, frame.filename, frame.used_symbols)
        return [
            line
            for symbol, value in values.items()
            for line in fill("orchestration/dimension.cpp", name=frame.symbols[symbol], value=value)
        ]

    # -------------------------------------------------------------------------------- statements

    def body(self, statements: tuple[ir.Stmt, ...]) -> Lines:
        """The statements of one C++ scope; its temporaries come first, as far as they can."""
        here = [s for s in statements if isinstance(s, ir.Assign) and is_create(s)]
        here += [c for s in statements if isinstance(s, ir.Scope) for c in self._outliving(s)]
        lines = self._allocate([c for c in here if c.targets[0] not in self.made and self.assigned[c.targets[0]] == 1])
        for stmt in statements:
            lines += self._guarded(stmt)
        return lines

    def _allocate(self, creates: list[ir.Assign]) -> Lines:
        ready = [c for c in creates if is_ready(self.frame, c, self.workspaces)]
        self.made |= {c.targets[0] for c in ready}
        try:
            return allocate(self.frame, ready, self.workspaces)
        except Rejected as rejected:
            self.refused.append(rejected.diagnostic)
        except Silenced:
            pass
        self.frame.values.update({c.targets[0]: BrokenValue() for c in ready})
        return []

    def _outliving(self, scope: ir.Scope) -> list[ir.Assign]:
        """Temporaries of a manual scope that are used after it; they are made before it."""
        if _MANUAL not in scope.call.kwargs and scope.call.callee != "manual_scope":
            return []
        creates = [s for s in scope.body if isinstance(s, ir.Assign) and is_create(s)]
        creates += [c for s in scope.body if isinstance(s, ir.Scope) for c in self._outliving(s)]
        if not creates:
            return []
        inside: dict[str, int] = {}
        for name in reads(scope.body):
            root = self.aliases.root.get(name, name)
            inside[root] = inside.get(root, 0) + 1
        return [c for c in creates if self.root_reads.get(c.targets[0], 0) > inside.get(c.targets[0], 0)]

    def _guarded(self, stmt: ir.Stmt) -> Lines:
        """The lines of `stmt`; where it is refused, none, and its results are broken."""
        self.frame.span = stmt.span
        try:
            return self._statement(stmt)
        except Rejected as rejected:
            self.refused.append(rejected.diagnostic)
        except Silenced:
            pass
        targets: tuple[str, ...] = stmt.targets if isinstance(stmt, ir.Assign | ir.Yield) else ()
        if isinstance(stmt, ir.For | ir.While | ir.If):
            last = trailing_yield(stmt.body)
            targets = last.targets if last else ()
        self.frame.values.update({t: BrokenValue() for t in targets})
        return []

    def _statement(self, stmt: ir.Stmt) -> Lines:
        match stmt:
            case ir.Assign():
                return self._assign(stmt)
            case ir.Evaluate(value=ir.Call() as call):
                return self._effect(call)
            case ir.Scope():
                return self._scope(stmt)
            case ir.For():
                return self._for(stmt)
            case ir.While():
                return self._while(stmt)
            case ir.If():
                return self._if(stmt)
            case ir.Yield():
                slots, variable = self.yields[-1] if self.yields else ([], "")
                return at_yield(self.frame, stmt.values, slots, variable)
            case ir.Return():
                for name in names_in(stmt.values):
                    if name not in self.frame.values and name not in self.frame.symbols:
                        help = "return what a statement of this function defines, or a parameter"
                        raise self.frame.refused("unbound-variable", f"{name} has no value here", help)
                return []
        raise self.frame.refused("orchestration-statement", "an orchestration has no such statement")

    def _assign(self, stmt: ir.Assign) -> Lines:
        frame, value = self.frame, stmt.value
        target = stmt.targets[0]
        if is_create(stmt):
            if target in self.made:
                return []
            return allocate(frame, [stmt], self.workspaces)
        match value:
            case ir.Call() if callee_of(value) is not None:
                return launch(frame, value, stmt.targets, stmt.type)
            case ir.Call() if value.callee in MAKERS:
                return MAKERS[value.callee](frame, target, stmt.type, value)
            case ir.Call(callee="system.task_dummy"):
                return dummy(frame, value, target)
            case ir.Call(callee="system.task_invalid") | ir.Name("None"):
                name = frame.named(target)
                frame.bind(target, TaskValue(name, frame.scope, certain=False))
                return fill("orchestration/local.cpp", type="PTO2TaskId", name=name, value="PTO2TaskId::invalid()")
            case ir.Call(callee="array.create" | "array.update_element" | "array.get_element"):
                return self._array(target, value)
            case ir.Item(value=ir.Name(id), index=index):
                whole = frame.look(id)
                if not isinstance(whole, TupleValue) or index >= len(whole.items):
                    raise frame.refused("result-index", f"{id} has no result {index}")
                return bind_item(frame, target, whole.items[index])
            case ir.Name(id) if id not in frame.symbols and not isinstance(frame.look(id), ScalarValue):
                frame.bind(target, frame.look(id))
                return []
            case ir.Call():
                raise self._unknown(value)
        dtype = stmt.type.dtype if isinstance(stmt.type, ir.ScalarType) else scalar_type(frame, value)
        if dtype is None:
            raise frame.refused("orchestration-expression", f"the type of {target} is not known here")
        computed = cpp(frame, value)
        name = frame.named(target)
        frame.bind(target, ScalarValue(name, dtype, frame.scope))
        return fill("orchestration/local.cpp", type=c_type(frame, dtype), name=name, value=computed)

    def _effect(self, call: ir.Call) -> Lines:
        if callee_of(call) is not None:
            return launch(self.frame, call, (), None)
        if call.callee == "tensor.write":
            return write(self.frame, call)
        if call.callee == "system.task_dummy":
            return dummy(self.frame, call, "barrier")
        raise self._unknown(call)

    def _unknown(self, call: ir.Call) -> Rejected:
        return self.frame.refused(
            "orchestration-op",
            f"{call.callee} has no C++ in an orchestration",
            "move the operation into a kernel, and launch that",
        )

    def _array(self, target: str, call: ir.Call) -> Lines:
        """Arrays of task ids: made invalid, changed in place."""
        frame = self.frame
        if call.callee == "array.create":
            size = call.args[0] if call.args else None
            if (
                not isinstance(size, ir.Int)
                or size.value <= 0
                or dict(call.kwargs).get("dtype") != ir.Symbol("TASK_ID")
            ):
                raise frame.refused(
                    "task-array",
                    "an orchestration has arrays of task ids, of a constant size",
                    "pass other values as scalars",
                )
            name = frame.named(target)
            frame.bind(target, TasksValue(name, size.value, frame.scope))
            return fill("orchestration/task_id_array.cpp", name=name, size=str(size.value))
        array = frame.look(call.args[0].id) if call.args and isinstance(call.args[0], ir.Name) else None
        if not isinstance(array, TasksValue) or len(call.args) != (2 if call.callee == "array.get_element" else 3):
            raise frame.refused("task-array", f"{call.callee} takes an array of task ids and an index")
        index = cpp(frame, call.args[1])
        if call.callee == "array.get_element":
            name = frame.named(target)
            frame.bind(target, TaskValue(name, frame.scope, certain=False))
            return fill("orchestration/local.cpp", type="PTO2TaskId", name=name, value=f"{array.text}[{index}]")
        task = start_value(frame, call.args[2])
        if not isinstance(task, TaskValue):
            raise frame.refused("task-array", "an element of an array of task ids is a task id")
        frame.bind(target, array)
        return fill("orchestration/assign_slot.cpp", name=array.text, index=index, value=task.text)

    # -------------------------------------------------------------------------------- structures

    def _scope(self, stmt: ir.Scope) -> Lines:
        call = stmt.call
        if call.callee not in ("scope", "manual_scope") or stmt.loop or set(call.kwargs) - {_MANUAL}:
            raise self.frame.refused(
                "orchestration-scope",
                f"a pl.{call.callee} scope is code of a kernel that has not been moved out yet",
                "build the program as it is after the last pass",
            )
        manual = bool(call.kwargs) or call.callee == "manual_scope"
        with self.frame.opened():
            body = self.body(stmt.body)
        return fill("orchestration/scope_manual.cpp" if manual else "orchestration/scope.cpp", body=body)

    def _for(self, loop: ir.For) -> Lines:
        frame = self.frame
        if loop.kind not in ("range", "parallel"):
            raise frame.refused(
                "loop-kind", f"an orchestration has no pl.{loop.kind} loop", "write pl.range or pl.parallel"
            )
        start = cpp(frame, loop.bounds[0]) if len(loop.bounds) > 1 else "0"
        stop = cpp(frame, loop.bounds[1] if len(loop.bounds) > 1 else loop.bounds[0])
        step = loop.bounds[2] if len(loop.bounds) > 2 else ir.Int(1)
        form = "for_either"
        if isinstance(step, ir.Int):
            if step.value == 0:
                raise frame.refused("loop-step", "the step of the loop is 0", "give a step up or down")
            form = "for_up" if step.value > 0 else "for_down"
        by = cpp(frame, step)
        last = trailing_yield(loop.body)
        results = last.targets if last else ()
        lines, slots = before_loop(frame, loop, results, self.aliases)
        variable = frame.named(loop.variable)
        with frame.opened(region=True, loop=loop.kind == "range"):
            frame.bind(loop.variable, ScalarValue(variable, ir.DType.INDEX, frame.scope))
            body = self._carrying(loop.body, slots, variable)
        for target, slot in zip(results, slots, strict=True):
            frame.bind(target, slot.value)
        return lines + fill(f"orchestration/{form}.cpp", variable=variable, start=start, stop=stop, step=by, body=body)

    def _while(self, loop: ir.While) -> Lines:
        frame = self.frame
        last = trailing_yield(loop.body)
        results = last.targets if last else ()
        lines, slots = before_loop(frame, loop, results, self.aliases)
        condition = cpp(frame, loop.condition)
        with frame.opened(region=True, loop=True):
            body = self._carrying(loop.body, slots, "")
        for target, slot in zip(results, slots, strict=True):
            frame.bind(target, slot.value)
        return lines + fill("orchestration/while.cpp", condition=condition, body=body)

    def _if(self, branch: ir.If) -> Lines:
        frame = self.frame
        condition = cpp(frame, branch.condition)
        lines, slots = before_branches(frame, branch, self.placeholder)
        before = set(frame.written)
        with frame.opened(region=True):
            body = self._carrying(branch.body, slots, "")
        after, frame.written = frame.written, before
        with frame.opened(region=True):
            orelse = self._carrying(branch.orelse or (), slots if branch.orelse else [], "")
        frame.written |= after
        last = trailing_yield(branch.body)
        for target, slot in zip(last.targets if last else (), slots, strict=False):
            frame.bind(target, slot.value)
        if branch.orelse:
            return lines + fill("orchestration/if_else.cpp", condition=condition, body=body, orelse=orelse)
        return lines + fill("orchestration/if.cpp", condition=condition, body=body)

    def _carrying(self, body: tuple[ir.Stmt, ...], slots: list[Slot], variable: str) -> Lines:
        self.yields.append((slots, variable))
        try:
            return self.body(body)
        finally:
            self.yields.pop()
