"""What the engine says of a wrong rule file, as one message at the file's line with the way out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from pypto_rw.diagnostics import CompileError
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.rulefile import rule_error

RULESETS = ("facts", "deduce", "check", "legalize", "lowering")
_PLACE = re.compile(r"(\d+):(\d+)-(?:\d+:)?\d+ of (\S+)")
_DECLARES = re.compile(r"\((?:relation|function|constructor|sort|datatype) ([^\s()]+)|^\s*\(datatype .*", re.M)
_CONSTRUCTOR = re.compile(r"\(([^\s()]+)")


def explained(error: str, file: RuleFile, book: Rulebook) -> CompileError:
    """An error of the engine about one file, as a refusal of the file."""
    place = _PLACE.search(error)
    line, column = (int(place[1]), int(place[2])) if place else (1, 1)
    reason = next((text.strip() for text in reversed(error.splitlines()) if text.strip()), error)
    try:
        ruletext.forms(file.text)
    except ruletext.Unbalanced as fault:
        return rule_error(str(fault), file.path, fault.line, 1, fault.help)
    if m := re.search(r"Unbound function (\S+)", reason):
        return rule_error(f"nothing called {m[1]} is declared", file.path, line, column, _declared(m[1], book))
    if m := re.search(r"Unbound symbol (\S+)", reason):
        help = f"bind it among the conditions, as (= {m[1]} (item args 0)), or write a value for it"
        return rule_error(f"the variable {m[1]} is not bound by the rule's pattern", file.path, line, column, help)
    if "lookup of non-constructor function" in reason:
        name = _head_at(file.text, line, column)
        help = f"bind it among the conditions: (= x ({name} …)), then write x"
        return rule_error(f"an action cannot read the function {name}", file.path, line, column, help)
    if m := re.search(r"Arity mismatch, expected (\d+) args: \(([^\s()]+)", reason):
        help = _declaration(m[2], file, book)
        return rule_error(f"{m[2]} takes {m[1]} arguments: {reason.partition(': ')[2]}", file.path, line, column, help)
    if m := re.search(r"Expect expression (.*) to have type (\S+), but get type (\S+)", reason):
        return rule_error(f"{m[1]} is of the sort {m[3]}, but {m[2]} is needed here", file.path, line, column)
    if m := re.search(r"No such ruleset: (\S+)", reason):
        near = difflib.get_close_matches(m[1], RULESETS, 1, 0.5)
        help = f"rulesets are {', '.join(RULESETS)}" + (f"; this is nearest to {near[0]}" if near else "")
        return rule_error(f"there is no ruleset {m[1]}", file.path, line, column, help)
    if m := re.search(r"Shadowing is not allowed, but found (\S+)", reason):
        return _shadowing(m[1], file)
    if "panic" in error.lower() or "already" in error.lower():
        return _twice(file, book)
    return rule_error(reason, file.path, line, column)


def unnamed_refusal(rule: str, files: Iterable[RuleFile], fallback: str) -> CompileError:
    """A refusal whose name is no rule's: a diagnostic could not say where it is from."""
    for file in files:
        for line, text in enumerate(file.text.splitlines(), 1):
            if f'"{rule}"' in text and "(refuse " in text:
                near = difflib.get_close_matches(rule, list(file.rule_lines), 1, 0.0)
                help = f'the first string of refuse is the rule\'s own :name, here "{near[0]}"' if near else ""
                return rule_error(f"this refuses as {rule!r}, but no rule has that name", file.path, line, 1, help)
    return rule_error(f"a rule refuses as {rule!r}, but no rule has that name", fallback)


def _declared(name: str, book: Rulebook) -> str:
    """Where a name is declared that a file uses without that, or which names are like it."""
    for file in _files(book):
        if name in _names(file.text):
            return f"{file.name}.egg declares it: add the line `; requires: {file.name}`"
    if "." in name:
        known = [*book.forms, *(s.op for s in book.ops())]
        way = "an instruction needs a form in form/, an op a signature in its file"
    else:
        known = sorted({n for file in _files(book) for n in _names(file.text)})
        way = "declare it with relation, function or constructor"
    near = ", ".join(difflib.get_close_matches(name, known, 3, 0.6))
    return f"the nearest are {near}" if near else way


def _declaration(name: str, file: RuleFile, book: Rulebook) -> str:
    """How a name is declared."""
    if name in book.forms:
        return f"its parameters are {', '.join(n for n, _ in book.forms[name].parameters)}"
    for other in (file, *_files(book)):
        for form in ruletext.forms(other.text):
            if len(form.parts) > 1 and form.parts[1].text == name:
                return f"{other.name}.egg declares it as {' '.join(form.text.split())}"
    return ""


def _files(book: Rulebook) -> Iterator[RuleFile]:
    for name in book.names():
        if name.startswith("core/") and name != "core/assembler" and (file := book.file(name)) is not None:
            yield file


def _names(text: str) -> set[str]:
    """What a file's text declares."""
    found = {m[1] for m in _DECLARES.finditer(text) if m[1]}
    for form in ruletext.forms(text):
        if form.head == "datatype":
            found.update(c.parts[0].text for c in form.parts[2:] if c.parts)
    return found


def _head_at(text: str, line: int, column: int) -> str:
    """The head of the list that begins at a place."""
    lines = text.splitlines()
    m = _CONSTRUCTOR.match(lines[line - 1], column - 1) if line <= len(lines) else None
    return m[1] if m else "there"


def _shadowing(name: str, file: RuleFile) -> CompileError:
    """A variable that is called like a constructor."""
    line = next((ruletext.line_of(file.text, at) for at in _uses(name, file.text)), 1)
    return rule_error(
        f"{name} is the name of a constructor, so no variable may be called so",
        file.path,
        line,
        1,
        f"call the variable otherwise, as {name}1",
    )


def _uses(name: str, text: str) -> Iterator[int]:
    """Where a name stands alone, not at the head of a list."""
    stack = list(ruletext.forms(text))
    while stack:
        node = stack.pop(0)
        for k, part in enumerate(node.parts):
            if part.is_list:
                stack.append(part)
            elif part.text == name and k > 0:
                yield part.start


def _twice(file: RuleFile, book: Rulebook) -> CompileError:
    """Two rules of one name, or a declaration that another file has too."""
    names = re.findall(r':name "([^"]+)"', file.text)
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is None:
        for other in _files(book):
            if other.name != file.name and (both := _names(file.text) & _names(other.text)):
                name = min(both, key=lambda n: file.text.index(f" {n} "))
                line = ruletext.line_of(file.text, file.text.index(f" {name} "))
                told = f"{name} is declared in {other.name}.egg too"
                return rule_error(
                    told, file.path, line, 1, "give it another name, or require that file and use its own"
                )
        return rule_error("a rule or a declaration is written twice", file.path, 1, 1, "delete one of the two")
    line = max(k for k, text in enumerate(file.text.splitlines(), 1) if f'"{twice}"' in text)
    return rule_error(f"the rule {twice!r} is written twice", file.path, line, 1, "give one of them another name")
