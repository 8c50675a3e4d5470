"""Where the word under the pointer comes from, and the functions of a text."""

from __future__ import annotations

from pypto_rw.diagnostics import Span
from pypto_rw.records import dataclass
from pypto_rw.server.analysis import Analysis
from pypto_rw.server.catalogue import Catalogue
from pypto_rw.server.hover import spelled
from pypto_rw.server.scan import Text


@dataclass(frozen=True, slots=True)
class Target:
    """A place; `path` None: in the same text."""

    path: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function: its name, the name's place, and all of it."""

    name: str
    selection: Span
    span: Span


def definition(text: Text, analysis: Analysis, catalogue: Catalogue, line: int, column: int) -> list[Target]:
    """The statement that defines a value or a function; the signature's line in an op's rule file. An op whose name
    its operands choose has several files, unless the text compiles."""
    if text.inside_text(line, column) or (word := text.word_at(line, column)) is None:
        return []
    callee = spelled(analysis.source, word.text)
    if callee is not None:
        op = analysis.op(line, word.column)
        places = [catalogue.place(o) for o in ([op] if op in catalogue.ops else catalogue.called(callee)) if o]
        return [Target(path, Span(at, 1, at, 1)) for path, at in places]
    if word.text.startswith("self."):
        called = word.text.removeprefix("self.")
        return [Target(None, f.name.span) for f in text.functions if f.name.text == called]
    found = text.definition_of(word.text, line, word.column)
    return [Target(None, found.span)] if found is not None else []


def symbols(text: Text) -> list[Symbol]:
    """The functions of a text, in order."""
    found = []
    for f in text.functions:
        last = max(
            (s[-1] for s in text.statements if f.start <= s[0].line < f.end and s[0].column > _indent(text, f.start)),
            key=lambda w: w.line,
            default=f.name,
        )
        found.append(Symbol(f.name.text, f.name.span, Span(f.start, _indent(text, f.start), last.line, last.end)))
    return found


def _indent(text: Text, line: int) -> int:
    shown = text.lines[line - 1]
    return len(shown) - len(shown.lstrip()) + 1
