"""A function as the planner sees it: names resolved to variables, statements with their facts.

Variables are objects, so a name that is used twice does no harm; passes change where a variable lives
(`Variable.memory`) and append moves. `rebuild.py` writes the result back into the module.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.memory.facts import Facts, OpFacts
from pypto_rw.records import dataclass, field
from pypto_rw.scalars import names_in
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.values import Refused

_NAMING = (ir.Name, ir.Tuple, ir.Binary, ir.Unary, ir.Cast, ir.Item, ir.Call)  # what may name variables
ZERO = ir.Int(0, ir.DType.INT64)


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of an allocation. `offset` in bytes from the allocation (later: the address), a constant or a run-time
    expression; `size` in bytes; `slots`, `slot`: of a declared allocation."""

    base: str
    offset: ir.Expr
    size: int
    slots: int | None = None
    slot: ir.Expr | None = None

    @property
    def constant(self) -> int | None:
        """The offset, if it is a number."""
        return self.offset.value if isinstance(self.offset, ir.Int) else None


@dataclass(slots=True, eq=False)
class Variable:
    """A name at one place of the function. `home` defines it: a statement; None for a parameter.

    `role`: `parameter`, `assigned`, `carried` (a loop's name inside), `after` (a loop's result), `merged`."""

    name: str
    type: ir.Type | None
    role: str
    home: Step | Loop | Branch | None = None
    position: int = 0
    memory: Memory | None = None
    declared: ir.MemRef | None = None

    @property
    def tile(self) -> ir.TileType | None:
        """The variable's type if it is a tile."""
        return self.type if isinstance(self.type, ir.TileType) else None

    @property
    def base(self) -> str | None:
        """Name of its allocation."""
        return self.memory.base if self.memory is not None else None


@dataclass(slots=True, eq=False)
class Step:
    """A statement without a body. `operands`: the variables passed by position, None for anything else; `arguments`:
    the variables by parameter name, where the op gives a view, writes in place or reserves; `expressions`: all there;
    `reads`: every variable it names; `copied`: x of `y = x`."""

    stmt: ir.Stmt
    reads: tuple[Variable, ...]
    target: Variable | None = None
    call: ir.Call | None = None
    op: OpFacts | None = None
    operands: tuple[Variable | None, ...] = ()
    arguments: dict[str, Variable] = field(default_factory=dict)
    expressions: dict[str, ir.Expr] = field(default_factory=dict)
    copied: Variable | None = None
    elements: list[Variable] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class End:
    """A block's `pl.yield_`."""

    stmt: ir.Yield
    values: list[Variable | None]
    reads: tuple[Variable, ...]


@dataclass(slots=True, eq=False)
class Block:
    """Statements in order, and what they yield."""

    items: list[Step | Loop | Branch]
    end: End | None = None


@dataclass(slots=True, eq=False)
class Loop:
    """A `for` or `while`: `carried[k]` starts as `initial[k]`; `results[k]` is what it is afterwards."""

    stmt: ir.For | ir.While
    carried: list[Variable]
    initial: list[Variable | None]
    starts: tuple[Variable, ...]
    body: Block
    results: list[Variable]


