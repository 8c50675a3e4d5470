"""Random `ir.Module` values: everything the text can hold, well-typed or not.

`modules()` is the strategy for a whole file; `types()`, `expressions()` and `bodies()` are its parts."""

from __future__ import annotations

import keyword
import struct
from functools import cache

from hypothesis import strategies as st

from pypto_rw import ir

_RESERVED = {"pl", "pld", "P", "self", "inf", "nan", "abs", "tuple"}
_INTEGERS = tuple(d for d in ir.DType if d.value.startswith(("INT", "UINT", "INDEX")))
_FLOATS = (ir.DType.FP32, ir.DType.FP16, ir.DType.BF16)
_OPERATORS = [
    "or",
    "and",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "|",
    "^",
    "&",
    "<<",
    ">>",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "min",
    "max",
]
_CALLEES = (
    "tile.add",
    "tile.and",
    "tensor.not",
    "system.bar_v",
    "pld.tile.remote_load",
    "pld.tensor.or",
    "self.other",
    "submit",
    "load",
)
_SYMBOLS = (
    "FP32",
    "Mem.Vec",
    "TensorLayout.DN",
    "PadValue.zero",
    "PipeType.MTE1",
    "AtomicType.None_",
    "adir.inout",
)


def float_(value: float, dtype: ir.DType = ir.DType.FP32) -> ir.Float:
    """The constant with its bits filled in."""
    return ir.Float(value, dtype, struct.pack("<d", value))


@cache
def identifiers() -> st.SearchStrategy[str]:
    """Names a variable can have."""
    return st.one_of(
        st.sampled_from(("a", "b", "i", "acc__iter_v1", "x__ssa_v0", "t__tmp_v3_Left")),
        st.from_regex(r"[a-z_][a-zA-Z0-9_]{0,5}", fullmatch=True).filter(
            lambda name: not keyword.iskeyword(name) and name not in _RESERVED and not name.startswith("__")
        ),
    )


def several(strategy: st.SearchStrategy[ir.Expr], most: int = 3) -> st.SearchStrategy[tuple[ir.Expr, ...]]:
    """None to `most` of them."""
    return st.lists(strategy, max_size=most).map(tuple)


@cache
def names() -> st.SearchStrategy[ir.Expr]:
    """Variables."""
    return identifiers().map(ir.Name)


@cache
def integers() -> st.SearchStrategy[ir.Expr]:
    """Integer constants of every integer dtype, half of them INDEX."""
    value = st.one_of(st.integers(-4, 64), st.integers(-(2**63), 2**64 - 1))
    return st.builds(ir.Int, value, st.one_of(st.just(ir.DType.INDEX), st.sampled_from(_INTEGERS)))


@cache
def floats() -> st.SearchStrategy[ir.Expr]:
    """Float constants, infinities and both zeros among them."""
    return st.builds(float_, st.floats(allow_nan=False), st.sampled_from(_FLOATS))


@cache
def strings() -> st.SearchStrategy[ir.Expr]:
    """String literals: quotes, backslashes, control characters, any script."""
    return st.one_of(st.text(max_size=8), st.sampled_from(("round", "it's", 'say "x"', "a\\b\n", "\\"))).map(ir.Str)


@cache
def values() -> st.SearchStrategy[ir.Expr]:
    """What stands behind a keyword or an attribute key."""
    symbols = st.sampled_from(_SYMBOLS).map(ir.Symbol)
    index = st.integers(-4, 99).map(ir.Int)
    truth = st.booleans().map(ir.Bool)
    atoms = st.one_of(index, truth, strings(), symbols, floats(), names())
    listed = st.one_of(several(index), several(symbols), several(names())).map(ir.Tuple)
    return st.one_of(atoms, listed)


def calls(operands: st.SearchStrategy[ir.Expr]) -> st.SearchStrategy[ir.Call]:
    """Calls of ops and functions with any keywords and attributes."""
    keys = st.sampled_from(("mode", "atomic", "value", "deps", "predicate", "target_memory"))
    kwargs = st.lists(st.tuples(keys, values()), max_size=2, unique_by=lambda pair: pair[0]).map(tuple)
    return st.builds(ir.Call, st.sampled_from(_CALLEES), several(operands), kwargs, attributes())


