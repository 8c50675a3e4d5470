"""What the rules said of shapes, kept between processes: one file an op, below a folder for one state of the rules.

A rule file, a source file of the compiler or an option that changes gives another folder, so nothing stale is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Any

from pypto_rw import cache as stored
from pypto_rw import resources
from pypto_rw.rewriting.declared import Parameter, Signature

_MOST = 20_000  # shapes remembered of one op
# Folders of the compiler's package that have no part in what the rules say of a shape: they come before its text, which
# is the key, or use what was said.
_APART = frozenset(
    [
        "__pycache__",
        "authoring",
        "checks",
        "commands",
        "differences",
        "distributed",
        "explain",
        "front",
        "lit",
        "memory",
        "reduction",
        "schemas",
        "server",
        "syntax",
        "trace",
        "wrapper",
    ]
)
_STORED = 2_000  # of these for other processes
_STATES = 8  # states of the rules kept


class Shelf:
    """The stored results for one `state` of the rules under the options `words`."""

    def __init__(self, state: str, words: tuple[str, ...]) -> None:
        self._state = state
        self._words = stored.digest(words)
        self._books: dict[str, dict[str, Any]] = {}
        self._changed: dict[str, None] = {}

    def signature(self, op: str) -> Signature | None:
        """How `op` is called, if that is stored."""
        found = self._book(op).get("")
        if found is None:
            return None
        parameters, generic, traits, path = found
        return Signature(op, tuple(Parameter(*p) for p in parameters), generic, frozenset(traits), path)

    def put_signature(self, op: str, signature: Signature | None) -> None:
        """Keep how `op` is called."""
        if signature is None:
            return
        parameters = tuple((p.name, p.kind, p.default, p.like, p.keyword) for p in signature.parameters)
        self._put(op, "", (parameters, signature.generic, tuple(sorted(signature.traits)), signature.path))

    def get(self, op: str, shape: str) -> Any:
        """What was put for the shape, or None."""
        return self._book(op).get(shape)

    def put(self, op: str, shape: str, result: Any) -> None:
        """Keep the result of a shape: plain tuples, texts and numbers."""
        if len(self._book(op)) < _MOST:
            self._put(op, shape, result)

    def save(self) -> None:
        """Write what is new."""
        for op in self._changed:
            book = {**self._load(op), **self._books[op]}
            stored.store(self._name(op), dict(islice(book.items(), _STORED)))
        if self._changed:
            stored.keep_newest("rules", _STATES)
        self._changed.clear()

    def _put(self, op: str, key: str, value: Any) -> None:
        book = self._book(op)
        book[key] = value
        if len(book) <= _STORED:
            self._changed[op] = None

    def _book(self, op: str) -> dict[str, Any]:
        book = self._books.get(op)
        if book is None:
            book = self._books[op] = self._load(op)
        return book

    def _load(self, op: str) -> dict[str, Any]:
        found = stored.load(self._name(op))
        return found if isinstance(found, dict) else {}

    def _name(self, op: str) -> str:
        safe = op if op.replace(".", "").replace("_", "").isalnum() else stored.digest(op)
        return f"rules/{self._state}/{self._words}-{safe}"


def state(folders: Sequence[str]) -> str:
    """A name for the rules in `folders`, the user's, before the built-in ones.

    The compiler's own files are looked at once a process."""
    return stored.digest(_own(), *((os.path.abspath(f), stamp(f, ".egg")) for f in folders)) if folders else _own()


@cache
def _own() -> str:
    package = stamp(os.path.dirname(resources.__file__), ".py", _APART)
    return stored.digest(package, stamp(resources.folder("rules"), ".egg"))


def stamp(folder: str, suffix: str, apart: frozenset[str] = frozenset()) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of every file below `folder` with that suffix, sorted; without folders named in `apart`."""
    found = []
    folders = [folder]
    links: set[str] = set()
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.name.endswith(suffix):
                    status = entry.stat()
                    found.append((entry.path, status.st_size, status.st_mtime_ns))
                elif entry.name not in apart and entry.is_dir():
                    if entry.is_symlink():  # it may lead back
                        real = os.path.realpath(entry.path)
                        if real in links or os.path.realpath(folder).startswith(real):
                            continue
                        links.add(real)
                    folders.append(entry.path)
            except OSError:  # a link that leads nowhere
                continue
    return tuple(sorted(found))
