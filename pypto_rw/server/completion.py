"""What may be written at a place: names behind `pl.`, keyword arguments and their values, names in scope, keywords."""

from __future__ import annotations

import re

from pypto_rw.diagnostics import Span
from pypto_rw.records import dataclass
from pypto_rw.server.catalogue import VALUES, Catalogue, described, written
from pypto_rw.server.hover import spelled
from pypto_rw.server.scan import OpenCall, Text
from pypto_rw.syntax.tokens import DTYPES, GROUPS, OPAQUES, TYPES, Lexicon

_BEFORE = re.compile(r"((?:[^\W\d]\w*\.)*)([^\W\d]\w*)?$")
KEYWORDS = ("break", "continue", "elif", "else", "for", "if", "pass", "return", "while", "with")
_WORDS = ("and", "not", "or", "True", "False", "None")
_LOOPS = {
    "range": "for i in pl.range(…): a loop",
    "parallel": "for i in pl.parallel(…): a loop whose rounds do not depend on one another",
    "unroll": "for i in pl.unroll(…): a loop written out",
    "pipeline": "for i in pl.pipeline(…, stage=2): a loop whose loads run ahead",
    "spmd": "for i in pl.spmd(n): one round a block",
    "split_aiv": "for i in pl.split_aiv(2, mode=…): one half a vector core",
    "while_": "for (a,) in pl.while_(init_values=(x,)): a while loop with carried values",
    "yield_": "what a loop or branch passes on",
}
_DECORATORS = {"program": "a class of kernels", "function": "a kernel"}
_TYPE_WORDS = {
    "Tensor": "a tensor in global memory",
    "Tile": "a tile in on-chip memory",
    "Scalar": "a scalar",
    "Array": "an array of scalars",
    "Tuple": "a tuple of values",
    "Out": "a parameter that is written",
    "InOut": "a parameter that is read and written",
}
_RECORDS = {"MemRef": "bytes of an allocation", "TensorView": "strides and layout", "TileView": "extents and layout"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that may be written: what replaces `span`, its kind (`op module dtype member keyword argument variable
    type`), and a line on it."""

    label: str
    kind: str
    detail: str
    span: Span


def complete(text: Text, source: str, catalogue: Catalogue, line: int, column: int) -> list[Choice]:
    """Everything that may be written at a place, in the order it is offered."""
    if text.inside_text(line, column):
        return []
    shown = text.lines[line - 1][: column - 1] if line <= len(text.lines) else ""
    m = _BEFORE.search(shown)
    path, part = (m[1], m[2] or "") if m else ("", "")
    span = Span(line, column - len(part), line, column)
    if path:
        return [Choice(*c, span) for c in _members(path[:-1], source, catalogue)]
    lexicon = Lexicon.of(source)
    head = shown[: len(shown) - len(part)]
    if head.rstrip().endswith("@"):
        return [Choice(f"{lexicon.prefix}.{d}", "keyword", what, span) for d, what in _DECORATORS.items()]
    found: list[tuple[str, str, str]] = []
    call = text.call_at(line, column - len(part))
    if call is not None:
        found += _arguments(call, source, catalogue, lexicon.prefix)
        if call.value_of is not None and found:
            return [Choice(*c, span) for c in found]
    found += [(name, "variable", "") for name in text.names_at(line)]
    found.append((lexicon.prefix, "module", "the language"))
    words = KEYWORDS if not head.strip() and call is None else _WORDS
    found += [(word, "keyword", "") for word in words]
    return [Choice(*c, span) for c in found]


def _members(path: str, source: str, catalogue: Catalogue) -> list[tuple[str, str, str]]:
    behind = spelled(source, f"{path}.")
    if behind is None:
        return []
    behind = behind.rstrip(".")
    if behind in GROUPS:
        return [(name, "member", "") for name in sorted(GROUPS[behind])]
    if behind:
        members = catalogue.members(behind)
        return [(n, "module" if what.startswith("ops of ") else "op", what) for n, what in members.items()]
    found = [(written(n), "op", f"{catalogue.meanings[op]}") for n, op in sorted(catalogue.unified.items())]
    families = sorted({op.partition(".")[0] for op in catalogue.ops} - {"pld"})
    found += [(f, "module", f"ops of {f}") for f in families]
    found += [(d, "dtype", "element type") for d in DTYPES]
    found += [(t, "type", _TYPE_WORDS[t]) for t in TYPES]
    found += [(t, "type", "") for t in OPAQUES]
    found += [(r, "type", what) for r, what in _RECORDS.items()]
    found += [(g, "module", "") for g in GROUPS]
    found += [(w, "keyword", what) for w, what in {**_LOOPS, **_DECORATORS}.items()]
    return found


def _arguments(call: OpenCall, source: str, catalogue: Catalogue, prefix: str) -> list[tuple[str, str, str]]:
    """Keywords of the op that are not given yet, or what the keyword before the place may be."""
    callee = spelled(source, call.callee.text)
    ops = catalogue.called(callee) if callee is not None else []
    parameters = {p.name: p for op in reversed(ops) for p in catalogue.ops[op].parameters if p.written}
    if call.value_of is not None:
        p = parameters.get(call.value_of)
        if p is None:
            return []
        if p.kind == "dtype":
            return [(f"{prefix}.{d}", "dtype", "element type") for d in DTYPES]
        if p.kind == "flag":
            return [("True", "keyword", ""), ("False", "keyword", "")]
        group = VALUES.get(p.kind)
        return [(f"{prefix}.{group}.{m}", "member", "") for m in sorted(GROUPS[group])] if group else []
    first = catalogue.ops[ops[0]].usage.positional if ops else ()
    passed = {p.name for p in first[: call.position]} if len(ops) == 1 else set()
    return [
        (f"{name}=", "argument", described(p))
        for name, p in parameters.items()
        if name not in call.keywords and name not in passed
    ]
