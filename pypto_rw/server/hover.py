"""What is shown of the word under the pointer, as Markdown."""

from __future__ import annotations

import re
from pathlib import Path

from pypto_rw import ir
from pypto_rw.diagnostics import Span
from pypto_rw.layout import effective_view
from pypto_rw.memory.facts import Facts
from pypto_rw.records import replace
from pypto_rw.server.analysis import Analysis, Known
from pypto_rw.server.catalogue import Catalogue, described
from pypto_rw.server.scan import OpenCall, Text
from pypto_rw.syntax import expression_text
from pypto_rw.syntax.tokens import Lexicon
from pypto_rw.syntax.writer_terms import Terms

_FOLLOWED = re.compile(r"\s*=(?!=)")


def hover(
    text: Text, analysis: Analysis, earlier: Analysis | None, catalogue: Catalogue, line: int, column: int
) -> tuple[str, Span] | None:
    """Markdown for the word at a place and the word's span. `earlier`: the last text that had no errors."""
    if text.inside_text(line, column) or (word := text.word_at(line, column)) is None:
        return None
    callee = spelled(analysis.source, word.text)
    if callee is not None:
        op = analysis.op(line, word.column)
        ops = [op] if op in catalogue.ops else catalogue.called(callee)
        shown = [_op(o, catalogue, full=len(ops) == 1) for o in ops if o is not None]
        return ("\n\n---\n\n".join(shown), word.span) if shown else None
    call = text.call_at(line, word.column)
    if call is not None and word.text in call.keywords and _FOLLOWED.match(text.lines[line - 1], word.end - 1):
        return _argument(word.text, analysis, catalogue, call), word.span
    found = text.definition_of(word.text, line, word.column)
    if found is None or found.kind == "function":
        return None
    known = analysis.value(found.name, found.span.line)
    old = known is None and earlier is not None
    if known is None and earlier is not None:
        known = earlier.named(found.name)
    if known is None or known.type is None:
        return None
    facts = Facts(catalogue.rulebook, analysis.options.target)
    parts = [_value(found.name, known, facts, analysis.options.planner)]
    if found.span.line != line:
        parts.append(f"Defined in line {found.span.line}.")
    if old:
        parts.append("As of the last text without errors.")
    return "\n\n".join(parts), word.span


def spelled(source: str, word: str) -> str | None:
    """The name behind the import's prefix (`pl.tile.and_` is `tile.and`); None for a word without that prefix."""
    lexicon = Lexicon.of(source)
    head, dot, _ = word.partition(".")
    if not dot or head not in (lexicon.prefix, lexicon.distributed):
        return None
    value = lexicon[word][1]
    return value[:-1] if value.endswith("_") and value != "yield_" else value


def _argument(name: str, analysis: Analysis, catalogue: Catalogue, call: OpenCall) -> str:
    """A keyword argument, as the op's signature has it."""
    callee = spelled(analysis.source, call.callee.text)
    op = analysis.op(call.callee.line, call.callee.column)
    ops = [op] if op in catalogue.ops else catalogue.called(callee or "")
    parameters = [(o, p) for o in ops if o is not None for p in catalogue.ops[o].parameters if p.name == name]
    return "\n\n".join(f"```python\n{described(p)}\n```\nargument of {o}" for o, p in parameters[:1])


def _value(name: str, known: Known, facts: Facts, planner: str) -> str:
    type_ = known.type
    assert type_ is not None
    if isinstance(type_, ir.TileType):
        bare: ir.Type = replace(type_, memref=None, view=None)
    elif isinstance(type_, ir.TensorType):
        bare = replace(type_, memref=None)
    else:
        bare = type_
    spelling = Terms(prefix="pl", defined=frozenset(), functions=frozenset()).type(bare)
    head = f"```python\n{name}: {spelling}\n```"
    rows = []
    if known.direction:
        rows.append(f"parameter, {_DIRECTIONS[known.direction]}")
    if isinstance(type_, ir.TileType):
        view = effective_view(type_)
        valid = ", ".join(map(expression_text, view.valid))
        rows.append(f"valid: [{valid}]{'' if view.valid != type_.shape else ', all of it'}")
        layout = f"layout: {view.blayout.value}, {view.slayout.value}, fractal {view.fractal} bytes"
        layout += f", pad {view.pad.value}" if view.pad is not ir.Pad.null else ""
        rows.append(layout + (", compact" if view.compact else ""))
        rows.append(_memory(type_, facts, planner))
    elif isinstance(type_, ir.TensorType) and type_.view is not None and type_.view.valid is not None:
        rows.append(f"valid: [{', '.join(map(expression_text, type_.view.valid))}]")
    if known.name != name:
        rows.append(f"`{known.name}` from stage {known.stage} on")
    return "\n".join([head, *(f"- {row}" for row in rows)])


_DIRECTIONS = {"In": "read only (In)", "Out": "written only (Out)", "InOut": "read and written (InOut)"}


def _memory(tile: ir.TileType, facts: Facts, planner: str) -> str:
    space = tile.space.value if tile.space is not None else None
    m = tile.memref
    if space is None:
        return "memory: not chosen yet"
    if m is None or m.offset is None or m.size is None:
        return f"memory: {space}, not placed yet"
    if planner == "ptoas":
        return f"memory: {space}, {m.size} bytes in `{m.base}`; the assembler places it"
    capacity = facts.capacity.get(tile.space) if tile.space is not None else None
    of = f" of {capacity}" if capacity else ""
    if isinstance(m.offset, ir.Int):
        return f"memory: {space}, bytes {m.offset.value}..{m.offset.value + m.size}{of}, in `{m.base}`"
    return f"memory: {space}, {m.size} bytes at {expression_text(m.offset)}, in `{m.base}`"


def _op(op: str, catalogue: Catalogue, *, full: bool) -> str:
    path, line = catalogue.place(op)
    parts = [
        f"```python\n{catalogue.signature(op)}\n```",
        f"{catalogue.meanings[op]}",
        f"Rule file: [{op.replace('.', '/')}.egg:{line}]({Path(path).absolute().as_uri()}#L{line})"
        + _targets(catalogue.rulebook.targets(catalogue.ops[op])),
    ]
    for example in catalogue.shown(op) if full else ():
        parts.append("Example:\n```python\n" + "\n".join(example.body) + "\n```")
        parts.append("prints\n```mlir\n" + "\n".join(example.prints) + "\n```")
    return "\n\n".join(parts)


def _targets(targets: tuple[str, ...]) -> str:
    return "" if len(targets) > 1 else f"; only on {targets[0]}"
