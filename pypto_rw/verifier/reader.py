"""Text to operations: one per line, in order, with the braces balanced and the module skeleton in place."""

from __future__ import annotations

from pypto_rw.records import dataclass, field
from pypto_rw.verifier.findings import Findings
from pypto_rw.verifier.forms import FORMS, Mismatch, Use, read_form
from pypto_rw.verifier.tokens import Token, tokens
from pypto_rw.verifier.types import parse

OPENERS = frozenset({"func.func", "scf.for", "scf.if", "scf.while"})
_LOCATION = ["word", "punct", "string", "punct", "number", "punct", "number", "punct"]


@dataclass(slots=True)
class Operation:
    """One line. `name` is the op, or `} else {`, `} do {`, `}`; `bound` are the names its region binds."""

    name: str
    token: Token
    results: list[Token] = field(default_factory=list)
    result_types: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    bound: list[tuple[Token, str]] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)  # argument types of a function without a body

    def group(self, name: str) -> list[Use]:
        """The uses of one group of the form, in order."""
        return [u for u in self.uses if u.group == name]

    @property
    def opens(self) -> bool:
        """Whether a region starts here that a `}` closes."""
        return self.name in OPENERS and not (self.name == "func.func" and self.literals[0] == "private")


@dataclass(slots=True)
class Function:
    """A `func.func`: its first operation is the header, its last the closing brace."""

    name: str
    operations: list[Operation]


@dataclass(slots=True)
class Module:
    """What the text holds. `arch` is the printed target, `declared` the functions without a body."""

    arch: Token | None
    functions: list[Function]
    declared: list[Operation]


def read(text: str, findings: Findings) -> Module:
    """The module `text` spells. Every departure from the skeleton and the line forms is reported."""
    module = Module(None, [], [])
    lines = _logical_lines(text)
    last = lines[-1][0] if lines else Token("bad", "", 1, 1)
    if not lines or [t.text for t in lines[0]][:2] != ["module", "attributes"]:
        findings.report(
            "module-skeleton",
            lines[0][0] if lines else last,
            "the text does not start with a module",
            'start with `module attributes {pto.target_arch = "…"} {`',
        )
        return module
    header = _operation(lines[0], findings)
    if header is not None:
        module.arch = lines[0][5]
    function: Function | None = None
    depth = 1
    for line in lines[1:]:
        operation = _operation(line, findings)
        if operation is None:
            depth += _net_braces(line)
            continue
        if depth == 0:
            findings.report("unbalanced-braces", operation.token, "text after the module's closing brace", "remove it")
            return module
        if operation.name == "}":
            depth -= 1
            if depth == 1 and function is not None:
                function.operations.append(operation)
                function, findings.function = None, ""
                continue
        elif operation.opens:
            depth += 1
        if operation.name == "func.func":
            if function is not None:
                findings.report(
                    "module-skeleton", operation.token, "a function inside a function", "close the function before it"
                )
                depth -= operation.opens
                continue
            name = next(x for x in operation.literals if x.startswith("@"))
            if operation.opens:
                function = Function(name, [operation])
                findings.function = name[1:]
                module.functions.append(function)
            else:
                module.declared.append(operation)
        elif function is not None:
            function.operations.append(operation)
        elif operation.name != "}" and depth <= 1 + operation.opens:  # deeper: inside a header that had no form
            findings.report(
                "module-skeleton",
                operation.token,
                f"`{operation.name}` outside a function",
                "a module holds functions only",
            )
    if depth:
        findings.report("unbalanced-braces", last, f"the text ends inside {depth} open brace(s)", "close every region")
    return module


def _net_braces(line: list[Token]) -> int:
    """How a line that has no form shifts the depth, so that one bad line is one finding."""
    return (line[-1].text == "{") - (line[0].text == "}")


def _logical_lines(text: str) -> list[list[Token]]:
    """Token lists of the lines; a line that starts with `(` continues the one before."""
    lines: list[list[Token]] = []
    for number, raw in enumerate(text.split("\n"), 1):
        found = tokens(raw.removesuffix("\r"), number)
        if not found:
            continue
        if found[0].text == "(" and lines:
            lines[-1].extend(found)
        else:
            lines.append(found)
    return lines


def _operation(line: list[Token], findings: Findings) -> Operation | None:
    for token in line:
        if token.kind == "bad":
            findings.report(
                "syntax",
                token,
                f"`{token.text[:20]}` starts no token of the text",
                "print names, numbers, types and punctuation only",
            )
            return None
    if [t.kind for t in line[-8:]] == _LOCATION and line[-8].text == "loc":
        line = line[:-8]
    words = [t.text for t in line[:4]]
    if words in (["}"], ["}", "else", "{"], ["}", "do", "{"]) and len(line) == len(words):
        return Operation(" ".join(words), line[0])
    results: list[Token] = []
    at = 0
    if line and line[0].kind == "value":
        while at < len(line) and line[at].kind == "value":
            results.append(line[at])
            at += 2
            if line[at - 1 : at] and line[at - 1].text == "=":
                break
    if at >= len(line) or (results and line[at - 1].text != "="):
        findings.report(
            "syntax",
            line[0] if line else Token("bad", "", 1, 1),
            "no op on this line",
            "write `%result = op …` or `op …`",
        )
        return None
    head = line[at]
    if head.text not in FORMS:
        findings.report("unknown-op", head, f"`{head.text}` is no op this text may hold", "check the op's spelling")
        return None
    try:
        found = read_form(head.text, line, at + 1)
    except Mismatch as mismatch:
        wrong = line[min(mismatch.position, len(line) - 1)]
        got = f"`{wrong.text}`" if mismatch.position < len(line) else "the end of the line"
        findings.report(
            "syntax",
            wrong,
            f"`{head.text}`: expected {mismatch.wanted}, found {got}",
            f"its form is: {head.text} {FORMS[head.text][0]}",
        )
        return None
    for token in found.types:
        problem = parse(token.text)
        if isinstance(problem, str):
            findings.report(
                "bad-type", token, problem, "spell it as the compiler prints it: `pypto-rw codes bad-type` shows one"
            )
            return None
    bound = found.bound
    if head.text in ("scf.for", "scf.while"):
        carried = bound[1:] if head.text == "scf.for" else bound
        types = found.results if head.text == "scf.for" else found.bound_types
        if len(types) != len(carried) or len(found.results) != len(results):
            findings.report(
                "carry-arity",
                head,
                f"`{head.text}` carries {len(carried)} value(s), prints {len(types)} "
                f"type(s) and names {len(results)} result(s)",
                "one result and one type per carried value",
            )
            return None
        for use, text in zip(found.group("n"), types, strict=True):
            use.type = text
        counter = found.group("l")[0].type if head.text == "scf.for" else "index"
        bound = [(t, counter) for t, _ in bound[: len(bound) - len(carried)]]
        bound += [(t, text) for (t, _), text in zip(carried, types, strict=True)]
    elif len(results) != len(found.results):
        findings.report(
            "result-arity",
            head,
            f"`{head.text}` gives {len(found.results)} value(s), {len(results)} named",
            "name each result once",
        )
        return None
    return Operation(head.text, head, results, found.results, found.uses, bound, found.literals, found.bound_types)
