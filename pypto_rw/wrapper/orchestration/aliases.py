"""Which tensor a name is in the end: calls hand back their arguments, loops what they were given.

Needed before text is written, for temporaries that outlive a manual scope and for loops whose carries are not
classified yet. Source: orchestration-overview.md §3, §5.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.scalars import names_in
from pypto_rw.wrapper.orchestration.callees import Program, Unlaunchable
from pypto_rw.wrapper.units import callee_of


class Aliases:
    """`root[name]`: the variable whose storage `name` is; itself where it has its own."""

    def __init__(self, body: tuple[ir.Stmt, ...], program: Program) -> None:
        self.root: dict[str, str] = {}
        self._tuples: dict[str, list[str | None]] = {}
        self._program = program
        self._walk(body)

    def of(self, expr: ir.Expr) -> str | None:
        """The root of a variable; None for any other expression."""
        return self.root.get(expr.id, expr.id) if isinstance(expr, ir.Name) else None

    def _walk(self, body: tuple[ir.Stmt, ...]) -> None:
        for stmt in body:
            match stmt:
                case ir.Assign():
                    self._assign(stmt)
                case ir.For() | ir.While():
                    for carried, initial in zip(stmt.carried, stmt.initial, strict=False):
                        self.root[carried] = self.of(initial) or carried
                    self._walk(stmt.body)
                    last = trailing_yield(stmt.body)
                    for k, target in enumerate(last.targets if last else ()):
                        start = self.of(stmt.initial[k]) if k < len(stmt.initial) else None
                        same = last is not None and k < len(last.values) and self.of(last.values[k]) == start
                        self.root[target] = start if same and start is not None else target
                case ir.If():
                    self._walk(stmt.body)
                    self._walk(stmt.orelse or ())
                case ir.Scope():
                    self._walk(stmt.body)
                case _:
                    pass

    def _assign(self, stmt: ir.Assign) -> None:
        value = stmt.value
        if isinstance(value, ir.Call) and (name := callee_of(value)) is not None:
            arguments = value.args[1:] if not value.callee.startswith("self.") else value.args
            try:
                outputs = self._program.outputs(name) if name in self._program.functions else []
            except Unlaunchable:
                outputs = []
            results = [self.of(arguments[k]) if k < len(arguments) else None for k in outputs]
            if len(stmt.targets) > 1:
                for target, result in zip(stmt.targets, results, strict=False):
                    self.root[target] = result or target
            elif isinstance(stmt.type, ir.TupleType) or not value.callee.startswith("self."):
                self._tuples[stmt.targets[0]] = results
            elif results:
                self.root[stmt.targets[0]] = results[0] or stmt.targets[0]
        elif isinstance(value, ir.Item) and isinstance(value.value, ir.Name):
            items = self._tuples.get(value.value.id, [])
            root = items[value.index] if value.index < len(items) else None
            self.root[stmt.targets[0]] = root or stmt.targets[0]
        elif isinstance(value, ir.Call) and value.callee in ("tensor.assemble", "array.update_element") and value.args:
            self.root[stmt.targets[0]] = self.of(value.args[0]) or stmt.targets[0]
        else:
            for target in stmt.targets:
                self.root[target] = self.of(value) or target


def trailing_yield(body: tuple[ir.Stmt, ...]) -> ir.Yield | None:
    """The yield that ends a block, inside the scope around it or not."""
    last = body[-1] if body else None
    if isinstance(last, ir.Scope):
        return trailing_yield(last.body)
    return last if isinstance(last, ir.Yield) else None


def reads(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """Every variable that the statements of `body` read, once for each time."""
    for stmt in ir.statements(body):
        match stmt:
            case ir.Assign() | ir.Evaluate():
                yield from names_in((stmt.value,))
            case ir.Yield() | ir.Return():
                yield from names_in(stmt.values)
            case ir.For():
                yield from names_in((*stmt.bounds, *stmt.initial))
            case ir.While():
                yield from names_in((stmt.condition, *stmt.initial))
            case ir.If():
                yield from names_in((stmt.condition,))
            case _:
                pass