@cache
def attributes() -> st.SearchStrategy[tuple[tuple[str, ir.Expr], ...]]:
    """The entries of `attrs={…}`."""
    keys = st.one_of(st.sampled_from(("pipeline_membership", "arg_directions")), st.text(max_size=4))
    return st.lists(st.tuples(keys, values()), max_size=2, unique_by=lambda pair: pair[0]).map(tuple)


def _compound(inner: st.SearchStrategy[ir.Expr]) -> st.SearchStrategy[ir.Expr]:
    return st.one_of(
        st.builds(ir.Binary, st.sampled_from(_OPERATORS), inner, inner),
        st.builds(ir.Unary, st.sampled_from(("-", "~", "not", "abs")), inner),
        st.builds(ir.Cast, inner, st.sampled_from(ir.DType)),
        st.builds(ir.Tuple, several(inner), st.sampled_from("[(")),
        st.builds(ir.Item, st.one_of(names(), calls(inner)), st.integers(0, 9)),
        calls(inner),
    )


@cache
def expressions(leaves: int = 8) -> st.SearchStrategy[ir.Expr]:
    """Any expression with up to about `leaves` leaves."""
    atoms = st.one_of(names(), integers(), floats(), st.booleans().map(ir.Bool))
    return st.recursive(atoms, _compound, max_leaves=leaves)


@cache
def dims() -> st.SearchStrategy[tuple[ir.Expr, ...]]:
    """Shapes: static, symbolic and composite."""
    static = st.integers(0, 4096).map(ir.Int)
    arithmetic = st.recursive(
        st.one_of(static, names()),
        lambda inner: st.builds(ir.Binary, st.sampled_from(("+", "-", "*", "//", "%", "min", "max")), inner, inner),
        max_leaves=4,
    )
    return several(st.one_of(static, names(), arithmetic))


@cache
def memrefs() -> st.SearchStrategy[ir.MemRef]:
    """Resolved memory references and declarations."""
    slot = st.integers(0, 1).map(ir.Int) | names()
    slots = st.one_of(st.just((None, None)), st.tuples(st.integers(2, 4), st.none() | slot))
    place = st.none() | st.tuples(st.one_of(integers(), expressions(3)), st.integers(0, 2**40))
    return st.builds(_memref, identifiers(), place, slots)


def _memref(base: str, place: tuple[ir.Expr, int] | None, slots: tuple[int | None, ir.Expr | None]) -> ir.MemRef:
    offset, size = place or (None, None)
    return ir.MemRef(base, offset, size, *slots)


@cache
def _tensor_types() -> st.SearchStrategy[ir.Type]:
    layouts, shape = st.sampled_from(ir.TensorLayout), st.none() | dims()
    full = st.builds(ir.TensorView, shape, shape, st.none() | layouts, st.none() | st.sampled_from(ir.Pad))
    marker = st.builds(lambda layout: ir.TensorView(layout=layout, marker=True), layouts)
    view = st.none() | full | marker
    return st.builds(ir.TensorType, dims(), st.sampled_from(ir.DType), view, st.none() | memrefs(), st.booleans())


@cache
def _tile_types() -> st.SearchStrategy[ir.Type]:
    shape, box = st.none() | dims(), st.none() | st.sampled_from(ir.TileLayout)
    view = st.builds(
        ir.TileView,
        valid=shape,
        stride=shape,
        start_offset=st.none() | names(),
        blayout=box,
        slayout=box,
        fractal=st.none() | st.integers(1, 2048),
        pad=st.none() | st.sampled_from(ir.Pad),
        compact=st.sampled_from((None, True)),
    )
    dtype, space = st.sampled_from(ir.DType), st.sampled_from(ir.Space)
    return st.one_of(
        st.builds(ir.TileType, dims(), dtype, st.none() | memrefs(), space, st.none() | view),
        st.builds(ir.TileType, dims(), dtype),
    )


