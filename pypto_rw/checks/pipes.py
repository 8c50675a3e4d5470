"""Pipes between cube and vector cores within one function: opened, popped, freed; and the buffers of their slots.

Source: cross-core.md §2, §3.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pypto_rw import ir
from pypto_rw.checks import Ops, calls
from pypto_rw.diagnostics import Diagnostic, Span
from pypto_rw.records import dataclass
from pypto_rw.scalars import names_in

_WAYS = {1: "cube to vector", 2: "vector to cube", 3: "both ways"}


@dataclass(frozen=True, slots=True)
class Step:
    """One call that has a part in a pipe. `way`: 1 cube to vector, 2 back, 3 both; `block`: the block it stands in."""

    part: str
    way: int
    number: int
    split: int | None
    call: ir.Call
    target: str | None
    span: Span
    block: int
    place: int


def pipe_findings(function: ir.Function, ops: Ops) -> Iterator[Diagnostic]:
    """Pushes and pops of a pipe that is not open, pops without a free, frees that are not their pop's."""
    walk = walked(function, ops)
    opened = [s for s in walk.steps if s.part == "open"]
    pops = {s.target: s for s in walk.steps if s.part == "pop" and s.target is not None}
    freed: dict[str, list[Step]] = {}
    for s in walk.steps:
        if s.part in ("push", "pop"):
            yield from _opened(s, opened, function)
        elif s.part == "free":
            name = walk.source(s.call.args[0]) if s.call.args else None
            pop = pops.get(name) if name is not None else None
            if pop is not None and name is not None:
                yield from _of_its_pop(s, pop)
                for earlier in freed.get(name, ()):
                    if earlier.block == s.block:
                        yield Diagnostic(
                            "freed-twice",
                            f"{s.call.callee}: the slot of {name} was given back before, at line {earlier.span.line}",
                            s.span,
                            "free a popped tile once, after its last use",
                        )
                freed.setdefault(name, []).append(s)
    for name, pop in pops.items():
        if name not in freed and name not in walk.carried:
            yield Diagnostic(
                "missing-free",
                f"{pop.call.callee}: the slot of {name} is never given back, so the other side runs out of slots",
                pop.span,
                f"free it after its last use: {_free_of(pop)}",
            )
        for free in freed.get(name, ())[:1]:
            for use in walk.uses.get(name, ()):
                if use.block == free.block and use.place > free.place:
                    yield Diagnostic(
                        "use-after-free",
                        f"{name} is used after its slot was given back at line {free.span.line}: the other side may "
                        "have written the next tile into it",
                        use.span,
                        "free it after its last use",
                    )
                    break


def walked(function: ir.Function, ops: Ops) -> Walk:
    """The calls of a function that have a part in a pipe."""
    walk = Walk(ops)
    walk.block(function.body)
    return walk


def _opened(step: Step, opened: list[Step], function: ir.Function) -> Iterator[Diagnostic]:
    fitting = [o for o in opened if o.way & step.way]
    kind = "aic" if function.kind == "AIC" else "aiv"
    number = f", id={step.number}" if step.number else ""
    if not fitting:
        yield Diagnostic(
            "no-pipe",
            f"{step.call.callee}: no pipe from {_WAYS[step.way]} is open in {function.name}",
            step.span,
            f"open it first: pl.system.{kind}_initialize_pipe(…, dir_mask={step.way}, slot_size=…{number})",
        )
    elif not any(o.number == step.number for o in fitting):
        known = ", ".join(str(n) for n in sorted({o.number for o in fitting}))
        yield Diagnostic(
            "pipe-id",
            f"{step.call.callee}: no pipe from {_WAYS[step.way]} has the id {step.number}; open are {known}",
            step.span,
            "name the pipe by the id of its initialize_pipe",
        )
    elif not any(o.number == step.number and o.place < step.place for o in fitting):
        yield Diagnostic(
            "no-pipe",
            f"{step.call.callee}: its pipe is opened only later, at line {fitting[0].span.line}",
            step.span,
            "open the pipe at the head of the function",
        )


def _of_its_pop(free: Step, pop: Step) -> Iterator[Diagnostic]:
    for what, mine, its in (("id", free.number, pop.number), ("split", free.split, pop.split)):
        if mine != its and mine is not None and its is not None:
            yield Diagnostic(
                "free-mismatch",
                f"{free.call.callee}: {what}={mine}, but {pop.target} comes from {pop.call.callee} with {what}={its} "
                f"at line {pop.span.line}",
                free.span,
                f"write {what}={its}",
            )


def _free_of(pop: Step) -> str:
    side = pop.call.callee.rsplit("_", 1)[-1]
    number = f", id={pop.number}" if pop.number else ""
    return f"pl.system.tfree_to_{side}({pop.target}, split={pop.split or 0}{number})"


