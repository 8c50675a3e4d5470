"""Text -> ir.Module, or a CompileError that says where and why not."""

from __future__ import annotations

import re

from pypto_rw import ir
from pypto_rw.collector import paused
from pypto_rw.diagnostics import CompileError, Diagnostic
from pypto_rw.syntax.lexer import Lexer
from pypto_rw.syntax.machine import Machine, Unexpected
from pypto_rw.syntax.memo import MARKS, Annotation, Memo, Templates
from pypto_rw.syntax.mistakes import explain, lowered
from pypto_rw.syntax.modules import Modules
from pypto_rw.syntax.parts import Part
from pypto_rw.syntax.tokens import Lexicon, Refusal, Token
from pypto_rw.syntax.unchanged import Functions

_HEADER = re.compile(r"# pypto\.program: (.*)")
_BREAK = re.compile(r"\r\n|\r|\n")
# What str.splitlines takes for a line end, and we do not; and halves of surrogate pairs, which cannot be printed.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x85\u2028\u2029\ud800-\udfff]")
_MARKS = re.compile(f"[{MARKS}]")


def parse(source: str, *, filename: str = "<string>", memo: bool = True) -> ir.Module:
    """The module that `source` says.

    `memo` False reads every line with the full grammar; the result is the same.
    Raises CompileError, and nothing else, for whatever is not a module. Source: pyir-syntax.md."""
    with paused():
        return _parse(source, filename, memo)


def _parse(source: str, filename: str, memo: bool) -> ir.Module:
    lines = _BREAK.split(source.removeprefix("\ufeff"))
    text = "\n".join(lines)
    lexicon = Lexicon.of(text)
    header = _HEADER.fullmatch(lines[0])
    comments: dict[int, tuple[str, ...]] = {}
    actions = Modules(comments, lexicon.prefix, header[1].rstrip() if header else None)
    if not memo or _MARKS.search(text):
        return _read(lines, lexicon, actions, comments, None, filename)
    templates = _idle.pop(lexicon.key, None) or _templates(lexicon)
    actions.types.shared = templates.share
    functions = Functions(lines, lexicon.key, actions.plain_calls)
    ready = Memo(templates, actions.constants, comments, functions)

    def learn(part: Part, annotation: Annotation) -> None:
        first, last = part.first, part.last
        if first.line == last.end_line:
            ready.learn_annotation(lines[first.line - 1][first.column - 1 : last.end_column - 1], annotation)

    def learn_decorator(at: Token, part: Part, end: Token) -> None:
        if at.line == end.line:
            ready.learn_decorator(lines[at.line - 1], part)

    actions.learn = learn
    actions.learn_decorator = learn_decorator
    try:
        module = _read(lines, templates.lexicon, actions, comments, ready, filename)
        functions.learn(module)
        return module
    finally:
        if templates.files % 64 or templates.size < _MOST:
            _idle[lexicon.key] = templates


def _read(
    lines: list[str],
    lexicon: Lexicon,
    actions: Modules,
    comments: dict[int, tuple[str, ...]],
    ready: Memo | None,
    filename: str,
) -> ir.Module:
    lexer = Lexer(lines, lexicon, comments)
    if ready is not None:
        lexer = Lexer(lines, lexicon, comments, ready, ready.annotation, ready.head, ready.function)
    try:
        try:
            module = Machine(actions).parse(lexer, "file")
        except Unexpected as error:
            if ready is not None:  # lines read before are one token: what is told must not depend on them
                return _parse("\n".join(lines), filename, memo=False)
            raise explain(error, lexer) from None
    except Refusal as found:
        refusal = lowered(lines) or found
        shown = _UNSHOWABLE.sub("\ufffd", refusal.message)
        help_ = _UNSHOWABLE.sub("\ufffd", refusal.help)
        diagnostic = Diagnostic(refusal.code, shown, refusal.span, help_, filename=filename)
        raise CompileError((diagnostic,), _UNSHOWABLE.sub(" ", "\n".join(lines))) from None
    assert isinstance(module, ir.Module)
    return module


_MOST = 100_000  # things that templates may remember
_idle: dict[tuple[str, str, bool], Templates] = {}  # by what the lexicon depends on; a parse takes one out


def _templates(lexicon: Lexicon) -> Templates:
    shared: dict[ir.Type, ir.Type] = {}
    # Lines are read by actions of their own: no loops around.
    machine: Machine | None = None
    alone = Modules({}, lexicon.prefix, None)

    def parse_line(line: str, constants: dict[str, Part]) -> object:
        nonlocal machine, alone
        if machine is None:
            alone = Modules({}, lexicon.prefix, None)
            alone.types.shared = shared
            machine = Machine(alone)
        alone.constants.clear()
        alone.constants.update(constants)
        alone.plain_calls.clear()
        try:
            statement = machine.parse(Lexer([line], lexicon, {}), "line")
            return None if alone.plain_calls else statement  # whether there is such a function is another file's matter
        except (Refusal, Unexpected):
            machine = None  # its actions may remember half a line
            return None

    return Templates(lexicon, parse_line, shared)
