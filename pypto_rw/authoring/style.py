"""How a rule file is to look: its first line, its size, its examples, and that something reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pypto_rw.authoring.findings import Finding
from pypto_rw.examples import examples
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.rulebook import CORE, Rulebook

OP_LINES = 100  # of an op's file, its examples not counted
SHARED_LINES = 220  # of a file that many ops read
_READ = ("core/assembler", "core/stages")  # by the compiler itself


def is_op_file(file: RuleFile) -> bool:
    """Whether the file is one op's; the others are vocabulary, forms, facts of instructions and targets."""
    return not file.name.startswith(("core/", "form/", "instruction/", "target/"))


def style(file: RuleFile) -> Iterator[Finding]:
    """Findings of one file that need no other file."""
    path = str(file.path)
    op = file.name.replace("/", ".")
    lines = file.text.splitlines()
    size = sum(not line.startswith(";!") for line in lines)
    if is_op_file(file):
        if not re.match(rf"; {re.escape(op)} -- \S", file.text):
            yield Finding(
                path, 1, "header", "the first line does not say what the op is", f"write: ; {op} -- what it is"
            )
        stated = [s.op for s in file.signatures]
        if op not in stated:
            said = f"it declares {', '.join(stated)}" if stated else "it has no signature"
            yield Finding(
                path, 1, "unreachable-file", f"nobody reads this file: {said}", f'write (signature "{op}" "…")'
            )
        if not any(True for _ in examples(file)):
            yield Finding(path, 1, "no-example", "the file has no example", "end it with ;! example … ;! prints …")
    elif not file.text.startswith("; "):
        yield Finding(path, 1, "header", "the first line does not say what the file is", "begin with a comment")
    most = OP_LINES if is_op_file(file) else SHARED_LINES
    if size > most:
        yield Finding(path, most, "size", f"{size} lines without the examples; at most {most}", "split it")


def unreachable(file: RuleFile, book: Rulebook) -> Iterator[Finding]:
    """A core file that no other file requires."""
    if file.name.startswith("core/") and file.name not in (*CORE, *_READ):
        others = (book.file(n) for n in book.names())
        if not any(file.name in other.requires for other in others if other is not None):
            yield Finding(
                str(file.path),
                1,
                "unreachable-file",
                "no file requires this one",
                f"; requires: {file.name} where it is used",
            )
