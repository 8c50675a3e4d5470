"""How often each rule fires, in the examples of rule files or in kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pypto_rw import api
from pypto_rw.authoring.runs import run_files
from pypto_rw.diagnostics import CompileError
from pypto_rw.inspection import Inspection
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.watching import Watch


def of_examples(folders: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Matches by rule in the examples of the files `names`; of those that cannot be loaded, none."""
    matches: dict[str, int] = {}
    for run in run_files(folders, names):
        for rule, n in run.matches.items():
            matches[rule] = matches.get(rule, 0) + n
    return matches


def of_kernels(
    sources: Iterable[tuple[str, str]], folders: Sequence[str], target: str, planner: str
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Matches by rule in kernels (path and text), and the kernels that were refused with the first line of why.

    What fired before a refusal counts."""
    watch = Watch()
    refused = []
    for path, text in sources:
        try:
            api.lower(
                text, filename=path, target=target, planner=planner, rules=folders, inspection=Inspection(watch=watch)
            )
        except CompileError as error:
            refused.append((path, str(error).partition("\n")[0]))
    return watch.matches, refused


def counted(book: Rulebook, names: Sequence[str], matches: Mapping[str, int]) -> list[tuple[str, int]]:
    """Place and matches of every rule of the files `names`, in the order of files and lines."""
    found = []
    for name in names:
        file = book.file(name)
        assert file is not None
        found += [(f"{name}.egg:{line} {rule}", matches.get(rule, 0)) for rule, line in file.rule_lines.items()]
    return found
