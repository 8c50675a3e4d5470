"""Tries edits until none is left that keeps a module interesting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError
from pypto_rw.reduction.edits import forwarded, lists, opened, smaller
from pypto_rw.reduction.trees import Path, at, nodes, put
from pypto_rw.syntax import parse, write

Progress = Callable[[str, int], None]


def reduced(module: ir.Module, interesting: Callable[[str], bool], progress: Progress) -> str:
    """The text of the smallest module found that `interesting` says yes to, as it does to the text of `module`.

    `progress` gets each better text and how many were tried. No text is tried twice."""
    search = _Search(module, interesting, progress)
    while search.round():
        pass
    return search.text


class _Search:
    def __init__(self, module: ir.Module, interesting: Callable[[str], bool], progress: Progress) -> None:
        self.module, self.text = module, write(module)
        self._interesting, self._progress = interesting, progress
        self._tried = {self.text}

    def round(self) -> bool:
        """Every edit once; whether one was good."""
        before = self.text
        self._lists()
        self._blocks()
        self._nodes()
        return self.text != before

    def _try(self, candidate: ir.Module) -> bool:
        text = write(candidate)
        if text in self._tried:
            return False
        self._tried.add(text)
        try:
            candidate = parse(text)
        except CompileError:  # no module, as one without functions
            return False
        if not self._interesting(text):
            return False
        self.module, self.text = candidate, text
        self._progress(text, len(self._tried))
        return True

    def _lists(self) -> None:
        """Take elements out of lists: halves, quarters, at last one by one."""
        done: set[Path] = set()
        while (path := next((p for p in lists(self.module) if p not in done), None)) is not None:
            done.add(path)
            size = len(at(self.module, path))
            while size:
                start = 0
                while start < len(items := at(self.module, path)):
                    if not self._try(put(self.module, path, (*items[:start], *items[start + size :]))):
                        start += size
                    elif not _there(self.module, path):
                        return
                size //= 2

    def _blocks(self) -> None:
        """Put regions and operands in the place of statements."""
        good = True
        while good:
            good = any(
                self._try(put(self.module, (*path, name), new))
                for path, node in list(nodes(self.module))
                for name in ("body", "orelse")
                if isinstance(block := getattr(node, name, None), tuple)
                for edit in (opened, forwarded)
                for new in edit(block)
            )

    def _nodes(self) -> None:
        """Make expressions and types smaller."""
        k = 0
        while k < len(found := list(nodes(self.module))):
            path, node = found[k]
            if not any(self._try(put(self.module, path, new)) for new in smaller(node)):
                k += 1


def _there(tree: Any, path: Path) -> bool:
    try:
        at(tree, path)
    except (AttributeError, IndexError, TypeError):
        return False
    return True
