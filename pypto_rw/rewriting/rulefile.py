"""A rule file as it is read: its declarations are the facts at its top level. Nothing here knows egglog."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from pypto_rw.diagnostics import CompileError, Diagnostic, Span
from pypto_rw.rewriting.declared import OPERAND_KINDS, SORTS, Form, Parameter, RuleFile, Signature

_FACT = re.compile(
    r'(?:^|(?<=\) ))\(([a-z][\w/-]*) "([^"\n]*)"((?: (?:"(?:[^"\\\n]|\\.)*"|-?\d+|\(\w[\w-]*\)))*)\)', re.M
)
_SURFACE = re.compile(r'^\(surface "([^"]+)" "([^"]+)" "([^"]*)"\)', re.M)
_RULE = re.compile(r"^\((?:rule|rewrite|birewrite|datatype|constructor|function|relation|sort|ruleset)\b")
_ARGUMENT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|(-?\d+)|\((\w[\w-]*)\)')
_UNESCAPE = re.compile(r'\\([\\"n])')
_ESCAPED = {"\\": "\\", '"': '"', "n": "\n"}
_REQUIRES = re.compile(r"^; requires: (\S+)", re.M)
_NAMED = re.compile(r':name "([^"\n]+)"')
_HOLES = re.compile(r"(?<!\{)\{(\w+)(?::\w+)?\}")
_FORM_SORTS = {
    "operand": "Operand",
    "operands": "Operands",
    "string": "String",
    "int": "i64",
    "dtype": "Dtype",
    "flag": "bool",
}


def rule_error(message: str, path: str | Path, line: int = 1, column: int = 1, help: str = "") -> CompileError:
    """A refusal of a rule file, at its own line."""
    span = Span(line, column, line, column + 1)
    diagnostic = Diagnostic(code="rule-file", message=message, span=span, help=help, filename=str(path))
    text = ""
    if os.path.isfile(path):
        with open(path, errors="replace") as file:
            text = file.read()
    return CompileError([diagnostic], text)


def read(name: str, file: str) -> RuleFile:
    """The rule file of that name. Raises CompileError (code `rule-file`) for what cannot be read."""
    path = Path(file)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise rule_error(f"cannot read this rule file: {error}", path) from None
    facts: list[tuple[int, str, str, tuple[str, ...]]] = []
    for m in _facts(text):
        arguments = tuple(a[1] if a[1] is not None else a[2] or a[3] for a in _ARGUMENT.finditer(m[3]))
        facts.append((text.count("\n", 0, m.start()) + 1, m[1], m[2], arguments))
    signatures = []
    for line, head, op, arguments in facts:
        if head in ("signature", "operands") and arguments:
            parameters = _parameters(arguments[0], path, line, generic=head == "operands")
            traits = frozenset((h, *a) for _, h, o, a in facts if o == op and h not in ("signature", "operands"))
            signatures.append(Signature(op, parameters, head == "operands", traits, file))
    forms = tuple(_form(n, a, path, line) for line, head, n, a in facts if head == "form")
    rule_lines = {m[1]: text.count("\n", 0, _rule_start(text, m.start())) + 1 for m in _NAMED.finditer(text)}
    stated = tuple((head, first, *rest) for _, head, first, rest in facts)
    return RuleFile(name, path, text, tuple(signatures), forms, tuple(_REQUIRES.findall(text)), stated, rule_lines)


def surfaces(path: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Each `(surface "tile.adds" "add" "tile scalar")` of a file: the op, the name that authors write, the kinds."""
    for m in _SURFACE.finditer(path.read_text(errors="replace")):
        yield m[1], m[2], tuple(m[3].split())


_STATEMENT = re.compile(r'^\(([a-z][\w-]*)((?:\s+"[^"]*")+)\)', re.M)
_TEXT = re.compile(r'"([^"]*)"')


def statements(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every top-level fact of a rule file's text whose arguments are strings: its head and its arguments."""
    for head, arguments, _ in placed_statements(text):
        yield head, arguments


def placed_statements(text: str) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """The same with the line of each."""
    line, at = 1, 0
    for m in _STATEMENT.finditer(text):
        line, at = line + text.count("\n", at, m.start()), m.start()
        yield m[1], tuple(_TEXT.findall(m[2])), line


def _facts(text: str) -> Iterator[re.Match[str]]:
    """Top-level facts: they start a line, or follow another fact on it."""
    start = 0
    for line in text.splitlines(keepends=True):
        if line.startswith("(") and not _RULE.match(line):
            code = line.partition(";")[0] if '"' not in line else line
            yield from _FACT.finditer(text, start, start + len(code))
        start += len(line)


def _rule_start(text: str, at: int) -> int:
    start = max(text.rfind("\n(rule", 0, at), text.rfind("\n(rewrite", 0, at), text.rfind("\n(birewrite", 0, at))
    return start + 1


_PARAMETER = re.compile(r"(\w+):([a-z-]+)(?:~(\w+))?(?:=(\S+))?$")


def _parameters(text: str, path: Path, line: int, *, generic: bool) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    keyword = False
    for word in text.split():
        if word == "*":
            keyword = True
            continue
        m = _PARAMETER.match(word)
        if not m or m[2] not in SORTS or (generic and m[2] not in OPERAND_KINDS):
            kinds = ", ".join(sorted(OPERAND_KINDS if generic else SORTS))
            raise rule_error(
                f"cannot read the parameter {word!r}: it must be name:kind[~like][=default] with a kind of {kinds}",
                path,
                line,
            )
        found.append(Parameter(m[1], m[2], m[4], m[3], keyword))
    return tuple(found)


def _form(name: str, arguments: tuple[str, ...], path: Path, line: int) -> Form:
    if len(arguments) != 2:
        raise rule_error(f'the form "{name}" must have its parameters and its text', path, line)
    parameters = []
    for word in arguments[0].split():
        parameter, _, kind = word.partition(":")
        if kind not in _FORM_SORTS:
            raise rule_error(
                f"cannot read the parameter {word!r} of a form; kinds: {', '.join(_FORM_SORTS)}", path, line
            )
        parameters.append((parameter, _FORM_SORTS[kind]))
    known = {p for p, _ in parameters}
    if stray := next((h for h in _HOLES.findall(arguments[1]) if h not in known), None):
        help = f"its parameters are {', '.join(sorted(known))}"
        raise rule_error(f"the text of the form {name!r} has a hole for {stray!r}", path, line, help=help)
    return Form(name, tuple(parameters), _UNESCAPE.sub(lambda m: _ESCAPED[m[1]], arguments[1]))