@dataclass(slots=True, eq=False)
class Branch:
    """An `if`; `orelse` None where there is no else."""

    stmt: ir.If
    reads: tuple[Variable, ...]
    then: Block
    orelse: Block | None
    results: list[Variable]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Its branches."""
        return (self.then,) if self.orelse is None else (self.then, self.orelse)


@dataclass(slots=True, eq=False)
class Tree:
    """A function. `variables` in the order of definition (but for inserted moves); `names` are taken;
    `allocations`: name -> (space, bytes, declared) in order, filled in with the memories; `rebound`: tiles that are
    assigned in a loop or branch under a name from outside it; `straight`: there is neither loop nor branch."""

    function: ir.Function
    parameters: list[Variable]
    body: Block
    variables: list[Variable]
    names: set[str]
    facts: Facts
    rebound: list[Variable] = field(default_factory=list)
    straight: bool = False
    allocations: dict[str, tuple[ir.Space, int, bool]] = field(default_factory=dict)
    next: int = 0

    def take_apart(self) -> None:
        """Leave no cycle to the garbage collector; the tree is of no use afterwards."""
        for v in self.variables:
            v.home = None

    def tiles(self) -> Iterator[Variable]:
        """Every tile variable, in the order of definition."""
        return (v for v in self.variables if isinstance(v.type, ir.TileType))


def build(function: ir.Function, facts: Facts) -> Tree:
    """The tree of a device function."""
    builder = _Builder(facts)
    parameters = [builder.define(p.name, p.type, "parameter", None) for p in function.params]
    body = builder.block(function.body)
    names = {v.name for v in builder.variables}
    return Tree(function, parameters, body, builder.variables, names, facts, builder.rebound, builder.straight)


class _Builder:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.names: dict[str, Variable] = {}
        self.journal: list[dict[str, Variable | None]] = []
        self.variables: list[Variable] = []
        self.straight = True
        self.rebound: list[Variable] = []

    def define(
        self, name: str, type_: ir.Type | None, role: str, home: Step | Loop | Branch | None, position: int = 0
    ) -> Variable:
        declared = type_.memref if isinstance(type_, ir.TileType) else None
        variable = Variable(name, type_, role, home, position, None, declared)
        self.variables.append(variable)
        if self.journal:
            outer = self.names.get(name)
            if role == "assigned" and name not in self.journal[-1] and outer is not None and outer.tile:
                self.rebound.append(variable)
            self._bind(name, variable)
        else:
            self.names[name] = variable
        return variable

    def _bind(self, name: str, variable: Variable) -> None:
        if self.journal:
            self.journal[-1].setdefault(name, self.names.get(name))
        self.names[name] = variable

    def _enter(self) -> None:
        self.journal.append({})

    def _leave(self) -> None:
        for name, outer in self.journal.pop().items():
            if outer is None:
                del self.names[name]
            else:
                self.names[name] = outer

    def _named(self, expr: ir.Expr) -> Variable | None:
        return self.names.get(expr.id) if isinstance(expr, ir.Name) else None

    def _reads(self, *exprs: ir.Expr) -> tuple[Variable, ...]:
        found = (self.names.get(n) for n in names_in(exprs))
        return tuple(dict.fromkeys(v for v in found if v is not None))

    def block(self, body: tuple[ir.Stmt, ...]) -> Block:
        last = body[-1] if body else None
        out = Block([])
        for stmt in body[:-1] if isinstance(last, ir.Yield) else body:
            match stmt:
                case ir.For() | ir.While():
                    out.items.append(self._loop(stmt))
                case ir.If():
                    out.items.append(self._branch(stmt))
                case ir.Scope():
                    out.items.extend(self.block(stmt.body).items)
                case _:
                    out.items.append(self._step(stmt))
        if isinstance(last, ir.Yield):
            out.end = End(last, [self._named(v) for v in last.values], self._reads(*last.values))
        return out

    def _step(self, stmt: ir.Stmt) -> Step:
        match stmt:
            case ir.Assign() | ir.Evaluate():
                value = stmt.value
            case ir.Return() | ir.Yield():
                return Step(stmt, self._reads(*stmt.values))
            case _:
                return Step(stmt, ())
        if isinstance(value, ir.Call):
            step = self._called(stmt, value)
        elif isinstance(value, ir.Name):
            step = Step(stmt, self._reads(value))
            step.copied = self._named(value)
        elif isinstance(value, ir.Item) and isinstance(stmt, ir.Assign):
            step = Step(stmt, self._reads(value))
            tuple_ = self._named(value.value)
            if tuple_ is not None and isinstance(tuple_.home, Step):
                step.target = self.define(stmt.targets[0], stmt.type, "assigned", step)
                tuple_.home.elements.append(step.target)
                return step
        else:
            step = Step(stmt, self._reads(value))
        if isinstance(stmt, ir.Assign) and len(stmt.targets) == 1:
            type_ = stmt.type
            if type_ is None and step.copied is not None:
                type_ = step.copied.type
            step.target = self.define(stmt.targets[0], type_, "assigned", step)
        return step

    def _called(self, stmt: ir.Assign | ir.Evaluate, call: ir.Call) -> Step:
        """A call; what variables it names, in order, and which of them are operands."""
        names = self.names
        operands: list[Variable | None] = []
        found: dict[Variable, None] = {}
        for a in call.args:
            v = names.get(a.id) if isinstance(a, ir.Name) else None
            operands.append(v)
            if v is not None:
                found[v] = None
            elif isinstance(a, _NAMING) and not isinstance(a, ir.Name):
                found.update(dict.fromkeys(self._reads(a)))
        for _, a in call.kwargs:
            if isinstance(a, _NAMING):
                found.update(dict.fromkeys(self._reads(a)))
        op = self.facts.op(call.callee)
        step = Step(stmt, tuple(found), None, call, op, tuple(operands))
        if op is not None and (op.inherits or op.updates or op.window or op.reserves):
            self._arguments(step)
        return step

    def _arguments(self, step: Step) -> None:
        """Operands by parameter name; a call that does not fit its signature is refused when it is lowered."""
        if step.op is None or step.call is None:
            return
        try:
            step.expressions = bind(step.call, step.op.signature)
        except Refused:
            return
        step.arguments = {n: v for n, e in step.expressions.items() if (v := self._named(e)) is not None}

    def _loop(self, stmt: ir.For | ir.While) -> Loop:
        self.straight = False
        initial = [self._named(e) for e in stmt.initial]
        loop = Loop(stmt, [], initial, self._reads(*stmt.initial), Block([]), [])
        self._enter()
        if isinstance(stmt, ir.For):
            self._bind(stmt.variable, Variable(stmt.variable, None, "index", loop))
        for k, name in enumerate(stmt.carried):
            start = initial[k] if k < len(initial) else None
            loop.carried.append(self.define(name, _type_of(start), "carried", loop, k))
        loop.body = self.block(stmt.body)
        self._leave()
        if loop.body.end is not None:
            for k, name in enumerate(loop.body.end.stmt.targets):
                carried = loop.carried[k] if k < len(loop.carried) else None
                written = loop.body.end.stmt.type
                loop.results.append(self.define(name, written or _type_of(carried), "after", loop, k))
        return loop

    def _branch(self, stmt: ir.If) -> Branch:
        self.straight = False
        branch = Branch(stmt, self._reads(stmt.condition), Block([]), None, [])
        self._enter()
        branch.then = self.block(stmt.body)
        self._leave()
        if stmt.orelse is not None:
            self._enter()
            branch.orelse = self.block(stmt.orelse)
            self._leave()
        end = branch.then.end or (branch.orelse.end if branch.orelse is not None else None)
        if end is not None:
            for k, name in enumerate(end.stmt.targets):
                found = _merged_type(branch, k)
                branch.results.append(self.define(name, end.stmt.type or found, "merged", branch, k))
        return branch


def _type_of(variable: Variable | None) -> ir.Type | None:
    t = variable.type if variable is not None else None
    return ir.TileType(t.shape, t.dtype, None, t.space, t.view) if isinstance(t, ir.TileType) else t


def _merged_type(branch: Branch, k: int) -> ir.Type | None:
    """Several results carry no annotation: the type of the first branch value that is not a loop-carried variable."""
    values = [b.end.values[k] for b in branch.blocks if b.end is not None and k < len(b.end.values)]
    found = [v for v in values if v is not None]
    plain = [v for v in found if v.role != "carried"] or found
    return _type_of(plain[0]) if plain else None


def steps(block: Block) -> list[Step]:
    """Every statement without a body, in source order."""
    out: list[Step] = []
    for item in block.items:
        match item:
            case Step():
                out.append(item)
            case Loop():
                out.extend(steps(item.body))
            case Branch():
                for b in item.blocks:
                    out.extend(steps(b))
    return out


def root(v: Variable) -> Variable:
    """The variable that `v` is a plain copy of, or `v`."""
    while isinstance(v.home, Step) and v.home.copied is not None:
        v = v.home.copied
    return v


def place(step: Step | Loop | Branch) -> Span:
    """Where a statement stands in the source."""
    return step.stmt.span
