"""Says in words what is wrong where the grammar stops."""

from __future__ import annotations

import re

from pypto_rw.diagnostics import Span
from pypto_rw.syntax.lexer import Lexer
from pypto_rw.syntax.machine import Unexpected
from pypto_rw.syntax.tokens import Refusal, Token

_HEADERS = ("def", "class", "if", "elif", "else", "while", "for", "with")
_NAMES = frozenset(("NAME", "DOTTED", "PATH", "TYPE", "OPAQUE", "RECORD"))
_STARTS = _NAMES | {"INT", "FLOAT", "BOOL", "NONE", "STRING", "LPAR", "LSQB", "LBRACE", "TILDE", "NOT"}
_ENDS = _NAMES | {"INT", "FLOAT", "BOOL", "NONE", "STRING", "RPAR", "RSQB", "RBRACE"}
_INFIX = frozenset(("OP", "MINUS", "PLUS", "STAR", "POW"))
# Token types a reader of the message can do something with, in the order they are listed.
_WORDS = {
    "NEWLINE": "the end of the line",
    "INDENT": "an indented block",
    "COMMA": "`,`",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "ARROW": "`->`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "LPAR": "`(`",
    "LSQB": "`[`",
    "IN": "`in`",
    "AS": "`as`",
    "IMPORT": "`import`",
    "DEF": "`def`",
    "CLASS": "`class`",
    "AT": "`@`",
}
_PLACES = {
    "RANGE": ("in the header of a loop", "write for i in {}(...):"),
    "WHILE_LOOP": ("in the header of a loop", "write for (a,) in {}(init_values=(x,)):"),
    "SPMD": ("in the header of a loop or of `with`", "write for core in {}(8):"),
    "YIELD": ("alone on a line, or right of `=`", "write x = {}(...)"),
    "FUNC_ATTR": ("at the start of a function", ""),
}
_READ_BEFORE = frozenset(["READY", "KNOWN", "DECORATOR", "HEAD", "CLASS_HEAD"])  # tokens that nobody writes


_MLIR = re.compile(r"\s*(?:builtin\.)?module\b(?!\s*[=.(\[]).*\{\s*")


def lowered(lines: list[str]) -> Refusal | None:
    """The refusal of MLIR, which `lower` prints, in the place of what it reads."""
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith(("//", "#")):
            if not _MLIR.fullmatch(line):
                return None
            start = line.index("module") + 1
            return Refusal(
                "unsupported-syntax",
                "this is MLIR already, as `pypto-rw lower` prints it; PyPTO IR is needed here",
                Span(number, start, number, start + len("module")),
                "check it with `pypto-rw verify`, or give the .pyir file that it was printed from",
            )
    return None


def explain(error: Unexpected, lexer: Lexer) -> Refusal:
    """The refusal for the token the grammar could not take."""
    token, expected, before = error.token, error.expected - _READ_BEFORE, error.before
    words = lexer.statement()
    first = words[0].text if words else ""
    layout = _layout(token, expected, before, lexer)
    if layout is not None:
        return layout
    inside = lexer.brackets[-1].text if lexer.brackets else ""
    opened = _open_bracket(lexer)
    if opened is not None:
        return opened
    return (
        _header(token, expected, first)
        or _equal(token, first, before)
        or _python(token, expected, first, before, words)
        or _misplaced(token)
        or _set(token, inside)
        or _neighbours(token, before, inside)
        or _other(token, expected)
    )


def _layout(token: Token, expected: frozenset[str], before: Token | None, lexer: Lexer) -> Refusal | None:
    if token.type == "INDENT":
        above = "the line above opens no block" if before is not None else "it is the first statement"
        return Refusal(
            "unexpected-indent", f"this line is indented, but {above}", token.span, "line it up with the line above"
        )
    if "INDENT" in expected:
        header = before.line if before is not None else token.line
        place = token.span
        if token.type in ("DEDENT", "$END"):  # the next statement, or the end of the file
            line = lexer.next_line()
            place = Span(line, 1, line, 2)
        return Refusal(
            "missing-block",
            f"an indented block is needed after line {header}, which ends in `:`",
            place,
            "indent its statements by four spaces more, or write `pass`",
        )
    if token.type in ("ELSE", "ELIF") and (before is None or before.type in ("NEWLINE", "DEDENT", "INDENT")):
        return Refusal(
            "else-without-if",
            f"`{token.text}` has no `if` in the same column directly before it",
            token.span,
            "line it up with its `if`",
        )
    if expected <= {"AT", "DEF", "CLASS"}:
        return Refusal(
            "decorator-alone",
            f"a decorator belongs to a function or a class; found {_found(token)}",
            token.span,
            "write `def` or `class` below it",
        )
    return None


def _open_bracket(lexer: Lexer) -> Refusal | None:
    """The refusal of a bracket that is open here and never closed."""
    if not lexer.brackets:
        return None
    here = [(bracket.line, bracket.column) for bracket in lexer.brackets]
    try:
        lexer.drain()
    except Refusal as refusal:
        if refusal.code == "unclosed-bracket" and (refusal.span.line, refusal.span.column) in here:
            return refusal
    return None