@cache
def types() -> st.SearchStrategy[ir.Type]:
    """Any type an annotation can name."""
    opaque = st.sampled_from(("pl.Ptr", "pl.UnknownType", "pl.AsyncEvent", "pld.CommCtxType"))
    flat = st.one_of(
        _tensor_types(),
        _tile_types(),
        st.builds(ir.ScalarType, st.sampled_from(ir.DType)),
        st.builds(ir.ArrayType, st.integers(1, 64).map(lambda n: (ir.Int(n),)), st.sampled_from(ir.DType)),
        opaque.map(ir.OpaqueType),
    )
    return st.one_of(flat, st.builds(ir.TupleType, st.lists(flat, max_size=3).map(tuple)))


@cache
def comments() -> st.SearchStrategy[tuple[str, ...]]:
    """Leading comments, mostly none."""
    return st.sampled_from(((), (), (), ("why",), ("two", "lines")))


@cache
def _targets(least: int = 1) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(identifiers(), min_size=least, max_size=3, unique=True).map(tuple)


@cache
@st.composite
def _simple(draw: st.DrawFn) -> ir.Stmt:
    annotation = draw(st.none() | types())
    one, many = (draw(identifiers()),), draw(_targets(2))
    note = draw(comments())
    passed = draw(several(expressions(3)))
    statement = draw(st.integers(0, 5))
    if statement == 0:
        return ir.Assign(one, annotation, draw(expressions()), comments=note)
    if statement == 1:
        return ir.Assign(many, None, draw(calls(names())), comments=note)
    if statement == 2:
        return ir.Evaluate(draw(calls(expressions(4))), comments=note)
    if statement == 3:
        targets, type_ = draw(st.sampled_from((((), None), (one, annotation), (many, None))))
        return ir.Yield(targets, type_, passed, comments=note)
    if statement == 4:
        space, base = draw(st.sampled_from(ir.Space)), ir.OpaqueType("pl.Ptr")
        size = ir.Int(draw(st.integers(0, 2**20)))
        return ir.Assign(one, base, ir.Call("tile.alloc", (ir.Symbol(f"Mem.{space.value}"), size)), comments=note)
    return ir.Return(passed, comments=note)


@cache
@st.composite
def _carried(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[ir.Expr, ...]]:
    carried = draw(st.one_of(st.just(()), _targets()))
    return carried, tuple(draw(expressions(2)) for _ in carried)


@cache
@st.composite
def _loops(draw: st.DrawFn, body: st.SearchStrategy[tuple[ir.Stmt, ...]]) -> ir.Stmt:
    carried, initial = draw(_carried())
    inside, note = draw(body), draw(comments())
    kind = draw(st.sampled_from(("while", "range", "parallel", "unroll", "pipeline")))
    if kind in ("while", "range") and draw(st.booleans()):
        jump = ir.Jump(draw(st.sampled_from(("break", "continue"))), comments=draw(comments()))
        inside = (*inside, ir.If(draw(names()), (jump,), comments=draw(comments())))
    if carried and kind != "unroll":  # the results are bound by name
        inside = tuple(stmt for stmt in inside if not isinstance(stmt, ir.Yield))
        inside = (*inside, ir.Yield(carried, None, draw(several(expressions(2)))))
    if kind == "while":
        return ir.While(draw(expressions(4)), inside, carried, initial, comments=note)
    bounds = tuple(draw(st.lists(expressions(3), min_size=1, max_size=3)))
    if kind == "unroll":  # its bounds are constants and it carries nothing
        bounds, carried, initial = (ir.Int(0), ir.Int(draw(st.integers(1, 8)))), (), ()
    return ir.For(
        kind=kind,
        variable=draw(identifiers()),
        bounds=bounds,
        body=inside,
        carried=carried,
        initial=initial,
        stage=draw(st.integers(2, 4)) if kind == "pipeline" else None,
        attrs=draw(st.sampled_from(((), (("iter_arg_rebind_0", ir.Bool(True)),)))),
        comments=note,
    )


@cache
@st.composite
def _branches(draw: st.DrawFn, body: st.SearchStrategy[tuple[ir.Stmt, ...]]) -> ir.Stmt:
    condition, then, note = draw(expressions(4)), draw(body), draw(comments())
    if draw(st.booleans()):
        inner = ir.If(draw(expressions(4)), draw(body), draw(st.none() | body), elif_=draw(st.booleans()))
        return ir.If(condition, then, (inner,), comments=note)
    return ir.If(condition, then, draw(st.none() | body), comments=note)


