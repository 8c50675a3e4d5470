"""All that is wrong in rule files: what can be read off their text, and what their examples show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pypto_rw.authoring.factwords import legal_words
from pypto_rw.authoring.findings import Finding
from pypto_rw.authoring.joins import joins, tables
from pypto_rw.authoring.overlap import by_conditions
from pypto_rw.authoring.references import references
from pypto_rw.authoring.runs import FileRun, run_files
from pypto_rw.authoring.style import style, unreachable
from pypto_rw.diagnostics import CompileError
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.rulebook import CORE, Rulebook


def lint(folders: Sequence[str], names: Sequence[str]) -> list[Finding]:
    """Findings of the files `names`, by file and line; `folders` are searched before the built-in rules.

    A rule counts as dead when it fires in no example of any of these files; of a file that others require too, only
    when those are among them."""
    book = Rulebook(folders)
    files, found = _readable(book, names)
    instructions = frozenset(_instructions(book))
    legal, known = legal_words(book), tables(book)
    for file in files:
        found += [
            *references(file, book, instructions, legal),
            *joins(file, known),
            *style(file),
            *unreachable(file, book),
        ]
    found += _twice(files)
    for file, first, second in by_conditions(files):
        found.append(
            Finding(
                str(file.path),
                second.line,
                "overlap",
                f"{second.name!r} asks for all that {first.name!r} (line {first.line}) asks for, so both lower one op",
                "add a condition to the other that excludes it, or delete one: there are no priorities",
            )
        )
    runs = list(run_files(folders, [f.name for f in files], overlaps=True))
    found += _shown(files, runs, _needed_elsewhere(book, frozenset(names)))
    return sorted(dict.fromkeys(found), key=lambda f: (f.path, f.line, f.code, f.message))


def _needed_elsewhere(book: Rulebook, names: frozenset[str]) -> frozenset[str]:
    """Files that others than `names` are loaded with, whose examples are not run."""
    others = [name for name in book.names() if name not in names]
    if not others:
        return frozenset()
    required = set(CORE)
    for name in others:
        try:
            file = book.file(name)
        except CompileError:  # it is not asked about
            continue
        required.update(file.requires if file is not None else ())
    return frozenset(required)


def _readable(book: Rulebook, names: Sequence[str]) -> tuple[list[RuleFile], list[Finding]]:
    files: list[RuleFile] = []
    found: list[Finding] = []
    for name in names:
        try:
            file = book.file(name)
            assert file is not None
            ruletext.forms(file.text)
            files.append(file)
        except CompileError as error:
            d = error.diagnostics[0]
            found.append(Finding(d.filename, d.span.line, "rule-file", d.message, d.help))
        except ruletext.Unbalanced as fault:
            assert file is not None
            found.append(Finding(str(file.path), fault.line, "rule-file", str(fault), fault.help))
    return files, found


def _instructions(book: Rulebook) -> Iterator[str]:
    for name in book.names():
        if name.startswith("instruction/") and (file := book.file(name)) is not None:
            yield from (words[2] for words in file.facts if words[0] == "instruction" and len(words) > 2)


def _twice(files: Iterable[RuleFile]) -> Iterator[Finding]:
    """A name that two rules have; the engine takes the second for the first."""
    seen: dict[str, str] = {}
    for file in files:
        for rule in ruletext.rules(file.text):
            here = f"{file.name}.egg:{rule.line}"
            if rule.name and (there := seen.setdefault(rule.name, here)) != here:
                yield Finding(
                    str(file.path), rule.line, "name-twice", f"{rule.name!r} is also the rule at {there}", "rename one"
                )


def _shown(files: Sequence[RuleFile], runs: Sequence[FileRun], elsewhere: frozenset[str]) -> Iterator[Finding]:
    """What the examples show: failures, overlaps, rules that never fire, checks that refuse nothing.

    Rules of files that are needed `elsewhere` may fire there."""
    matched = {rule for run in runs for rule in run.matches}
    for file, run in zip(files, runs, strict=True):
        path = str(file.path)
        if run.broken is not None:
            line, message, help = run.broken
            yield Finding(path, line, "rule-file", message, help)
            continue
        failed: dict[tuple[int, str], list[str]] = {}
        for line, target, message in run.failed:
            failed.setdefault((line, message), []).append(target)
        for (line, message), targets in failed.items():
            yield Finding(path, line, "example", f"{', '.join(targets)}: {message}")
        for o in run.overlaps:
            yield Finding(
                path,
                o.line,
                "overlap",
                f"{o.first!r} and {o.second!r} both lower this example on {o.target}",
                "add a condition to one that excludes it: there are no priorities",
            )
        for rule in ruletext.rules(file.text):
            if rule.name and rule.name not in matched and file.name not in elsewhere:
                yield _dead(path, rule)


def _dead(path: str, rule: ruletext.Rule) -> Finding:
    code = rule.name.rsplit("/", 1)[-1]
    if rule.ruleset == "check" and "(remark " in rule.form.text:
        return Finding(
            path,
            rule.line,
            "no-warning-example",
            f"the check {rule.name!r} warns of no example",
            f"add an example of it: ;! warns {code}",
        )
    if rule.ruleset == "check" and "(refuse " in rule.form.text:
        return Finding(
            path,
            rule.line,
            "no-refusal-example",
            f"the check {rule.name!r} refuses no example",
            f"add an example that breaks this condition alone: ;! refuses {code}",
        )
    return Finding(
        path,
        rule.line,
        "never-fires",
        f"the rule {rule.name!r} fires in no example",
        "add an example that needs it, or delete it; `pypto-rw explain --why-not` tells which condition fails",
    )