def _header(token: Token, expected: frozenset[str], first: str) -> Refusal | None:
    if first not in _HEADERS:
        return None
    if token.type == "NEWLINE" and "COLON" in expected:
        return Refusal(
            "missing-colon", f"the line that starts with `{first}` must end in `:`", token.span, "add `:` here"
        )
    if token.type == "EQUAL" and first in ("if", "elif", "while"):
        return Refusal("assign-in-condition", "`=` assigns; a condition compares", token.span, "write `==`")
    if first == "else" and token.type == "IF":
        return Refusal("unexpected-token", "`else if` is written as one word", token.span, "write `elif`")
    if first == "def" and token.type in ("STAR", "POW", "OP"):
        return Refusal(
            "unsupported-syntax", f"`{token.text}` cannot stand in a parameter list", token.span, "list every parameter"
        )
    return None


def _equal(token: Token, first: str, before: Token | None) -> Refusal | None:
    if token.type != "EQUAL":
        return None
    if before is not None and before.type == before.text.upper() and before.text.isalpha():
        return Refusal(
            "keyword-as-name", f"`{before.text}` is a keyword, not a name", before.span, "choose another name"
        )
    if first == "return":
        return Refusal("unexpected-equal", "`=` cannot stand in `return`", token.span, "write `==` to compare")
    if before is not None and before.type in ("OP", "MINUS", "PLUS", "STAR", "EQUAL"):
        return Refusal("unexpected-equal", f"`{before.text}` and `=` cannot follow each other", token.span)
    return Refusal(
        "unexpected-equal",
        "a second `=`, or one where nothing can be assigned",
        token.span,
        "one assignment a line; compare with `==`",
    )


def _python(
    token: Token, expected: frozenset[str], first: str, before: Token | None, words: list[Token]
) -> Refusal | None:
    """Python that the language does not have."""
    what = help_ = ""
    text = token.text
    if first in ("import", "from"):
        code = "unsupported-import"
        return Refusal(code, "only pypto.language can be imported", token.span, "write import pypto.language as pl")
    if token.type == "FOR" and before is not None and before.type not in ("NEWLINE", "INDENT", "DEDENT"):
        what, help_ = "a comprehension", "write a loop: for i in pl.range(n):"
    elif token.type == "IF" and before is not None and before.type in _ENDS:
        what, help_ = "a conditional expression", "write an `if` statement that assigns in both branches"
    elif token.type in ("STAR", "POW") and token.type not in expected:
        what, help_ = f"`{text}` before an argument", "write the arguments one by one"
    elif token.type == "IN":
        what, help_ = "`in` as an operator", "compare with `==`"
    elif token.type == "AT" and before is not None and before.type in _ENDS:
        what, help_ = "`@` as an operator", "write pl.matmul(a, b)"
    elif text in ("print", "exec") or (before is not None and before.text in ("print", "exec")):
        word = "print" if "print" in (text, before.text if before else "") else "exec"
        what, help_ = f"`{word}`", "kernels do not print; store into a tensor"
    elif first == "match" and len(words) > 1 and token is not words[0]:
        what, help_ = "`match`", "write if, elif, else"
    elif text in ("&", "|") and before is not None and before.text == text:
        what, help_ = f"`{text * 2}`", f"write `{'and' if text == '&' else 'or'}`"
    if not what:
        return None
    return Refusal("unsupported-syntax", f"{what} is not part of the kernel language", token.span, help_)


def _misplaced(token: Token) -> Refusal | None:
    if token.type not in _PLACES:
        return None
    where, help_ = _PLACES[token.type]
    message = f"`{token.text}` can only stand {where}"
    return Refusal("misplaced-call", message, token.span, help_.format(token.text))


def _set(token: Token, inside: str) -> Refusal | None:
    if inside != "{" or token.type not in ("COMMA", "RBRACE"):
        return None
    message = "a set is not part of the kernel language; braces hold keys and values"
    return Refusal("unsupported-syntax", message, token.span, 'write {"key": value}, or a list: [a, b]')


def _neighbours(token: Token, before: Token | None, inside: str) -> Refusal | None:
    if before is None or before.type not in _ENDS or token.type not in _STARTS:
        return None
    if inside:
        return Refusal(
            "missing-comma",
            f"{_found(token)} stands directly after {_found(before)}; a comma or an operator is missing between them",
            token.span,
            "write `,` between two arguments",
        )
    return Refusal(
        "missing-operator",
        f"{_found(token)} stands directly after {_found(before)}; an operator is missing between them",
        token.span,
        "start a new statement on a new line",
    )


def _other(token: Token, expected: frozenset[str]) -> Refusal:
    wanted = [word for type_, word in _WORDS.items() if type_ in expected]
    if expected >= {"NAME", "INT", "MINUS"}:
        wanted = ["an expression"] if token.type == "NEWLINE" or len(expected) > 12 else ["an expression", *wanted]
    elif "NAME" in expected:
        wanted.insert(0, "a name")
    elif expected & _INFIX:
        wanted.append("an operator")
    # `x(` and `x[` are always possible after an operand; naming them helps nobody.
    if "an operator" in wanted:
        wanted = [word for word in wanted if word not in ("`(`", "`[`")]
    listed = " or ".join(filter(None, (", ".join(wanted[:-1]), wanted[-1] if wanted else "")))
    found = _found(token)
    message = f"found {found}; expected {listed}" if listed else f"{found} cannot stand here"
    return Refusal("unexpected-token", message, token.span)


def _found(token: Token) -> str:
    match token.type:
        case "NEWLINE":
            return "the end of the line"
        case "DEDENT" | "$END":
            return "the end of the block" if token.type == "DEDENT" else "the end of the file"
        case "STRING":
            return "a string"
        case _:
            return f"`{token.text}`"
