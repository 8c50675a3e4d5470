"""Rule files: where they are, what they declare, and in which order they load.

A rulebook is a search path of folders (the user's first, then `rules/` of this installation); a file
overrides the file of the same name further down the path.  Op `tile.mul` is the file `tile/mul.egg`.
Nothing here knows egglog: declarations are read off the top-level facts of a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pypto_rw import resources
from pypto_rw.diagnostics import CompileError, Diagnostic, Span
from pypto_rw.records import dataclass, field

if TYPE_CHECKING:
    from pathlib import Path

CORE = (
    "core/types",
    "core/terms",
    "core/values",
    "core/parameter",
    "core/alloc",
    "core/slots",
    "core/families",
    "core/annotations",
    "core/overlaps",
    "core/scalar",
)

CONTEXT_KINDS = frozenset({"attribute", "parameter", "gm-offset"})
# Kinds of parameter in a signature: what the caller writes, and the sort of the term that rules see.
OPERAND_KINDS = frozenset({"tile", "tensor", "scalar", "array", "any", "integer", "window", "window-parameter"})
SORTS = {
    **dict.fromkeys(OPERAND_KINDS, "Operand"),
    "tuple": "Operands",  # scalars; constants are no part of the shape
    "sizes": "Operands",  # scalars; constants are part of the shape
    "shape": "Operands",  # positive constants
    "extents": "Extents",  # scalars as extents: numbers, or run-time values with bounds
    "extent": "Extent",  # one such scalar
    "dtype": "Dtype",
    "space": "Space",
    "layout": "Layout",
    "tensor-layout": "TensorLayout",
    "pad": "Pad",
    "flag": "bool",
    "int": "i64",
    "word": "String",
    "identifier": "String",  # a word of letters, digits and _
    # filled in by the compiler, never written by the caller
    "attribute": "String",  # the function's attribute of the parameter's name
    "parameter": "Operand",  # the function's parameter of that name, hidden ones too
    "gm-offset": "i64",  # byte offset of the pipe's region in the unit's slot buffer
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an op: `name:kind[~like][=default]`.

    `like` names the tile whose dtype a bare integer literal adopts. `default` is None when the
    parameter must be written; `keyword` when only `name=value` is accepted."""

    name: str
    kind: str
    default: str | None = None
    like: str | None = None
    keyword: bool = False

    @property
    def written(self) -> bool:
        """Whether the caller may write it: `_name` is a second reading of another argument."""
        return self.kind not in CONTEXT_KINDS and not self.name.startswith("_")