def buffer_findings(
    function: ir.Function, unit: tuple[ir.Function, ...], ops: Mapping[str, Ops]
) -> Iterator[Diagnostic]:
    """Buffers imported from a function that reserves none of that name, and names that are reserved twice."""
    own: dict[str, ir.Call] = {}
    for part, call in buffers(function, ops[function.name]):
        name = _text(call, "name")
        if name is None:
            continue
        if part == "reserve":
            if name in own:
                yield Diagnostic(
                    "buffer-twice",
                    f"{call.callee}: {function.name} reserves a buffer {name} at line {own[name].span.line} already",
                    call.span,
                    "give each buffer a name of its own",
                )
            own[name] = call
            continue
        peer_name = _text(call, "peer_func")
        peer = next((f for f in unit if f.name == peer_name), None)
        if peer_name is None:
            continue
        if peer is None:
            others = ", ".join(f.name for f in unit if f.name != function.name) or "none other"
            yield Diagnostic(
                "peer-function",
                f"{call.callee}: there is no function {peer_name} in this unit; it has {others}",
                call.span,
                "name the function that reserves the buffer, and compile both in one file",
            )
            continue
        theirs = [_text(c, "name") for p, c in buffers(peer, ops[peer.name]) if p == "reserve"]
        if name not in theirs:
            known = f"it reserves {', '.join(n for n in theirs if n)}" if theirs else "it reserves none"
            yield Diagnostic(
                "peer-buffer",
                f"{call.callee}: {peer_name} reserves no buffer {name}; {known}",
                call.span,
                f"reserve it there: pl.system.reserve_buffer(name='{name}', size=…)",
            )


def order_findings(function: ir.Function, ops: Ops, target: str) -> Iterator[Diagnostic]:
    """Ops that need another op of the same function before them."""
    done: set[str] = set()
    for call in calls(function.body):
        signature = ops.get(call.callee)
        done.add(call.callee)
        for first, where in signature.all("follows") if signature is not None else ():
            if where == target and first not in done:
                yield Diagnostic(
                    "missing-set-up",
                    f"{call.callee}: on {target} it needs pl.{first} before it in {function.name}",
                    call.span,
                    f"call pl.{first} once at the head of the function",
                )
                return


class Walk:
    """The calls of a function that have a part in a pipe, in order, each with its block."""

    def __init__(self, ops: Ops) -> None:
        self.ops = ops
        self.steps: list[Step] = []
        self.uses: dict[str, list[Step]] = {}
        self.carried: set[str] = set()
        self._same: dict[str, str] = {}
        self._popped: set[str] = set()
        self._blocks = self._places = 0

    def block(self, body: tuple[ir.Stmt, ...]) -> None:
        """Walk one block and those within it."""
        self._blocks += 1
        number = self._blocks
        for stmt in body:
            self._places += 1
            match stmt:
                case ir.Assign() | ir.Evaluate() if isinstance(stmt.value, ir.Call):
                    self._call(stmt.value, stmt.targets[0] if isinstance(stmt, ir.Assign) else None, stmt.span, number)
                case ir.Assign() if isinstance(stmt.value, ir.Name):
                    self._same[stmt.targets[0]] = self.source(stmt.value) or stmt.value.id
                case ir.For() | ir.While():
                    self.carried.update(n for v in stmt.initial if (n := self.source(v)) is not None)
                    self.block(stmt.body)
                case ir.If():
                    self.block(stmt.body)
                    self.block(stmt.orelse or ())
                case ir.Scope():
                    self.block(stmt.body)
                case ir.Yield() | ir.Return():
                    self.carried.update(n for v in stmt.values if (n := self.source(v)) is not None)

    def source(self, expr: ir.Expr) -> str | None:
        """The variable that `expr` is another name of."""
        return self._same.get(expr.id, expr.id) if isinstance(expr, ir.Name) else None

    def _call(self, call: ir.Call, target: str | None, span: Span, block: int) -> None:
        signature = self.ops.get(call.callee)
        trait = signature.trait("pipe-step") if signature is not None else None
        if trait is None and not self._popped:
            return
        kwargs = dict(call.kwargs)
        way, number, split = (kwargs.get(k) for k in ("dir_mask", "id", "split"))
        step = Step(
            trait[0] if trait else "use",
            int(trait[1]) if trait and trait[1] != "0" else way.value if isinstance(way, ir.Int) else 0,
            number.value if isinstance(number, ir.Int) else 0,
            split.value if isinstance(split, ir.Int) else None,
            call,
            target,
            call.span or span,
            block,
            self._places,
        )
        if trait is not None:
            self.steps.append(step)
            if trait[0] == "pop" and target is not None:
                self._popped.add(target)
            if trait[0] == "free":
                return
        for name in names_in((*call.args, *(v for _, v in call.kwargs))):
            if (used := self._same.get(name, name)) in self._popped:
                self.uses.setdefault(used, []).append(step)


def buffers(function: ir.Function, ops: Ops) -> Iterator[tuple[str, ir.Call]]:
    """What a function does with buffers: `reserve` or `import`, and the call."""
    for call in calls(function.body):
        signature = ops.get(call.callee)
        trait = signature.trait("buffer-step") if signature is not None else None
        if trait is not None:
            yield trait[0], call


def _text(call: ir.Call, keyword: str) -> str | None:
    value = dict(call.kwargs).get(keyword)
    return value.value if isinstance(value, ir.Str) else None
