"""Text -> ir.Module, or a CompileError that says where and why not."""

from __future__ import annotations

import re

from pypto_rw import ir
from pypto_rw.collector import paused
from pypto_rw.diagnostics import CompileError, Diagnostic
from pypto_rw.syntax.lexer import Lexer
from pypto_rw.syntax.machine import Machine, Unexpected
from pypto_rw.syntax.memo import MARKS, Memo
from pypto_rw.syntax.mistakes import explain
from pypto_rw.syntax.modules import Modules
from pypto_rw.syntax.tokens import Lexicon, Refusal

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
    ready = _memo(lexicon, actions, comments) if memo and not _MARKS.search(text) else None
    lexer = Lexer(lines, lexicon, comments, ready)
    try:
        try:
            module = Machine(actions).parse(lexer, "file")
        except Unexpected as error:
            raise explain(error, lexer) from None
    except Refusal as refusal:
        shown = _UNSHOWABLE.sub("\ufffd", refusal.message)
        help_ = _UNSHOWABLE.sub("\ufffd", refusal.help)
        diagnostic = Diagnostic(refusal.code, shown, refusal.span, help_, filename=filename)
        raise CompileError((diagnostic,), _UNSHOWABLE.sub(" ", text)) from None
    assert isinstance(module, ir.Module)
    return module


def _memo(lexicon: Lexicon, actions: Modules, comments: dict[int, tuple[str, ...]]) -> Memo:
    # Lines are read by actions of their own: no constants, no loops around.
    machine: Machine | None = None

    def parse_line(line: str) -> object:
        nonlocal machine
        if machine is None:
            alone = Modules({}, lexicon.prefix, None)
            alone.types.shared = actions.types.shared
            machine = Machine(alone)
        try:
            return machine.parse(Lexer([line], lexicon, {}), "line")
        except (Refusal, Unexpected):
            return None

    return Memo(lexicon, actions.constants, comments, parse_line, actions.types.shared)
