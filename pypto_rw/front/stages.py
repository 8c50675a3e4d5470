"""The front stages, each a function from module to module.

authored --typed--> every variable has a type --legal--> tile level: spaces, layouts, native ops
"""

from __future__ import annotations

from functools import partial

from pypto_rw import ir
from pypto_rw.authored import is_tensor_level, needs_legal, needs_types
from pypto_rw.diagnostics import CompileError, Diagnostic
from pypto_rw.front.constants import folded_indices
from pypto_rw.front.direct import stored_directly
from pypto_rw.front.legal import Legalizer
from pypto_rw.front.names import reads
from pypto_rw.front.pipes import dispatched, with_needed_parameters
from pypto_rw.front.scopes import outlined
from pypto_rw.front.simplify import simplified
from pypto_rw.front.ssa import single_assignment
from pypto_rw.front.typed import Typer
from pypto_rw.records import replace
from pypto_rw.rewriting.engine import Engine
from pypto_rw.shaping.declarations import require_extents
from pypto_rw.shaping.unit import Surroundings, surroundings_in
from pypto_rw.shaping.values import Refused

_DEVICE = frozenset({"InCore", "AIC", "AIV"})


def typed(module: ir.Module, engine: Engine, *, filename: str, source: str = "") -> ir.Module:
    """`module` with full op names, one call a statement, and a type at every variable.

    Raises CompileError with every refusal."""
    if any(f.kind in _DEVICE for f in module.functions):  # what runs on the host is no part of a kernel
        module = replace(module, functions=tuple(f for f in module.functions if f.kind in _DEVICE))
    reserved = frozenset(n for n, _ in module.dynamic) | {n for c in module.constants for n in c.targets}
    diagnostics: list[Diagnostic] = []
    functions = []
    tensor_level = is_tensor_level(module)
    if tensor_level:
        module, diagnostics = _outlined(module, filename)
    around = surroundings_in(module.functions)
    for function in module.functions:
        if not needs_types(function) and not tensor_level:
            functions.append(function)
            continue
        try:
            for p in function.params:
                require_extents(p)
            function = _with_symbols(folded_indices(function))
            function = with_needed_parameters(function, engine.rulebook, engine.target)
            single = single_assignment(function, reserved)
        except Refused as refused:
            diagnostics.append(refused.diagnostic(function.span, filename, function.name))
            continue
        surroundings = around(single)
        function, refusals = engine.together(partial(_typed, engine, single, surroundings, filename))
        diagnostics += refusals
        try:
            functions.append(function if refusals else stored_directly(simplified(function), engine.rulebook))
        except Refused as refused:
            diagnostics.append(refused.diagnostic(function.span, filename, function.name))
    if diagnostics:
        raise _refused(diagnostics, source)
    return replace(module, functions=tuple(functions))


def _refused(diagnostics: list[Diagnostic], source: str) -> CompileError:
    """Every refusal where it is, in the order of the text."""
    from pypto_rw.front.places import at_its_name  # only a refused kernel needs it

    lines = source.splitlines()
    return CompileError(
        sorted((at_its_name(d, lines) for d in diagnostics), key=lambda d: (d.span.line, d.span.column)), source
    )


def _outlined(module: ir.Module, filename: str) -> tuple[ir.Module, list[Diagnostic]]:
    """The kernels that the host functions' scopes are."""
    functions: list[ir.Function] = []
    diagnostics: list[Diagnostic] = []
    for function in module.functions:
        try:
            functions += outlined(function)
        except Refused as refused:
            diagnostics.append(refused.diagnostic(function.span, filename, function.name))
    return replace(module, functions=tuple(functions)), diagnostics


def legal(module: ir.Module, engine: Engine, *, filename: str, source: str = "") -> ir.Module:
    """A typed `module` at tile level: every op is one the target has, every tile where its ops read it.

    Raises CompileError with every refusal."""
    diagnostics: list[Diagnostic] = []
    functions = []
    around = surroundings_in(module.functions)
    for function in module.functions:
        if not needs_legal(function):
            functions.append(function)
            continue
        surroundings = around(function)
        try:
            function, refusals = engine.together(partial(_legal, engine, function, surroundings, filename))
            if any(isinstance(s, ir.For) and s.kind == "pipeline" for s in ir.statements(function.body)):
                from pypto_rw.front.pipeline import replicated  # few kernels have such a loop

                function = simplified(replicated(function, engine.rulebook))
            functions.append(dispatched(function, engine, surroundings))
            diagnostics += refusals
        except Refused as refused:
            diagnostics.append(refused.diagnostic(function.span, filename, function.name))
    if diagnostics:
        raise _refused(diagnostics, source)
    return replace(module, functions=tuple(functions))


def _typed(
    engine: Engine, function: ir.Function, surroundings: Surroundings, filename: str
) -> tuple[ir.Function, list[Diagnostic]]:
    typer = Typer(engine, function, surroundings, filename)
    return typer.function(), typer.diagnostics


def _legal(
    engine: Engine, function: ir.Function, surroundings: Surroundings, filename: str
) -> tuple[ir.Function, list[Diagnostic]]:
    legalizer = Legalizer(engine, function, surroundings, filename)
    return legalizer.function(), legalizer.diagnostics


def _with_symbols(function: ir.Function) -> ir.Function:
    """A symbol that only the valid_shape of a tensor parameter names is passed as a parameter of its own."""
    tensors = [p.type for p in function.params if isinstance(p.type, ir.TensorType)]
    known = {p.name for p in function.params} | {n for t in tensors for n in reads(t.shape)}
    asked = [n for t in tensors for n in reads(t.view.valid if t.view and t.view.valid else ()) if n not in known]
    new = tuple(ir.Param(n, ir.ScalarType(ir.DType.INDEX), span=function.span) for n in dict.fromkeys(asked))
    return replace(function, params=(*new, *function.params)) if new else function
