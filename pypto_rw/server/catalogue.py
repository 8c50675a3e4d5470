"""What the rule files say of the ops, in the words an editor shows."""

from __future__ import annotations

import keyword
import re
from functools import cached_property

from pypto_rw.examples import Example, examples
from pypto_rw.front.resolve import full_name
from pypto_rw.rewriting.declared import Parameter, Signature
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.syntax.tokens import GROUPS

_FAMILIES = ("tile", "tensor", "array", "system", "prefetch")  # behind `pl.`; `pld.` has its own
_KINDS = {
    "any": "value",
    "integer": "integer scalar",
    "window": "tensor with a copy on every rank",
    "window-parameter": "tensor with a copy on every rank",
    "tuple": "list of scalars",
    "sizes": "list of extents",
    "shape": "list of positive constants",
    "extents": "list of extents",
    "extent": "extent",
    "flag": "bool",
    "int": "int",
    "word": "word",
    "identifier": "word",
    "space": "memory space",
    "layout": "tile layout",
    "tensor-layout": "tensor layout",
    "pad": "pad value",
}
_ABSENT = re.compile(r"no(ne|-[a-z-]+)$")
# kind of parameter -> the group its values are in (`pl.Mem.Vec`)
VALUES = {"space": "Mem", "layout": "TileLayout", "tensor-layout": "TensorLayout", "pad": "PadValue"}


class Catalogue:
    """The ops of one search path of rule folders."""

    def __init__(self, rulebook: Rulebook) -> None:
        self.rulebook = rulebook

    @cached_property
    def ops(self) -> dict[str, Signature]:
        """Every op that can be written, in name order."""
        hidden = ("scalar.",)
        return {
            s.op: s
            for s in self.rulebook.ops()
            if not s.op.startswith(hidden) and not s.op.rsplit(".", 1)[-1].startswith("_")
        }

    @cached_property
    def meanings(self) -> dict[str, str]:
        """What each op is, in one line."""
        return {op: self.rulebook.meaning(s) for op, s in self.ops.items()}

    @cached_property
    def unified(self) -> dict[str, str]:
        """Names behind `pl.` without a family, and one op each stands for."""
        found = {name: ops[0][0] for name, ops in self.rulebook.surfaces.items()}
        for op in self.ops:
            family, _, name = op.partition(".")
            if family in ("tile", "tensor", "array") and "." not in name:
                found[name] = full_name(name, self.rulebook)
        return {name: op for name, op in found.items() if op in self.ops}

    def called(self, callee: str) -> list[str]:
        """Ops that a name may mean: the name's own op, else those that its operands choose from."""
        if callee in self.ops:
            return [callee]
        plain = full_name(callee, self.rulebook)
        surfaces = [op for op, _ in self.rulebook.surfaces.get(callee, ())]
        return [op for op in dict.fromkeys((plain, *surfaces)) if op in self.ops]

    def members(self, path: str) -> dict[str, str]:
        """Names behind `path` (`tile`, `Mem`, `` for `pl` itself, `pld`) and what each is."""
        if path in GROUPS:
            return dict.fromkeys(sorted(GROUPS[path]), "")
        start = f"{path}." if path else ""
        found: dict[str, str] = {}
        for op, meaning in self.meanings.items():
            if op.startswith(start) and path:
                name, dot, _ = op[len(start) :].partition(".")
                found[written(name)] = f"ops of {start}{name}" if dot else meaning
        return found

    def signature(self, op: str, prefix: str = "pl") -> str:
        """How the op is called: `pl.tile.muls(lhs: tile, rhs: scalar)`."""
        parts: list[str] = []
        starred = False
        for p in self.ops[op].parameters:
            if p.written:
                if p.keyword and not starred:
                    parts.append("*")
                    starred = True
                parts.append(described(p))
        name = written(op)
        return f"{name if op.startswith('pld.') else f'{prefix}.{name}'}({', '.join(parts)})"

    def place(self, op: str) -> tuple[str, int]:
        """The rule file of an op and the 1-based line its signature is on."""
        signature = self.ops[op]
        file = self.rulebook.op_file(op)
        text = file.text if file is not None else ""
        found = re.search(rf'^\((?:signature|operands) "{re.escape(op)}"', text, re.M)
        return signature.path, text.count("\n", 0, found.start()) + 1 if found else 1

    def shown(self, op: str) -> list[Example]:
        """The examples of the op's rule file that print something."""
        file = self.rulebook.op_file(op)
        return [e for e in examples(file) if e.prints] if file is not None else []


def written(name: str) -> str:
    """A name as a kernel writes it: one that is a word of Python's takes an underscore (`pl.tile.and_`)."""
    return f"{name}_" if keyword.iskeyword(name.rsplit(".", 1)[-1]) else name


def described(p: Parameter) -> str:
    """A parameter with its kind and its default, as in a signature."""
    text = f"{p.name}: {_KINDS.get(p.kind, p.kind)}"
    if p.default is None:
        return text
    return f"{text} = {'None' if _ABSENT.match(p.default) else p.default}"
