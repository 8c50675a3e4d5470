"""Distributed ops on whole tensors become those on tiles: transfers get their stages, collectives their statements.

    pld.tensor.put(dst, peer, src)   =>   stage = pl.tile.create([rows, cols], …)
                                          pld.tile.put(dst, peer, src, stage)

A stage has the last axis of the transfer along its columns and all others along its rows, each no more than its chunk.
What has no fixed form here (all_to_all_v) is refused by name. Source: distributed.md §1, §4.3, §8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError, Diagnostic, Span
from pypto_rw.distributed import collectives, ring
from pypto_rw.distributed.windows import type_text
from pypto_rw.records import fields, is_dataclass, replace
from pypto_rw.shaping.unit import COMM_CTX, windows_and_contexts
from pypto_rw.shaping.values import Refused
from pypto_rw.syntax import parse


def expanded(module: ir.Module, *, filename: str, source: str = "") -> ir.Module:
    """`module` without distributed ops on whole tensors. Raises CompileError with every refusal."""
    diagnostics: list[Diagnostic] = []
    functions = []
    for f in module.functions:
        walk = _Expansion(f, filename, diagnostics)
        functions.append(with_contexts(replace(f, body=tuple(walk.block(f.body)))))
    if diagnostics:
        raise CompileError(diagnostics, source)
    return replace(module, functions=tuple(functions))


def opened(module: ir.Module, *, filename: str, source: str = "") -> ir.Module:
    """`module` without distributed ops on whole tensors and with a context for each window; itself if it is so."""
    if any(map(composite, module.functions)):
        return expanded(module, filename=filename, source=source)
    made = tuple(map(with_contexts, module.functions))
    return module if made == module.functions else replace(module, functions=made)


def with_contexts(function: ir.Function) -> ir.Function:
    """`function` with a communication context for each window, if it has windows and no context at all."""
    windows, contexts = windows_and_contexts(function)
    if contexts or not windows:
        return function
    taken = {p.name for p in function.params}
    added = []
    for w in windows:
        name = f"{w.split('__ssa')[0]}_ctx"
        while name in taken:
            name += "_"
        taken.add(name)
        added.append(ir.Param(name, COMM_CTX))
    return replace(function, params=(*function.params, *added))


def composite(function: ir.Function) -> bool:
    """Whether `function` has distributed ops on whole tensors."""
    return any(
        c is not None and c.callee.startswith("pld.tensor.") for c in map(ir.called, ir.statements(function.body))
    )


class _Expansion:
    def __init__(self, function: ir.Function, filename: str, diagnostics: list[Diagnostic]) -> None:
        self.function, self.filename, self.diagnostics = function, filename, diagnostics
        self.types = {p.name: p.type for p in function.params}
        self.taken = set(self.types)
        self.tmp = 0

    def block(self, statements: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
        """The statements of a block, expanded."""
        for stmt in statements:
            call = ir.called(stmt)
            if call is not None and call.callee.startswith("pld.tensor."):
                try:
                    yield from (_at(s, stmt.span, call.span) for s in self._expand(stmt, call))
                except Refused as refused:
                    self.diagnostics.append(refused.diagnostic(call.span, self.filename, self.function.name))
                continue
            if isinstance(stmt, ir.Assign) and stmt.type is not None:
                self.types.update(dict.fromkeys(stmt.targets, stmt.type))
            match stmt:
                case ir.For() | ir.While() | ir.Scope():
                    stmt = replace(stmt, body=tuple(self.block(stmt.body)))
                case ir.If():
                    body = tuple(self.block(stmt.body))
                    orelse = None if stmt.orelse is None else tuple(self.block(stmt.orelse))
                    stmt = replace(stmt, body=body, orelse=orelse)
            yield stmt

    def _expand(self, stmt: ir.Stmt, call: ir.Call) -> Iterator[ir.Stmt]:
        op = call.callee.removeprefix("pld.tensor.")
        if op in ("put", "get"):
            yield from self._transfer(call, op)
        elif op == "remote_store":
            yield ir.Evaluate(replace(call, callee="pld.tile.remote_store"))
        elif op in _COLLECTIVES:
            yield from self._collective(stmt, call, op)
        else:
            raise Refused(
                "no-expansion",
                f"{call.callee} has no form inside a kernel",
                call.span,
                "write it with pld.tile.put, get, notify and wait, or call it from the host",
            )

    # ------------------------------------------------------------------------------- transfers
    def _transfer(self, call: ir.Call, op: str) -> Iterator[ir.Stmt]:
        a = _arguments(call, "dst peer src dst_offsets src_offsets shape atomic chunk_rows chunk_cols pipeline", 6)
        remote = "dst" if op == "put" else "src"
        dst, src = (self._tensor(call, a, side, window=side == remote) for side in ("dst", "src"))
        region = [a[k] for k in ("dst_offsets", "src_offsets", "shape") if k in a]
        dims = a["shape"].items if isinstance(a.get("shape"), ir.Tuple) else dst.shape  # type: ignore[union-attr]
        self._inside(call, a, dims, {"dst": dst.shape, "src": src.shape})
        rows, cols = (_constant(a.get(k), 0) for k in ("chunk_rows", "chunk_cols"))
        pipeline = a.get("pipeline") == ir.Bool(True)
        if min(rows, cols) < 0 or (pipeline and not (rows and cols)):
            raise Refused(
                "stage-chunk",
                f"{call.callee}: two stages need chunk_rows and chunk_cols above 0; got chunk_rows={rows}, "
                f"chunk_cols={cols}"
                if pipeline
                else f"{call.callee}: chunk_rows and chunk_cols must be 0 or more; got {rows} and {cols}",
                call.span,
                "give the rows and columns of a stage",
            )
        shape = (self._extent(call, dims[:-1], rows, "chunk_rows"), self._extent(call, dims[-1:], cols, "chunk_cols"))
        stages = []
        for name in (f"t{op}_stage_ping", f"t{op}_stage_pong") if pipeline else (f"t{op}_stage",):
            stages.append(ir.Name(self._free(name)))
            made = ir.Tuple(tuple(map(ir.Int, shape)))
            kwargs = (("dtype", ir.Symbol(dst.dtype.value)), ("target_memory", ir.Symbol("Mem.Vec")))
            yield ir.Assign((stages[-1].id,), None, ir.Call("tile.create", (made,), kwargs))
        mode = (("atomic", a.get("atomic", ir.Symbol("AtomicType.None_"))),) if op == "put" else ()
        args = (a["dst"], a["peer"], a["src"], *stages, *region)
        yield ir.Evaluate(ir.Call(f"pld.tile.{op}", args, mode))

    def _tensor(self, call: ir.Call, a: dict[str, ir.Expr], side: str, *, window: bool) -> ir.TensorType:
        name = a.get(side)
        t = self.types.get(name.id) if isinstance(name, ir.Name) else None
        if not isinstance(name, ir.Name) or not isinstance(t, ir.TensorType):
            raise Refused("operand-kind", f"{call.callee}: {side} must be a tensor of known shape", call.span)
        if window and not t.distributed:
            raise Refused(
                "not-a-window",
                f"{call.callee}: {side} must be a window, but {name.id} is {type_text(t)}",
                call.span,
                "only a window has a copy on every rank: make it a parameter of type pld.DistributedTensor",
            )
        return t

    def _inside(
        self, call: ir.Call, a: dict[str, ir.Expr], dims: tuple[ir.Expr, ...], sides: dict[str, tuple[ir.Expr, ...]]
    ) -> None:
        """A constant region lies in both tensors."""
        for side, shape in sides.items():
            offsets = a.get(f"{side}_offsets")
            for k, (o, d, most) in enumerate(
                zip(offsets.items if isinstance(offsets, ir.Tuple) else (), dims, shape, strict=False)
            ):
                known = [e.value for e in (o, d, most) if isinstance(e, ir.Int)]
                if len(known) == 3 and (known[0] < 0 or known[0] + known[1] > known[2]):
                    raise Refused(
                        "past-end",
                        f"{call.callee}: axis {k}: {side}_offset {known[0]} + extent {known[1]} = "
                        f"{known[0] + known[1]} is not within {side}_dim {known[2]}",
                        call.span,
                        f"the region must lie in {side}",
                    )

    def _extent(self, call: ir.Call, dims: tuple[ir.Expr, ...], chunk: int, name: str) -> int:
        """Rows or columns of a stage: the product of the extents, at most the chunk."""
        known = [d.value for d in dims if isinstance(d, ir.Int)]
        if len(known) == len(dims):
            return min(prod(known), chunk or prod(known))
        if not chunk:
            raise Refused(
                "stage-chunk",
                f"{call.callee}: the transfer has a run-time extent, so its stage needs a constant {name} above 0",
                call.span,
                f"pass {name}= for the extent of the stage",
            )
        return chunk

    # ----------------------------------------------------------------------------- collectives
    def _collective(self, stmt: ir.Stmt, call: ir.Call, op: str) -> Iterator[ir.Stmt]:
        a = _arguments(call, _COLLECTIVES[op], len(_COLLECTIVES[op].split()))
        target = a["target"] if "target" in a else a["signal"]
        if not isinstance(target, ir.Name):
            raise Refused("operand-kind", f"{call.callee}: the target must be a window", call.span)
        t = self._tensor(call, {"target": target}, "target", window=True)
        shape = [d.value for d in t.shape if isinstance(d, ir.Int)]
        if op != "barrier" and len(shape) != len(t.shape) and op not in ("allgather", "all_to_all"):
            raise Refused("shape-constant", f"{call.callee}: the window must have a constant shape", call.span)
        reduce = collectives.REDUCE.get(_constant(a.get("op"), 0), "add")
        known: dict[str, Any] = {
            "w": target.id,
            "dtype": t.dtype.value,
            "reduce": reduce,
            "cols": shape[-1] if shape else 1,
        }
        known |= {k: v.id for k, v in (("bell", a.get("signal")), ("x", a.get("input"))) if isinstance(v, ir.Name)}
        in_a_ring = op == "allreduce" and self._in_a_ring(call, a)
        template = self._ring(call, a, t, known, prod(shape)) if in_a_ring else _TEMPLATES[op](call, a, t, shape, known)
        yield from self._parsed(template, known, target.id)
        if isinstance(stmt, ir.Assign) and stmt.targets != (target.id,):
            yield ir.Assign(stmt.targets, stmt.type, target)

    def _in_a_ring(self, call: ir.Call, a: dict[str, ir.Expr]) -> bool:
        mode = a.get("mode", ir.Str("mesh"))
        if mode not in (ir.Str("mesh"), ir.Str("ring")):
            raise Refused("no-expansion", f"{call.callee}: mode must be 'mesh' or 'ring'", call.span)
        return mode == ir.Str("ring")

    def _ring(self, call: ir.Call, a: dict[str, ir.Expr], t: ir.TensorType, known: dict[str, Any], count: int) -> str:
        if t.dtype is not ir.DType.FP32:
            raise Refused(
                "operand-dtype",
                f"{call.callee} in a ring takes FP32; got {t.dtype.value}",
                call.span,
                "use mode='mesh', or convert to FP32",
            )
        bell = self._tensor(call, a, "signal", window=True).shape
        ranks = bell[-1].value if len(bell) == 2 and isinstance(bell[-1], ir.Int) else 0
        if ranks < 2 or bell[0] != ir.Int(2 * (ranks - 1)):
            shown = ", ".join(str(d.value) if isinstance(d, ir.Int) else "?" for d in bell)
            raise Refused(
                "ring-signal",
                f"{call.callee}: the signal of a ring of R ranks has the shape [2 * (R - 1), R]; got [{shown}]",
                call.span,
                "one row for each step: [2, 2] for two ranks, [6, 4] for four",
            )
        known["count"] = count
        return ring.allreduce(count, ranks, ring.chunk_of(count, ranks, 4, collectives.CHUNK))

    def _parsed(self, template: str, known: dict[str, Any], target: str) -> tuple[ir.Stmt, ...]:
        """Statements of a template; names it leaves open are local and new."""
        names = dict(known)
        for local in dict.fromkeys(re.findall(r"\{(\w+)\}", template)):
            if local not in names:
                names[local] = self._free(f"{target}__{local}_tmp_v{self.tmp}")
                self.tmp += 1
        body = re.sub(r"\{(\w+)\}", lambda m: str(names[m[1]]), template)
        text = f"import pypto.language as pl\n\n@pl.function\ndef expansion():\n{collectives.indented(body)}"
        return parse(text, filename="expansion").functions[0].body

    def _free(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


_COLLECTIVES = {
    "barrier": "signal",
    "broadcast": "target signal root",
    "allgather": "input target signal",
    "all_to_all": "input target signal",
    "reduce_scatter": "target signal op",
    "allreduce": "target signal op mode core_num",
}
_Template = Callable[[ir.Call, dict[str, ir.Expr], ir.TensorType, list[int], dict[str, Any]], str]


def _barrier(call: ir.Call, a: dict[str, ir.Expr], t: ir.TensorType, shape: list[int], known: dict[str, Any]) -> str:
    return collectives.SETUP + collectives.barrier(1) + collectives.epilogue(1)


def _broadcast(call: ir.Call, a: dict[str, ir.Expr], t: ir.TensorType, shape: list[int], known: dict[str, Any]) -> str:
    known |= {"rows": prod(shape[:-1]), "root": _constant(a.get("root"), 0)}
    get = "\npld.tile.get({w}, pl.const({root}, pl.INT32), {w}, {stage})\n"
    return collectives.SETUP + collectives.barrier(1) + collectives.STAGE + get + collectives.epilogue(1)


def _send(call: ir.Call, a: dict[str, ir.Expr], t: ir.TensorType, shape: list[int], known: dict[str, Any]) -> str:
    send = collectives.SEND.replace("{from_row}", "0" if call.callee.endswith("allgather") else "{p}")
    known["rows"] = 1
    return collectives.SETUP + collectives.STAGE + send + collectives.barrier(1) + collectives.epilogue(1)


def _scatter(call: ir.Call, a: dict[str, ir.Expr], t: ir.TensorType, shape: list[int], known: dict[str, Any]) -> str:
    store = "\n{stored} = pl.tile.store({total}, [{me}, 0], {w})\n"
    one, two = collectives.barrier(1), collectives.barrier(2)
    return collectives.SETUP + one + collectives.REDUCE_SCATTER + two + store + collectives.epilogue(2)


def _allreduce(call: ir.Call, a: dict[str, ir.Expr], t: ir.TensorType, shape: list[int], known: dict[str, Any]) -> str:
    if t.dtype not in (ir.DType.FP16, ir.DType.FP32):
        raise Refused("operand-dtype", f"{call.callee} takes FP16 or FP32; got {t.dtype.value}", call.span)
    count, size = prod(shape), 2 if t.dtype is ir.DType.FP16 else 4
    known["count"] = count
    chunk = min(-(-count * size // 32) * 32, collectives.CHUNK) // size
    return collectives.allreduce(count, chunk, t.dtype is ir.DType.FP16)


_TEMPLATES: dict[str, _Template] = {
    "barrier": _barrier,
    "broadcast": _broadcast,
    "allgather": _send,
    "all_to_all": _send,
    "reduce_scatter": _scatter,
    "allreduce": _allreduce,
}
_CODES = {"ReduceOp.Sum": 0, "ReduceOp.Max": 1, "ReduceOp.Min": 2, "ReduceOp.Prod": 3}


def _arguments(call: ir.Call, names: str, positional: int) -> dict[str, ir.Expr]:
    known = names.split()
    if len(call.args) > positional:
        raise Refused("operand-count", f"{call.callee} takes at most {positional} operands", call.span)
    found = dict(zip(known, call.args, strict=False))
    for name, value in call.kwargs:
        if name not in known:
            raise Refused("unknown-keyword", f"{call.callee} has no keyword {name}", call.span, f"it takes {names}")
        found[name] = value
    needed = [k for k in known if k in ("dst", "peer", "src", "input", "target", "signal") and k not in found]
    if needed:
        raise Refused("operand-count", f"{call.callee} needs {needed[0]}", call.span)
    return found


def _constant(expr: ir.Expr | None, default: int) -> int:
    if isinstance(expr, ir.Symbol):
        return _CODES.get(expr.path.removeprefix("pld."), default)
    return expr.value if isinstance(expr, ir.Int) else default


def _at(node: Any, span: Span, call: Span) -> Any:
    """`node` and all below it, at the author's call."""
    if isinstance(node, tuple):
        return tuple(_at(n, span, call) for n in node)
    if not is_dataclass(node) or isinstance(node, Span | type):
        return node
    changed = {f.name: _at(getattr(node, f.name), span, call) for f in fields(node)}
    if "span" in changed:
        changed["span"] = call if isinstance(node, ir.Call) else span
    return replace(node, **changed)
