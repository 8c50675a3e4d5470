"""What rule files declare: ops with their parameters and facts, and how instructions are spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_rw.records import dataclass, field

if TYPE_CHECKING:
    from pathlib import Path

# a name without a namespace is that of the first of these which has it
FAMILIES = ("tile", "tensor", "array", "system", "prefetch")
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
