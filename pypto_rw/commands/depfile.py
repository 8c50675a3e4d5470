"""`--depfile`: what a text depends on, in the syntax of Make that ninja and Bazel read too.

Listed are the kernel, the grammar, and of the rules: what every run loads, the file of every op that was asked about
on the way from the source to the text and what those files require, the forms, the chip, and the files of the printed
instructions. So a rule file of an op that a kernel has nothing to do with rebuilds nothing. The result is the same
whether the rules were asked or the answers came from the cache.

Folders given with `--rules` are listed too, as folders: a file added there may replace a built-in one. What is not
noticed: a `(surface …)` fact newly written into a file that is not listed. Every file has a line of its own without
prerequisites, so that a file that is gone means a rebuild, not an error.
"""

from __future__ import annotations

import os
import re

from pypto_rw.resources import folder
from pypto_rw.rewriting.rulebook import CORE, Rulebook

_INSTRUCTION = re.compile(r"(?<![\w.#!\"%@])([a-z]+)\.([a-z_][\w.]*)")


def depfile(output: str, kernel: str, text: str, rulebook: Rulebook, *, target: str, ptoas: str) -> str:
    """The dependencies of `output`, made of `kernel` by the rules `rulebook`; `text` is what was made."""
    names = {*CORE, "core/stages", f"target/{target}", f"target/ptoas-{ptoas}", "target/assembler-memory"}
    names |= {op.replace(".", "/") for op in _ops(rulebook)}
    names |= {n for n in rulebook.names() if n.startswith("form/")}
    names |= {_instruction(*found) for found in _INSTRUCTION.findall(text)}
    paths = [str(file.path) for name in sorted(_closure(names, rulebook)) if (file := rulebook.file(name)) is not None]
    grammar = os.path.join(folder("grammar"), "pyir.lark")
    listed = list(dict.fromkeys([kernel, grammar, *paths, *_folders(rulebook)]))
    lines = [f"{_escaped(output)}: \\", *(f"  {_escaped(p)} \\" for p in listed)]
    lines[-1] = lines[-1].removesuffix(" \\")
    return "\n".join([*lines, *(f"{_escaped(p)}:" for p in listed[1:])]) + "\n"


def _ops(rulebook: Rulebook) -> list[str]:
    """Ops that were asked about, and the ops that share an authored name with one of them."""
    known = list(rulebook.signatures)
    if "surfaces" not in vars(rulebook):  # no authored name was resolved
        return known
    rivals = [{op for op, _ in ops} for ops in rulebook.surfaces.values()]
    return list(dict.fromkeys([*known, *(op for ops in rivals if ops & set(known) for op in sorted(ops))]))


def _closure(names: set[str], rulebook: Rulebook) -> set[str]:
    """The files and all that they require."""
    found: set[str] = set()
    left = sorted(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            file = rulebook.file(name)
            left += file.requires if file is not None else ()
    return found


def _instruction(dialect: str, name: str) -> str:
    return f"instruction/{name.replace('.', '_') if dialect == 'pto' else dialect}"


def _folders(rulebook: Rulebook) -> list[str]:
    """The user's rules folders and the folders in them."""
    return [path for extra in rulebook.folders[:-1] for path, _, _ in sorted(os.walk(extra))]


_SPECIAL = re.compile(r"(\\*)([ #:%])")


def _escaped(path: str) -> str:
    """A path as Make and ninja read it; a backslash counts only before what it escapes."""
    return _SPECIAL.sub(lambda m: m[1] * 2 + f"\\{m[2]}", path.replace("$", "$$"))
