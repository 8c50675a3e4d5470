"""SSA: one definition, before and dominating every use; one type per value; constants once, at the head."""

from __future__ import annotations

from pypto_rw.records import dataclass
from pypto_rw.verifier.findings import Findings
from pypto_rw.verifier.forms import OPERAND_KIND, Use
from pypto_rw.verifier.reader import Function, Operation
from pypto_rw.verifier.tokens import Token
from pypto_rw.verifier.types import FLOATS, INTEGERS, element_fits

_WIDTH = {"i1": 1, **{f"{s}i{n}": n for s in ("", "u") for n in (8, 16, 32, 64)}, "index": 64}
_INLINE = frozenset({"0", "-1", "0.0", "dense<0>"})


@dataclass(slots=True)
class Definition:
    """Where a name got its value. `visible` until its region closes."""

    token: Token
    type: str
    visible: bool = True


class Values:
    """All names of one function, walked in order."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.names: dict[str, Definition] = {}
        self.scopes: list[list[Definition]] = []
        self.unresolved: list[Token] = []
        self.head = True
        self.constants: dict[tuple[str, str], Token] = {}
        self.pending: tuple[str, str, Token] | None = None

    def define(self, token: Token, text: str) -> None:
        """A new name; a second one of the same spelling is reported and not taken."""
        first = self.names.get(token.text)
        if first is not None:
            self.findings.report(
                "redefined-value",
                token,
                f"{token.text} is defined a second time; first at line {first.token.line}",
                "every name is defined once in a function",
            )
            return
        self.names[token.text] = definition = Definition(token, text)
        if self.scopes:
            self.scopes[-1].append(definition)

    def use(self, use: Use) -> None:
        """A use: defined, visible here, and of the type printed or wanted."""
        definition = self.names.get(use.token.text)
        if definition is None:
            self.unresolved.append(use.token)
        elif not definition.visible:
            self.findings.report(
                "not-dominating",
                use.token,
                f"{use.token.text} is defined at line "
                f"{definition.token.line}, in a region that does not enclose this use",
                "yield the value out of its region, or define it before the region",
            )
        elif use.type and definition.type and use.type != definition.type:
            self.findings.report(
                "type-mismatch",
                use.token,
                f"{use.token.text} has type {definition.type} but is used as {use.type}",
                "print the type the value was defined with",
            )

    def open(self) -> None:
        """A region starts."""
        self.scopes.append([])

    def close(self) -> None:
        """The innermost region ends; its names are no longer visible."""
        for definition in self.scopes.pop() if self.scopes else ():
            definition.visible = False

    def finish(self) -> None:
        """Names that were used before, or without, any definition."""
        for token in self.unresolved:
            definition = self.names.get(token.text)
            if definition is None:
                self.findings.report(
                    "undefined-value",
                    token,
                    f"{token.text} is defined nowhere in this function",
                    "define it before its first use",
                )
            else:
                self.findings.report(
                    "use-before-definition",
                    token,
                    f"{token.text} is used before its definition at line {definition.token.line}",
                    "move the definition up",
                )

    def constant(self, operation: Operation) -> None:
        """An `arith.constant`: a literal of its type, once per function, at the head."""
        literal, text = operation.literals[0], operation.result_types[0]
        self.flush()
        if not _literal_fits(literal, text):
            self.findings.report(
                "invalid-constant",
                operation.token,
                f"{literal} is no literal of type {text}",
                "an integer in range, a finite float with a point, or `dense<0>`",
            )
            return
        if self.head:
            self.pending = (literal, text, operation.results[0])
        elif not (text == "i1" or literal in _INLINE):
            self.findings.report(
                "constant-not-at-head",
                operation.token,
                f"the constant {literal} : {text} stands in the body",
                "declare it once, at the head of the function",
            )

    def flush(self, cast: str = "") -> None:
        """Book the last constant of the head. `cast`: the unsigned type the next line gives it instead."""
        if self.pending is None:
            return
        literal, text, token = self.pending
        self.pending = None
        first = self.constants.setdefault((literal, cast or text), token)
        if first is not token:
            self.findings.report(
                "duplicate-constant",
                token,
                f"{literal} : {cast or text} is declared already, as {first.text} at line {first.line}",
                "declare a constant once and use that name",
            )


def check_values(function: Function, findings: Findings) -> dict[str, str]:
    """Check every name of `function`; the type of each."""
    values = Values(findings)
    open_operations: list[Operation] = []
    for operation in function.operations:
        if operation.name == "arith.constant":
            values.constant(operation)
        elif values.head and operation.name != "func.func":
            uses_pending = values.pending is not None and any(
                u.token.text == values.pending[2].text for u in operation.uses
            )
            if operation.name == "builtin.unrealized_conversion_cast" and uses_pending:
                values.flush(operation.result_types[0])
            else:
                values.flush()
                values.head = False
        for use in operation.uses:
            values.use(use)
        _check_kinds(operation, findings)
        if operation.name in ("}", "} else {", "} do {"):
            values.close()
        if operation.opens:
            open_operations.append(operation)
        else:
            # The results of a region are there once it is closed, not inside.
            done = open_operations.pop() if operation.name == "}" and open_operations else operation
            for token, text in zip(done.results, done.result_types, strict=True):
                values.define(token, text)
        if operation.opens or operation.name in ("} else {", "} do {"):
            values.open()
        for token, text in operation.bound:
            values.define(token, text)
    values.finish()
    return {name: d.type for name, d in values.names.items()}


def _literal_fits(literal: str, text: str) -> bool:
    if text in FLOATS:
        if literal.startswith("0x"):
            return int(literal, 16) < 1 << (32 if text == "f32" else 16)
        return "." in literal and literal.lstrip("-")[0].isdigit()
    if text == "vector<4xi16>":
        return literal == "dense<0>"
    digits = literal.removeprefix("-")
    if text not in INTEGERS or not digits.isdecimal():
        return False
    return -(1 << (_WIDTH[text] - 1)) <= int(literal) < 1 << _WIDTH[text]  # signless: either reading may fit


def _check_kinds(operation: Operation, findings: Findings) -> None:
    kinds = OPERAND_KIND.get(operation.name)
    if kinds is None:
        return
    for use in operation.group("a"):
        if use.type and not element_fits(kinds[0], use.type):
            findings.report(
                "operand-kind",
                use.token,
                f"`{operation.name}` takes {_KIND[kinds[0]]}, {use.token.text} is {use.type}",
                "use the op for this type, or convert the value first",
            )
    for token, text in zip(operation.results, operation.result_types, strict=True):
        if not element_fits(kinds[1], text):
            findings.report(
                "operand-kind",
                token,
                f"`{operation.name}` gives {_KIND[kinds[1]]}, the type printed is {text}",
                "print the type the op gives",
            )


_KIND = {
    "any": "any value",
    "int": "an integer",
    "float": "a float",
    "tile": "a tile",
    "regions": "a multi-buffer region",
    "ptr": "a pointer",
    "tensor_view": "a tensor view",
    "partition_tensor_view": "a partition",
    "local_array": "a local array",
}
