"""Makes every statement of a typed function legal: what the rules say stands for it, until nothing changes.

A rule answers with other ops (rules/core/stages.egg); what they make is typed like any statement and asked about
in its turn. A tile operand that is elsewhere than its op reads it is moved there first.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError, Diagnostic
from pypto_rw.front.asking import Answer, Asker
from pypto_rw.front.cores import placed_on_core
from pypto_rw.front.decode import Decoder
from pypto_rw.front.names import assigned, fresh
from pypto_rw.front.replay import Replay
from pypto_rw.front.simplify import without_dead
from pypto_rw.layout import effective_view
from pypto_rw.records import replace
from pypto_rw.rewriting.declared import Signature
from pypto_rw.rewriting.engine import Engine, Term
from pypto_rw.shaping.arguments import bind
from pypto_rw.shaping.unit import Surroundings
from pypto_rw.shaping.values import Refused, Value

_STEPS = 40  # how often one statement may be replaced before the rules count as endless


class Legalizer:
    """Legalizes one typed function; `diagnostics` collects every refusal."""

    def __init__(self, engine: Engine, function: ir.Function, surroundings: Surroundings, filename: str) -> None:
        self.source, self.filename = function, filename
        self.asker = Asker(engine, surroundings)
        self.values = self.asker.values
        self.replay = Replay(self.asker, "legalize")
        self.diagnostics: list[Diagnostic] = []
        self.taken = {p.name for p in function.params} | set(assigned(function.body))
        self.count = 0
        self.seen_through: set[str] = set()
        self.moved: dict[tuple[str, str], str] = {}

    def function(self) -> ir.Function:
        """The legal function; what was refused is left out."""
        self.asker.parameters(self.source)
        body = tuple(self.block(self.source.body))
        body = without_dead(body, self._is_view)
        return placed_on_core(replace(self.source, body=body))

    def _is_view(self, stmt: ir.Assign) -> bool:
        """Whether a statement only takes a window: one that nobody reads is left out."""
        if isinstance(stmt.type, ir.TileType) and stmt.type.memref is not None:
            return False  # its author gave it memory, which a window cannot have
        found = self.values.get(stmt.targets[0])
        return stmt.targets[0] in self.seen_through or (
            isinstance(stmt.value, ir.Call) and found is not None and found.origin == "window"
        )

    def block(self, body: tuple[ir.Stmt, ...]) -> list[ir.Stmt]:
        """Legal statements of a block; a move inside it is not seen after it."""
        out: list[ir.Stmt] = []
        outer, self.moved = self.moved, dict(self.moved)
        for stmt in body:
            try:
                self.statement(stmt, out)
            except Refused as refused:
                self.diagnostics.append(refused.diagnostic(stmt.span, self.filename, self.source.name))
                for inner in ir.statements((stmt,)):
                    if isinstance(inner, ir.Assign | ir.Yield):
                        for name in inner.targets:
                            self.values.setdefault(name, Value(inner.type or ir.OpaqueType("pl.UnknownType")))
        self.moved = outer
        return out

    def statement(self, stmt: ir.Stmt, out: list[ir.Stmt]) -> None:
        """Appends what stands for a statement."""
        match stmt:
            case ir.Assign(value=ir.Call()) | ir.Evaluate(value=ir.Call()):
                self.whole_call(stmt, out)
            case ir.Assign():
                out.append(self._other(stmt))
            case ir.For():
                self._heads(stmt)
                body = self._region(stmt.body, stmt.carried)
                out.append(replace(stmt, body=tuple(body)))
            case ir.While():
                self._heads(stmt)
                out.append(replace(stmt, body=tuple(self._region(stmt.body, stmt.carried))))
            case ir.If():
                then = self.block(stmt.body)
                orelse = self.block(stmt.orelse or ())
                self._merged(then, orelse)
                other = tuple(orelse) if stmt.orelse is not None else None
                out.append(replace(stmt, body=tuple(then), orelse=other))
            case _:
                out.append(stmt)

    def _other(self, stmt: ir.Assign) -> ir.Assign:
        value, name = stmt.value, stmt.targets[0]
        if isinstance(value, ir.Name) and value.id in self.values:
            found = self.values[value.id]
            t = found.type if isinstance(found.type, ir.TileType) else stmt.type or found.type
            if isinstance(t, ir.TileType) and isinstance(stmt.type, ir.TileType):
                t = replace(t, memref=stmt.type.memref)
            self.values[name] = replace(found, type=t)
            return replace(stmt, type=t)
        t = stmt.type or ir.OpaqueType("pl.UnknownType")
        known = Value(t, place=(name, name, name) if isinstance(t, ir.TileType) else None)
        if isinstance(t, ir.ScalarType):
            shaper = self.asker.shaper
            constant = shaper.resolved(value)
            known = replace(
                known,
                bounds=shaper.bounds(value),
                divisor=self.asker.divisor(value),
                constant=constant if isinstance(constant, ir.Int | ir.Float) else None,
            )
        self.values[name] = known
        return stmt

    def _heads(self, stmt: ir.For | ir.While) -> None:
        if isinstance(stmt, ir.For):
            shaper = self.asker.shaper
            first = shaper.bounds(stmt.bounds[0]) if len(stmt.bounds) > 1 else (0, 0)
            last = shaper.bounds(stmt.bounds[0 if len(stmt.bounds) == 1 else 1])
            self.values[stmt.variable] = Value(
                ir.ScalarType(ir.DType.INDEX), bounds=(first[0], max(first[0], last[1] - 1))
            )
        for name, value in zip(stmt.carried, stmt.initial, strict=False):
            found = self.values.get(value.id) if isinstance(value, ir.Name) else None
            t = found.type if found is not None else ir.ScalarType(self.asker.shaper.dtype(value))
            self.values[name] = Value(t, place=(name, name, name) if isinstance(t, ir.TileType) else None)

    def _region(self, body: tuple[ir.Stmt, ...], carried: tuple[str, ...]) -> list[ir.Stmt]:
        out = self.block(body)
        last = out[-1] if out else None
        if isinstance(last, ir.Yield):
            for name, carry in zip(last.targets, carried, strict=False):
                t = self.values[carry].type
                self.values[name] = Value(t, place=(name, name, name) if isinstance(t, ir.TileType) else None)
            if len(last.targets) == 1:
                out[-1] = replace(last, type=self.values[last.targets[0]].type)
        return out

    def _merged(self, then: list[ir.Stmt], orelse: list[ir.Stmt]) -> None:
        last = then[-1] if then else None
        if not isinstance(last, ir.Yield):
            return
        for name, value in zip(last.targets, last.values, strict=False):
            found = self.values.get(value.id) if isinstance(value, ir.Name) else None
            t = found.type if found is not None else ir.ScalarType(self.asker.shaper.dtype(value))
            self.values[name] = Value(t, place=(name, name, name) if isinstance(t, ir.TileType) else None)
        if len(last.targets) == 1:
            t = self.values[last.targets[0]].type
            for body in (then, orelse):
                if body and isinstance(end := body[-1], ir.Yield):
                    body[-1] = replace(end, type=t)

    # ---------------------------------------------------------------------------------- calls

    def whole_call(self, stmt: ir.Assign | ir.Evaluate, out: list[ir.Stmt]) -> None:
        """Appends what stands for a call of the function."""
        call = stmt.value
        assert isinstance(call, ir.Call)
        made = self.replay.find(stmt)
        if made is None:
            key, offsets, before = self.replay.key, self.replay.offsets, len(out)
            self.call(stmt, out, 0)
            if key is not None and len(out) == before + 1:
                self.replay.learn(key, offsets, stmt, out[-1])
            return
        new = self.replay.call(call, made)
        if isinstance(stmt, ir.Evaluate):
            out.append(stmt if new is call else ir.Evaluate(new, stmt.span, stmt.comments))
            return
        self.replay.result(stmt.targets[0], new, made)
        same = new is call and made.type is stmt.type
        out.append(stmt if same else ir.Assign(stmt.targets, made.type, new, stmt.span, stmt.comments))

    def call(self, stmt: ir.Assign | ir.Evaluate, out: list[ir.Stmt], steps: int) -> None:
        """Appends what stands for a call, or the call itself."""
        call = stmt.value
        assert isinstance(call, ir.Call)
        name = stmt.targets[0] if isinstance(stmt, ir.Assign) else ""
        if call.callee in ("tile.alloc", "tensor.alloc"):
            self.values[name] = Value(ir.OpaqueType("pl.Ptr"))
            out.append(stmt)
            return
        if steps > _STEPS:
            raise CompileError(
                [
                    Diagnostic(
                        "rule-file",
                        f"the legalizations of {call.callee} do not come to an end",
                        call.span,
                        filename=self.filename,
                    )
                ]
            )
        call = self._placed(call, out, steps)
        answer = self.asker.ask(call)
        t = stmt.type if isinstance(stmt, ir.Assign) else None
        if isinstance(t, ir.TileType) and isinstance(answer.type, ir.TileType):
            if answer.type.space is None:
                call = _on_chip(call, self.asker.signature(call), t.space or ir.Space.Vec)
                answer = self.asker.ask(call)
            assert isinstance(answer.type, ir.TileType)
            if t.space is None:
                t = replace(answer.type, memref=t.memref)
        stmt = replace(stmt, value=call, type=t) if isinstance(stmt, ir.Assign) else replace(stmt, value=call)
        if answer.type is None and t is not None:
            answer = self.asker.ask(call, t)
        if answer.legal:
            self._replace(stmt, name, answer, out, steps + 1)
            return
        if answer.findings:
            raise self.asker.refused(answer.findings[0], call)
        if t is not None:
            self.values[name] = self.asker.value(name, t, call)
        out.append(stmt)

    def _placed(self, call: ir.Call, out: list[ir.Stmt], steps: int) -> ir.Call:
        """`call` with every tile operand in a memory space that the op reads: `(reads op "Vec Left|Acc -")`."""
        signature = self.asker.signature(call)
        words = (signature.trait("reads") or ("",))[0].split()
        arguments = bind(call, signature)
        for parameter, word in zip(signature.parameters, words, strict=False):
            expr = arguments.get(parameter.name)
            found = self.values.get(expr.id) if isinstance(expr, ir.Name) else None
            if word == "-" or found is None or not isinstance(found.type, ir.TileType):
                continue
            spaces = word.split("|")
            if found.type.space is None or found.type.space.value in spaces:
                continue
            assert isinstance(expr, ir.Name)
            made = self._in_space(expr.id, spaces[0], call, out, steps)
            call = _with_argument(call, signature.parameters.index(parameter), parameter.name, ir.Name(made))
        return call

    def _in_space(self, name: str, space: str, call: ir.Call, out: list[ir.Stmt], steps: int) -> str:
        """The variable that holds `name` in another memory space; it is moved there on its first use."""
        if (name, space) in self.moved:
            return self.moved[name, space]
        made = self.moved[name, space] = fresh(self.taken, f"{name}_{space}")
        move = ir.Call("tile.move", (ir.Name(name),), (("target_memory", ir.Symbol(f"Mem.{space}")),), (), call.span)
        at = next((k for k in range(len(out)) if name in _targets(out[k])), None)
        try:
            if at is None or self.values[name].origin != "window":
                self._make(made, move, out, steps)
            else:  # what a window shows is fetched where the window is taken
                new: list[ir.Stmt] = []
                self._make(made, move, new, steps)
                out[at + 1 : at + 1] = new
        except Refused as refused:
            raise self._elsewhere(refused, name, space, call) from None
        return made

    def _elsewhere(self, refused: Refused, name: str, space: str, call: ir.Call) -> Refused:
        """The refusal of a move that `call` needs, in words of what its author wrote."""
        if refused.code != "no-way":
            return refused
        from pypto_rw.wording import operand_named

        shown = operand_named(name)
        maker = next(
            (s.value for s in ir.statements(self.source.body) if isinstance(s, ir.Assign) and s.targets == (name,)),
            None,
        )
        help = refused.help
        if isinstance(maker, ir.Call) and self.asker.signature(maker).trait("from-global") is not None:
            where = "Vec" if space == "Vec" else "Mat"  # from global memory only these are loaded
            help = f"load it into {where}: pl.load(…, target_memory=pl.Mem.{where})"
        message = f"{call.callee} reads {shown} in {space}: {refused.message.partition(': ')[2]}"
        return Refused(refused.code, message, refused.span, help, refused.rule)

    def _make(self, name: str, call: ir.Call, out: list[ir.Stmt], steps: int) -> None:
        """Appends a new statement; its type is what the rules deduce."""
        answer = self.asker.ask(call)
        if answer.type is None:
            raise (
                self.asker.refused(answer.findings[0], call)
                if answer.findings
                else Refused("no-type", f"the type of {name} is not known", call.span)
            )
        self.call(ir.Assign((name,), answer.type, call, call.span), out, steps)

    def _replace(
        self, stmt: ir.Assign | ir.Evaluate, name: str, answer: Answer, out: list[ir.Stmt], steps: int
    ) -> None:
        """Applies what the rules say stands for the statement."""
        call = stmt.value
        assert isinstance(call, ir.Call)
        names: dict[Term, str] = {}

        def made(term: Term) -> str:
            if term not in names:
                if term[0] == "made-of":
                    like = decoder.operand(term[1])
                    names[term] = fresh(self.taken, f"{like.id if isinstance(like, ir.Name) else name}{term[2]}")
                else:
                    names[term] = fresh(self.taken, f"{(name or 't').split('__')[0]}__{term[1]}_v{self.count}")
                    self.count += 1
            return names[term]

        decoder = Decoder(
            lambda op: self.asker.signature(ir.Call(op)), answer.sources, answer.extents, made, self._looked_into
        )
        for term in answer.legal:
            if term[0] == "instead":
                for new, target in decoder.calls(term[1]):
                    new = replace(new, span=call.span)
                    if target is not None:
                        self._make(target, new, out, steps)
                    else:
                        self.call(self._relaid(replace(stmt, value=new)), out, steps)
                return
        for term in answer.legal:
            if term[0] == "operand-through":
                for new, target in decoder.calls(term[2]):
                    assert target is not None
                    self._make(target, replace(new, span=call.span), out, steps)
                call = self._operand_replaced(call, answer, term[1], ir.Name(made(_last_result(term[2]))))
        through = next((t for t in answer.legal if t[0] == "result-through"), None)
        if through is None:
            self.call(self._relaid(replace(stmt, value=call)), out, steps)
            return
        self._make(made(through[1]), call, out, steps)
        for new, target in decoder.calls(through[2]):
            if target is not None:
                self._make(target, replace(new, span=call.span), out, steps)
            else:
                self.call(self._relaid(replace(stmt, value=replace(new, span=call.span))), out, steps)

    def _relaid(self, stmt: ir.Assign | ir.Evaluate) -> ir.Assign | ir.Evaluate:
        """The statement with the layout that its result has now, after what stands for it or its operands."""
        t = stmt.type if isinstance(stmt, ir.Assign) else None
        new = self.asker.ask(stmt.value).type if isinstance(stmt.value, ir.Call) and t is not None else None
        if not isinstance(t, ir.TileType) or not isinstance(new, ir.TileType) or t.shape != new.shape:
            return stmt
        old, view = effective_view(t), effective_view(new)
        if (old.blayout, old.slayout) == (view.blayout, view.slayout):
            return stmt
        assert isinstance(stmt, ir.Assign)
        valid = t.view.valid if t.view is not None else None
        laid = replace(new.view, valid=valid) if new.view is not None else None
        if laid is None and valid is not None:
            laid = ir.TileView(valid=valid)
        return replace(stmt, type=replace(t, view=laid))

    def _looked_into(self, window: str) -> str:
        """The tile that a window looks into; the window itself may be needless then."""
        found = self.values[window].window
        assert found is not None and isinstance(found.handle, str)
        self.seen_through.add(window)
        return found.handle

    def _operand_replaced(self, call: ir.Call, answer: Answer, operand: Term, new: ir.Name) -> ir.Call:
        """`call` with the argument at an operand's position replaced."""
        parameter = answer.owners[operand[1]]
        names = [p.name for p in self.asker.signature(call).parameters]
        return _with_argument(call, names.index(parameter), parameter, new)


def _targets(stmt: ir.Stmt) -> tuple[str, ...]:
    return stmt.targets if isinstance(stmt, ir.Assign) else ()


def _on_chip(call: ir.Call, signature: Signature, space: ir.Space) -> ir.Call:
    """`call` with a memory space for its result, which its author left open."""
    position = next((k for k, p in enumerate(signature.parameters) if p.name == "target_memory"), None)
    if position is None:
        raise Refused("no-space", f"{call.callee}: the memory space of the result is not known", call.span)
    return replace(call, kwargs=(*call.kwargs, ("target_memory", ir.Symbol(f"Mem.{space.value}"))))


def _last_result(op: Term) -> Term:
    result: Term = op[2][-1] if op[0] == "then" else op[-1]
    return result


def _with_argument(call: ir.Call, position: int, name: str, value: ir.Expr) -> ir.Call:
    if position < len(call.args):
        return replace(call, args=(*call.args[:position], value, *call.args[position + 1 :]))
    return replace(call, kwargs=tuple((k, value if k == name else a) for k, a in call.kwargs))