@cache
@st.composite
def _scopes(draw: st.DrawFn, body: st.SearchStrategy[tuple[ir.Stmt, ...]]) -> ir.Stmt:
    level = ("level", ir.Symbol("Level.CORE_GROUP"))
    hint = ("name_hint", draw(strings()))
    call, loop = draw(
        st.sampled_from(
            (
                (ir.Call("at", (), (level, hint)), False),
                (ir.Call("cluster"), False),
                (ir.Call("scope", (), (("mode", ir.Symbol("ScopeMode.MANUAL")),)), False),
                (ir.Call("spmd", (ir.Int(8),), (("sync_start", ir.Bool(True)), hint)), False),
                (ir.Call("spmd", (ir.Name("n"),)), True),
                (ir.Call("split_aiv", (ir.Int(2),), (("mode", ir.Symbol("SplitMode.UP_DOWN")),)), True),
            )
        )
    )
    name = draw(identifiers()) if loop else draw(st.none() | identifiers())
    return ir.Scope(call, draw(body), name, loop, comments=draw(comments()))


@cache
def bodies() -> st.SearchStrategy[tuple[ir.Stmt, ...]]:
    """Statement lists, nested a few levels; possibly empty."""
    simple = st.lists(_simple(), max_size=3).map(tuple)

    def nest(inner: st.SearchStrategy[tuple[ir.Stmt, ...]]) -> st.SearchStrategy[tuple[ir.Stmt, ...]]:
        statement = st.one_of(_simple(), _loops(inner), _branches(inner), _scopes(inner))
        return st.lists(statement, max_size=3).map(tuple)

    return st.recursive(simple, nest, max_leaves=3)


@st.composite
def functions(draw: st.DrawFn, name: str, in_class: bool) -> ir.Function:
    """One function; `self` only where a class stands around it."""
    params = tuple(
        ir.Param(param, draw(types()), draw(st.sampled_from(("In", "Out", "InOut"))))
        for param in draw(st.lists(identifiers(), max_size=3, unique=True))
    )
    results = draw(st.lists(types(), max_size=3))
    returns = ir.TupleType(tuple(results), builtin=True) if len(results) > 1 else next(iter(results), None)
    options = (
        ("level", ir.Symbol("Level.AIV")),
        ("role", ir.Symbol("Role.SubWorker")),
        ("auto_scope", ir.Bool(False)),
        ("external_source", draw(strings())),
    )
    return ir.Function(
        name=name,
        params=params,
        body=draw(st.one_of(bodies(), st.just((ir.Jump("..."),)))),
        kind=draw(st.sampled_from((None, "AIV", "InCore", "Orchestration"))),
        options=tuple(option for option in options if draw(st.booleans())),
        attrs=draw(st.one_of(st.just(()), st.just((("split", ir.Symbol("SplitMode.UP_DOWN")),)), attributes())),
        returns=returns,
        self_=in_class and draw(st.booleans()),
    )


@cache
@st.composite
def modules(draw: st.DrawFn) -> ir.Module:
    """A whole file: a program class, or bare functions."""
    name = draw(st.none() | st.sampled_from(("Program", "k", "Fused_2")))
    count = draw(st.integers(1, 2))
    symbols = draw(st.lists(st.sampled_from(("M", "N", "LIVE")), max_size=2, unique=True))
    ring = ir.Call("MemRef", (ir.Str("ring"),), (("slots", ir.Int(2)),))
    constants = (ir.Assign(("BLOCK",), None, draw(integers())), ir.Assign(("ring",), None, ring))
    return ir.Module(
        name=name,
        functions=tuple(draw(functions(f"kernel_{n}", name is not None)) for n in range(count)),
        dynamic=tuple((symbol, symbol) for symbol in symbols),
        constants=constants[: draw(st.integers(0, 2))],
        header=draw(st.sampled_from((None, name))),
        prefix=draw(st.sampled_from(("pl", "P"))),
    )
