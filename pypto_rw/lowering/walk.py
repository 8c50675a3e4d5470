"""A function's statements as a tree of instances, in order: what the emitter prints.

The walk knows names, scopes, allocations and regions; `calls` has what a call makes, `loops` and `branches` the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pypto_rw import ir
from pypto_rw.diagnostics import Diagnostic, Severity, Span
from pypto_rw.layout import effective_view
from pypto_rw.lowering import allocations
from pypto_rw.lowering.calls import Calls
from pypto_rw.lowering.nodes import Do, Node, Same, Scoped, Walked
from pypto_rw.lowering.replay import Replay
from pypto_rw.lowering.tiles import Tiles
from pypto_rw.records import replace
from pypto_rw.rewriting.engine import Engine
from pypto_rw.scalars import WIDE, names_in
from pypto_rw.shaping.operands import Instance, Operand, Var
from pypto_rw.shaping.shapes import Shaper
from pypto_rw.shaping.unit import Surroundings, windows_and_contexts
from pypto_rw.shaping.values import Refused, Value, kind_of, moves, strided, undefined

if TYPE_CHECKING:
    from pypto_rw.lowering.branches import Branches
    from pypto_rw.lowering.loops import Loops

_CALLS = (ir.Assign, ir.Evaluate)
_ARGUMENTS = frozenset(
    d
    for d in ir.DType
    if d.value in ("BOOL", "INDEX", "FP16", "BF16", "FP32", "TASK_ID")
    or (d.value.startswith(("INT", "UINT")) and not d.value.endswith("T4"))
)
_POINTER = Value(ir.OpaqueType("pl.Ptr"))
_READ_NOTHING = (ir.Int, ir.Symbol)


class Walker:
    """Walks one function; `diagnostics` collects every refusal, `notes` the warnings.

    `place` gives a tile whose type was deduced its memory; `marks` adds the fences and cache marks that stores into
    windows, remote stores and waits need."""

    def __init__(
        self,
        engine: Engine,
        function: ir.Function,
        *,
        addresses: bool,
        filename: str,
        place: Callable[[str, ir.Type], ir.Type] | None = None,
        surroundings: Surroundings | None = None,
        marks: bool = False,
    ) -> None:
        self.place = place or (lambda name, t: t)
        self.marks = marks
        self.engine, self.function, self.addresses, self.filename = engine, function, addresses, filename
        self.values = Scoped()
        self.diagnostics: list[Diagnostic] = []
        self.notes: list[Diagnostic] = []
        self.shaper = Shaper(
            engine, self.values.get, addresses=addresses, surroundings=surroundings or Surroundings(function)
        )
        self.tiles = Tiles(function, self.shaper, self.values, addresses)
        self.calls = Calls(self)
        self.replay = Replay(self, plain=place is None and engine.watch is None)
        self._loops: Loops | None = None
        self._branches: Branches | None = None
        self.used: set[str] = set()
        self.hidden: set[str] = set()
        self.refused: set[str] = set()  # names of refused statements
        self.updates: dict[str, str] = {}  # results that update a tile in place, and that tile
        self.declared: dict[str, str] = {}  # functions that the text calls, with their types
        self.elements: dict[str, dict[int, ir.Assign]] = {}
        self.written: dict[str, str] = {}  # parameter -> "tile" or "scalar", by what stores into it
        self.unviewed: set[str] = {"__gm_pipe_buffer"}

    def walk(self) -> Walked:
        """The whole function."""
        for p in self.function.params:
            if isinstance(p.type, ir.ScalarType) and p.type.dtype not in _ARGUMENTS:
                refused = Refused(
                    "scalar-dtype",
                    f"the parameter {p.name} is a scalar of {p.type.dtype.value}; the chip takes none of it",
                    p.span,
                    "pass it as an integer or float of at least 8 bits, or in a tensor",
                )
                self.diagnostics.append(refused.diagnostic(p.span, self.filename, self.function.name))
            if isinstance(p.type, ir.TileType) and p.type.memref is not None:  # in a rule's example
                self.values[p.name] = self.tiles.of(p.name, p.type)
            else:
                self.values[p.name] = Value(p.type, root=p.name)
        self._contexts()
        for p in self.function.params:
            if isinstance(p.type, ir.TensorType):
                self._symbols(p.type)
                if p.type.view is not None and p.type.view.marker and p.type.view.layout is ir.TensorLayout.DN:
                    refused = Refused(
                        "dn-marker",
                        f"pl.DN as a layout-only marker of {p.name} does not say where its elements are",
                        p.span,
                        "write the shape as it lies in memory, without pl.DN, and turn the loaded tile: "
                        "pl.tile.transpose_view(tile); or write the strides, for a shape [m, n]: "
                        "pl.TensorView(stride=[1, m], layout=pl.TensorLayout.DN)",
                    )
                    self.diagnostics.append(refused.diagnostic(p.span, self.filename, self.function.name))
        if not self.addresses:
            self.diagnostics += self.tiles.make_regions(self.filename)
        returns = [s for s in ir.statements(self.function.body) if isinstance(s, ir.Return)]
        if len(returns) > 1 or (returns and returns[0] is not self.function.body[-1]):
            self._early_returns()
        body = self.block(self.function.body)
        self.hidden |= self.shaper.hidden
        return Walked(
            self.function,
            body,
            self.tiles.handles,
            self.tiles.offsets,
            self.used,
            self.hidden,
            self.tiles.placed_regions(),
            self.unviewed,
            self.updates,
        )

    def warn(self, code: str, message: str, span: Span, help: str) -> None:
        """Note what is lowered all the same."""
        severity, name = Severity.warning, self.function.name
        self.notes.append(
            Diagnostic(code, message, span, help, severity=severity, filename=self.filename, function=name)
        )

    def _early_returns(self) -> None:
        from pypto_rw.lowering.returns import early  # few kernels return in more than one place

        for stmt in early(self.function.body):
            refused = Refused(
                "jump",
                "return has no instruction: what follows it in the function would run all the same",
                stmt.span,
                "put what follows into the else of its if, or remove it",
            )
            self.diagnostics.append(refused.diagnostic(stmt.span, self.filename, self.function.name))

    def _contexts(self) -> None:
        if windows_and_contexts(self.function) == ([], []):
            return
        from pypto_rw.distributed.windows import require_contexts  # only kernels with windows need that module

        try:
            require_contexts(self.function)
        except Refused as refused:
            self.diagnostics.append(refused.diagnostic(self.function.span, self.filename, self.function.name))
            for name in windows_and_contexts(self.function)[0]:
                self.values[name] = replace(self.values[name], root=None)  # reported once

    def one_window(self, name: str, first: Value, second: Value | None, where: str, span: Span) -> None:
        """Refused: a name would stand for two windows."""
        if second is not None and first.root != second.root:
            from pypto_rw.distributed.windows import require_one_window

            require_one_window(name, first, second, where, span)

    def _symbols(self, t: ir.TensorType) -> None:
        for name in names_in(t.shape):
            self.values.setdefault(name, Value(ir.ScalarType(ir.DType.INDEX), bounds=(0, WIDE)))

    # ------------------------------------------------------------------------- statements

    def block(self, body: tuple[ir.Stmt, ...]) -> list[Node]:
        """Nodes of a block; a refused statement is reported and left out."""
        out: list[Node] = []
        for stmt in body:
            if (
                isinstance(stmt, ir.Assign)
                and isinstance(stmt.value, ir.Item)
                and isinstance(stmt.value.value, ir.Name)
            ):
                self.elements.setdefault(stmt.value.value.id, {})[stmt.value.index] = stmt
        depth = self.values.depth()
        for stmt in self._marked(body) if self.marks else body:
            try:
                if isinstance(stmt, _CALLS):
                    self.replay.statement(stmt, out)
                else:
                    self.statement(stmt, out)
            except Refused as refused:
                while self.values.depth() > depth:  # it was refused inside a block of its own
                    self.values.leave()
                self._explain_symbol(refused, stmt)
                self.diagnostics.append(refused.diagnostic(stmt.span, self.filename, self.function.name))
                self._poison(stmt)
        return out

    def _marked(self, body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
        """The statements of a block, each followed by its marks; marks that already follow are not doubled."""
        from pypto_rw.distributed.windows import marks

        at = 0
        while at < len(body):
            stmt = body[at]
            at += 1
            yield stmt
            call = stmt.value if isinstance(stmt, ir.Assign | ir.Evaluate) else None
            if not isinstance(call, ir.Call):
                continue
            for mark in marks(call, self.engine.rulebook.signature(call.callee), self.values.get):
                following = body[at] if at < len(body) else None
                if isinstance(following, ir.Evaluate) and following.value == mark:
                    yield following
                    at += 1
                else:
                    yield ir.Evaluate(mark, stmt.span)

    def _explain_symbol(self, refused: Refused, stmt: ir.Stmt) -> None:
        """A symbol that only a valid_shape names is no argument of the function: say so."""
        if refused.code != "undefined-name" or refused.name is None:
            return
        refused.message = f"{refused.message} in {self.function.name}"
        self.values[refused.name] = Value(ir.ScalarType(ir.DType.INDEX))  # reported once
        from pypto_rw.front.places import defined_inside  # only a refused kernel needs it

        if (inside := defined_inside(self.function.body, refused.name)) is not None:
            where = f"the {inside[0]} of line {inside[1]}"
            refused.message = f"cannot materialize symbol {refused.name}: it is defined only inside {where}"
            refused.help = f"give it a value before {where}{', or in both branches' if inside[0] == 'if' else ''}"
            return
        result = stmt.type if isinstance(stmt, ir.Assign) and isinstance(stmt.type, ir.TileType) else None
        if result is not None and refused.name in names_in(effective_view(result).valid):
            refused.help = (
                f"only the dimensions of tensor parameters are arguments by themselves, not what a valid_shape of "
                f"pl.load or pl.TensorView names: pass it as the parameter {refused.name}: pl.Scalar[pl.INDEX]"
            )
        for p in self.function.params:
            view = p.type.view if isinstance(p.type, ir.TensorType) else None
            if view is not None and view.valid and refused.name in names_in(view.valid):
                refused.help = (
                    f"{refused.name} stands only in the pl.TensorView(valid_shape=…) of the parameter {p.name}: pass "
                    f"it as the parameter {refused.name}: pl.Scalar[pl.INDEX], or give pl.load a valid_shape"
                )

    def _poison(self, stmt: ir.Stmt) -> None:
        """After a refusal: the targets keep their written type, so that one fault is reported once."""
        if isinstance(stmt, ir.For | ir.While | ir.If) and stmt.body and isinstance(stmt.body[-1], ir.Yield):
            self._poison(stmt.body[-1])
        if isinstance(stmt, ir.Assign | ir.Yield):
            self.refused.update(stmt.targets)
        if isinstance(stmt, ir.Assign | ir.Yield) and stmt.type is not None:
            for name in stmt.targets:
                place = (name, name, name)
                if name not in self.values:
                    self.values[name] = Value(stmt.type, place=place if kind_of(stmt.type) == "tile" else None)

    def statement(self, stmt: ir.Stmt, out: list[Node]) -> None:
        """Adds the nodes of one statement to `out`."""
        match stmt:
            case ir.Assign():
                self._assign(stmt, out)
            case ir.Evaluate():
                if not isinstance(stmt.value, ir.Call):
                    raise Refused("no-effect", "this expression has no effect; assign it or remove it")
                self.calls.call(stmt.value, None, None, stmt.span, out)
            case ir.For():
                out.append(self._of_loops().range(stmt))
            case ir.While():
                out.append(self._of_loops().while_(stmt))
            case ir.If():
                out.append(self._of_branches().branch(stmt))
            case ir.Return():
                for v in stmt.values:
                    self.use(v)
                for name in names_in(stmt.values):
                    if name not in self.values and name not in self.refused:
                        raise undefined(name, "or return what another statement defines")
            case ir.Yield():
                raise Refused("stray-yield", "pl.yield_ must be the last statement of a loop body or a branch")
            case ir.Jump():
                if stmt.kind != "...":
                    raise Refused(
                        "jump",
                        f"{stmt.kind} has no instruction: a loop in a kernel ends by its condition alone",
                        help=_INSTEAD[stmt.kind],
                    )
            case ir.Scope():
                raise Refused("scope", "a scope statement cannot be in a device function", stmt.call.span)

    def _of_loops(self) -> Loops:
        if self._loops is None:
            from pypto_rw.lowering.loops import Loops  # half of all kernels have none

            self._loops = Loops(self)
        return self._loops

    def _of_branches(self) -> Branches:
        if self._branches is None:
            from pypto_rw.lowering.branches import Branches

            self._branches = Branches(self)
        return self._branches

    def require_fixed(self, value: Value | None, what: str, span: Span) -> None:
        """Refused: the place of a tile is printed, but only run time tells it."""
        if moves(value):
            raise Refused(
                "view-of-window",
                f"{what} is a window whose place only run time tells, and it would be read at the start of its tile",
                span,
                _EXTRACT,
            )
        if self.addresses:
            self.require_whole_rows(value, what, span)

    def require_whole_rows(self, value: Value | None, what: str, span: Span) -> None:
        """Refused: a window of some columns, where its rows are taken to follow one another."""
        if value is not None and strided(value):
            raise Refused(
                "view-of-window",
                f"{what} is a window of some columns of its tile, and it is read as if its rows followed one another",
                span,
                _EXTRACT,
            )

    def use(self, expr: ir.Expr) -> None:
        """The function reads these variables."""
        if isinstance(expr, ir.Name):
            self.used.add(expr.id)
        elif not isinstance(expr, _READ_NOTHING):
            self.used.update(names_in((expr,)))

    def _assign(self, stmt: ir.Assign, out: list[Node]) -> None:
        value = stmt.value
        if len(stmt.targets) != 1:
            raise Refused("tuple-target", "several names need a pl.yield_ on the right")
        name = stmt.targets[0]
        if isinstance(value, ir.Call):
            self.calls.call(value, name, stmt.type, stmt.span, out)
            return
        if isinstance(value, ir.Item) and isinstance(value.value, ir.Name):
            of = self.values.get(value.value.id)
            if of is not None and isinstance(of.type, ir.TupleType):  # its call has been refused
                self._poison(stmt)
            elif name not in self.values:
                raise Refused("tuple-element", f"{value.value.id} is no tuple with an element {value.index}")
            return  # declared where the tuple was made
        if isinstance(value, ir.Name):
            found = self.values.get(value.id)
            if found is not None and kind_of(found.type) != "scalar":
                out.append(self._alias(name, value.id, found, stmt))
                return
        self.use(value)
        dtype = self.shaper.dtype(value)
        written = stmt.type if isinstance(stmt.type, ir.ScalarType) else ir.ScalarType(dtype)
        operand = self.shaper.assigned(value, dtype, written.dtype)
        known = self.shaper.bounds(value)
        constant = self.shaper.resolved(value)
        self.values[name] = Value(
            written, bounds=known, constant=constant if isinstance(constant, ir.Int | ir.Float) else None
        )
        if isinstance(operand, Instance):
            operand.result = name
            out.append(Do(operand, None, stmt.span, stmt.span))
        elif isinstance(operand, Var) or operand.dtype == "BOOL":
            out.append(Same(name, operand, None, stmt.span))

    def _alias(self, name: str, source: str, found: Value, stmt: ir.Assign) -> Same:
        self.used.add(source)
        alloc = None
        value = replace(found, type=stmt.type or found.type)
        if (
            isinstance(value.type, ir.TileType)
            and value.type.memref is not None
            and not _in_parts(found, self.addresses)
        ):
            own = self.tiles.of(name, value.type)
            alloc = self.tiles.alloc(name, own)
            if self.addresses:
                value = own
        self.values[name] = value
        return Same(name, Var(source), alloc, stmt.span)

    def allocate(self, name: str, call: ir.Call) -> None:
        """An allocation is something that tiles are in; nothing is printed."""
        self.values[name] = _POINTER
        if call.callee == "tile.alloc":
            self.tiles.allocations[name] = allocations.allocation(call)

    def operand_value(self, expr: ir.Expr | None) -> Value | None:
        """What is known of a variable; None for another expression."""
        return self.values.get(expr.id) if isinstance(expr, ir.Name) else None

    def condition(self, expr: ir.Expr) -> Operand:
        """The operand of a condition. Refused: it is not BOOL."""
        self.use(expr)
        dtype = self.shaper.dtype(expr)
        if dtype is not ir.DType.BOOL:
            from pypto_rw.wording import compared

            raise Refused("condition-dtype", f"a condition must be BOOL; got {dtype.value}", help=compared(expr))
        return self.shaper.scalar(expr)


def _in_parts(value: Value, addresses: bool) -> bool:
    """Whether a value is a window that no tile with an address of its own stands for."""
    return moves(value) or (addresses and strided(value))


_EXTRACT = "take it with pl.tile.extract(tile, row, column, [rows, columns]), which copies what it shows"
_INSTEAD = {
    "break": "carry a flag: for (stop, …) in pl.while_(init_values=(False, …)): pl.cond(… and not stop); "
    "yield True for it where the loop is to end",
    "continue": "put what follows it into the else of its if, and yield from both arms",
}