@dataclass(frozen=True, slots=True)
class Signature:
    """How an op is called. `generic`: its term is `(call "op" (vec-of …) result)`, else `(op … result)`."""

    op: str
    parameters: tuple[Parameter, ...]
    generic: bool
    traits: frozenset[tuple[str, ...]]
    path: str
    _by_name: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict, compare=False)
    _derived: list[Usage] = field(default_factory=list, compare=False)

    def trait(self, name: str) -> tuple[str, ...] | None:
        """Arguments of the op's fact `(name "op" …)`, or None."""
        found = (self._by_name or self._indexed()).get(name)
        return found[0] if found else None

    def all(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Arguments of every fact `(name "op" …)` of the op."""
        return (self._by_name or self._indexed()).get(name, ())

    def _indexed(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        self._by_name[""] = ()
        for t in sorted(self.traits):
            self._by_name[t[0]] = (*self._by_name.get(t[0], ()), t[1:])
        return self._by_name

    @property
    def usage(self) -> Usage:
        """What a caller may and must write."""
        if not self._derived:
            self._derived.append(_usage(self))
        return self._derived[0]


@dataclass(frozen=True, slots=True)
class Usage:
    """What follows from a signature. `names`: what may be written, `positional`: by position too; `required`: what
    must be; `stands_in`: by parameter, the other whose value it takes when it is not written; `spaces`: by tile
    operand that has to be in certain memory spaces, their names, the preferred one first."""

    positional: tuple[Parameter, ...]
    names: frozenset[str]
    required: tuple[Parameter, ...]
    stands_in: dict[str, str]
    spaces: tuple[tuple[str, tuple[str, ...]], ...]


def _usage(signature: Signature) -> Usage:
    written = [p for p in signature.parameters if p.written]
    every = {p.name for p in signature.parameters}
    reads = (signature.trait("reads") or ("",))[0].split()
    return Usage(
        tuple(p for p in written if not p.keyword),
        frozenset(p.name for p in written),
        tuple(p for p in written if p.default is None),
        {p.name: p.default for p in signature.parameters if p.default is not None and p.default in every},
        tuple((p.name, tuple(w.split("|"))) for p, w in zip(signature.parameters, reads, strict=False) if w != "-"),
    )


@dataclass(frozen=True, slots=True)
class Form:
    """How an instruction is spelled: parameters with their sorts, and a text with `{name}`, `{name:type}` holes."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    text: str


@dataclass(frozen=True, slots=True)
class RuleFile:
    """One file: its text and what it declares; `facts` are its top-level facts whose first argument is a string."""

    name: str
    path: Path
    text: str
    signatures: tuple[Signature, ...] = ()
    forms: tuple[Form, ...] = ()
    requires: tuple[str, ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    rule_lines: dict[str, int] = field(default_factory=dict, compare=False)


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


class Rulebook:
    """The rule files of one search path.

    Raises CompileError (code `rule-file`) with the rule file's path and line for a declaration it cannot read."""

    def __init__(self, extra: Sequence[str | Path] = ()) -> None:
        self.folders = (*(os.fspath(f) for f in extra), resources.folder("rules"))
        for folder in self.folders:
            if not os.path.isdir(folder):
                raise rule_error(f"there is no rules folder {folder}", folder)
        self.signatures: dict[str, Signature] = {}  # known already
        self.read_out: dict[tuple[str, ...], object] = {}  # what others have made of the files
        self._files: dict[str, RuleFile | None] = {}

    def file(self, name: str) -> RuleFile | None:
        """The file `name` (`"tile/mul"`), first on the search path, or None."""
        if name not in self._files:
            paths = (os.path.join(f, f"{name}.egg") for f in self.folders)
            path = next((p for p in paths if os.path.isfile(p)), None)
            self._files[name] = _read(name, path) if path else None
        return self._files[name]

    def op_file(self, op: str) -> RuleFile | None:
        """The file that declares `op`, or None when no rule file does."""
        found = self.file(op.replace(".", "/"))
        return found if found and any(s.op == op for s in found.signatures) else None

    def signature(self, op: str) -> Signature | None:
        """How `op` is called, or None for an op without a rule file."""
        known = self.signatures.get(op)
        if known is None:
            found = self.op_file(op)
            known = next((s for s in found.signatures if s.op == op), None) if found else None
            if known is not None:
                self.signatures[op] = known
        return known

    @cached_property
    def surfaces(self) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        """Ops by the name that authors write: `(surface "tile.adds" "add" "tile scalar")`, the more specific first.

        The last word of a fact says which kinds the leading arguments have."""
        found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        seen: set[str] = set()
        from pathlib import Path

        for folder in map(Path, self.folders):
            for path in sorted(folder.rglob("*.egg")):
                name = path.relative_to(folder).as_posix()
                if name not in seen:
                    seen.add(name)
                    for m in _SURFACE.finditer(path.read_text(errors="replace")):
                        found.setdefault(m[2], []).append((m[1], tuple(m[3].split())))
        return {name: sorted(ops, key=lambda op: -len(op[1])) for name, ops in found.items()}

    def names(self) -> list[str]:
        """Names of all files on the search path, sorted."""
        return self._names

    @cached_property
    def _names(self) -> list[str]:
        from pathlib import Path

        folders = map(Path, self.folders)
        return sorted(
            {p.relative_to(f).with_suffix("").as_posix() for f in folders for p in f.rglob("*.egg") if p.is_file()}
        )

    def ops(self) -> Iterator[Signature]:
        """Signatures of every op of the search path, in name order."""
        for name in self.names():
            found = self.file(name)
            assert found is not None
            yield from found.signatures

    def meaning(self, signature: Signature) -> str:
        """One line of what the op is: the first line of its file after the dash."""
        with open(signature.path) as file:
            first = file.readline()
        return first.partition(" -- ")[2].strip()

    def targets(self, signature: Signature) -> tuple[str, ...]:
        """Targets that have the op: all, unless its file states `(only "op" "target")`."""
        only = signature.trait("only")
        return only or ("a2a3", "a5")

    def rule_place(self, rule: str) -> str:
        """`file:line name` of a rule."""
        found = self.rule_file(rule)
        return f"{found[0].name}.egg:{found[1]} {rule}" if found else rule

    def rule_file(self, rule: str) -> tuple[RuleFile, int] | None:
        """File and line of a rule; a rule is named after its file, or stands in one of the core files."""
        head = rule.split("/", 1)[0]
        likely = (head.replace(".", "/"), f"core/{head}")
        for name in (*likely, *(n for n in self.names() if n.startswith(("core/", "target/")))):
            file = self.file(name)
            if file is not None and rule in file.rule_lines:
                return file, file.rule_lines[rule]
        own = self.op_file(head) if rule == f"{head}/result" else None  # made of the signature
        if own is None:
            return None
        return own, next((k for k, t in enumerate(own.text.splitlines(), 1) if f'"{head}"' in t), 1)

    def nearest(self, op: str) -> list[str]:
        """The three ops with the most similar names."""
        import difflib

        known = [s.op for s in self.ops()]
        tail = op.rsplit(".", 1)[-1]
        close = difflib.get_close_matches(op, known, 6, 0.5)
        close += [k for k in known if k.rsplit(".", 1)[-1] == tail]
        return list(dict.fromkeys(close))[:3]

    @cached_property
    def forms(self) -> dict[str, Form]:
        """Every instruction form of the search path; a form in an earlier folder wins."""
        found: dict[str, Form] = {}
        for name in self.names():
            if name.startswith("form/"):
                file = self.file(name)
                assert file is not None
                found.update({f.name: f for f in file.forms})
        return found


def rule_error(message: str, path: str | Path, line: int = 1, column: int = 1, help: str = "") -> CompileError:
    """A refusal of a rule file, at its own line."""
    span = Span(line, column, line, column + 1)
    diagnostic = Diagnostic(code="rule-file", message=message, span=span, help=help, filename=str(path))
    text = ""
    if os.path.isfile(path):
        with open(path, errors="replace") as file:
            text = file.read()
    return CompileError([diagnostic], text)


def _read(name: str, file: str) -> RuleFile:
    from pathlib import Path

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
