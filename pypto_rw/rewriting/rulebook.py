"""Rule files: where they are, what they declare, and in which order they load.

A rulebook is a search path of folders (the user's first, then `rules/` of this installation); a file
overrides the file of the same name further down the path.  Op `tile.mul` is the file `tile/mul.egg`.
A file is read (`rulefile`) when something of it is asked that is not known from another process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pypto_rw import resources
from pypto_rw.rewriting.declared import Form, RuleFile, Signature

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


class Rulebook:
    """The rule files of one search path.

    Raises CompileError (code `rule-file`) with the rule file's path and line for a declaration it cannot read."""

    def __init__(self, extra: Sequence[str | Path] = ()) -> None:
        self.folders = (*(os.fspath(f) for f in extra), resources.folder("rules"))
        for folder in self.folders:
            if not os.path.isdir(folder):
                from pypto_rw.rewriting.rulefile import rule_error

                raise rule_error(f"there is no rules folder {folder}", folder)
        self.signatures: dict[str, Signature] = {}  # known already
        self.read_out: dict[tuple[str, ...], object] = {}  # what others have made of the files
        self._files: dict[str, RuleFile | None] = {}

    def file(self, name: str) -> RuleFile | None:
        """The file `name` (`"tile/mul"`), first on the search path, or None."""
        if name not in self._files:
            paths = (os.path.join(f, f"{name}.egg") for f in self.folders)
            path = next((p for p in paths if os.path.isfile(p)), None)
            self._files[name] = _file(name, path) if path else None
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

        from pypto_rw.rewriting import rulefile

        for folder in map(Path, self.folders):
            for path in sorted(folder.rglob("*.egg")):
                name = path.relative_to(folder).as_posix()
                if name not in seen:
                    seen.add(name)
                    for op, written, leading in rulefile.surfaces(path):
                        found.setdefault(written, []).append((op, leading))
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


def _file(name: str, path: str) -> RuleFile:
    from pypto_rw.rewriting.rulefile import read  # a kernel of known shapes does without

    return read(name, path)
