"""The library egglog as this package uses it: how it is loaded, its terms read, its faults told.

The only file that names it; `egraph` is what uses it."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from pypto_rw.diagnostics import CompileError, InternalError


class Decoder:
    """egglog's term graph as nested tuples; a constructor without arguments is a 1-tuple."""

    def __init__(self, library: Any, dag: Any) -> None:
        self._application, self._literal = library.TermApp, library.TermLit
        self._dag = dag
        self._seen: dict[Any, Any] = {}
        self._open: set[Any] = set()  # terms that hold one that cannot be extracted

    def __call__(self, term: Any) -> Any:
        found = self._seen.get(term)
        if found is None:
            node = self._dag.get(term)
            if isinstance(node, self._application):
                found = (node.name, *map(self, node.args))
                if self._open and not self._open.isdisjoint(node.args):
                    self._open.add(term)
            elif isinstance(node, self._literal):
                found = getattr(node.value, "value", ())  # unit has no value
            else:
                found = ("Unextractable",)
                self._open.add(term)
            self._seen[term] = found
        return found

    def whole(self, term: Any) -> Any:
        """The term, None where a part of it cannot be extracted."""
        found = self(term)
        return None if term in self._open else found


@contextlib.contextmanager
def file_of(text: str, suffix: str) -> Iterator[str]:
    """The path of a file with this text, for as long as it is needed."""
    handle, path = tempfile.mkstemp(suffix=suffix)
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        yield path
    finally:
        os.unlink(path)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """An error of egglog is a fault of the compiler."""
    try:
        yield
    except CompileError:
        raise
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise InternalError(f"the rules failed: {error}") from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """A panic of the engine writes to the process's stderr before it becomes an exception; keep that away."""
    try:
        saved = os.dup(2)
    except OSError:  # no stderr to protect
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)


def bindings() -> Any:
    """`egglog.bindings` without running `egglog/__init__` (11 ms instead of 190)."""
    import importlib.machinery
    import sys
    import types

    logging.getLogger("egglog.extract").setLevel(logging.CRITICAL)
    loaded = sys.modules.get("egglog.bindings")
    if loaded is not None:
        return loaded
    if "egglog" not in sys.modules:
        spec = importlib.machinery.PathFinder.find_spec("egglog")
        if spec is None or spec.submodule_search_locations is None:
            raise InternalError("the package egglog is not installed")
        stub = types.ModuleType("egglog")
        stub.__path__ = list(spec.submodule_search_locations)
        stub.__spec__ = spec
        sys.modules["egglog"] = stub
        try:
            import egglog.bindings
        finally:
            del sys.modules["egglog"]  # a later `import egglog` still gets the real package
        return sys.modules["egglog.bindings"]
    import egglog.bindings

    return egglog.bindings
