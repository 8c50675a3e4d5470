"""The commands of a test file, run in the file's folder, each in a process of its own.

A command is `[not] pypto-rw ARGUMENTS [2>&1] [| FileCheck %s [--check-prefix=A] [--check-prefixes=A,B]]`. `%s` is the
file (its name: texts do not depend on where the folder is), `%t` a file of its own to write to. Without FileCheck the
exit code must be 0, or not, with `not`; where the file has `expected-…` lines, those are compared instead."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from pypto_rw.lit.expect import Told, mismatches, told
from pypto_rw.lit.filecheck import Failure, filecheck
from pypto_rw.lit.script import Check, Script, ScriptError
from pypto_rw.records import dataclass

_TELLS = frozenset({"lower", "check", "verify", "build"})


@dataclass(frozen=True, slots=True)
class Command:
    """One RUN line, taken apart. `prefixes` empty: no FileCheck."""

    line: int
    arguments: tuple[str, ...]
    negated: bool
    both: bool
    prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What a command did: where it fails, the texts of the failures and what `bless` needs."""

    command: Command
    output: str
    failures: tuple[tuple[int, str], ...] = ()
    failed: Failure | None = None
    checks: tuple[Check, ...] = ()
    found: tuple[Told, ...] | None = None


def run(script: Script) -> Iterator[Result]:
    """The result of each RUN line. Raises ScriptError for one that is no such command."""
    commands = [_command(script, line, text) for line, text in script.runs]
    if script.expected and not any(_expects(script, c) for c in commands):
        where = f"{script.path}:{script.expected[0].line}"
        raise ScriptError(f"{where}: no RUN line without FileCheck reports diagnostics")
    with tempfile.TemporaryDirectory(prefix="pypto-rw-lit-") as folder:
        for command in commands:
            yield _run(script, command, os.path.join(folder, "output"))


def _command(script: Script, line: int, text: str) -> Command:
    where = f"{script.path}:{line}"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ScriptError(f"{where}: cannot read the RUN line: {error}") from None
    first, second = _split(words)
    negated = first[:1] == ["not"]
    first = first[negated:]
    both = "2>&1" in first
    first = [w for w in first if w != "2>&1"]
    if first[:1] != ["pypto-rw"] or (second and second[0] != "FileCheck"):
        raise ScriptError(f"{where}: a RUN line is `[not] pypto-rw … [2>&1] [| FileCheck %s]`; got: {text}")
    return Command(line, tuple(first[1:]), negated, both, _prefixes(where, second))


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    at = words.index("|") if "|" in words else len(words)
    return words[:at], words[at + 1 :]


def _prefixes(where: str, words: list[str]) -> tuple[str, ...]:
    if not words:
        return ()
    found: list[str] = []
    for word in words[1:]:
        name, _, value = word.partition("=")
        if name in ("--check-prefix", "--check-prefixes") and value:
            found += value.split(",")
        elif word != "%s":
            raise ScriptError(f"{where}: FileCheck takes %s, --check-prefix= and --check-prefixes=; got {word}")
    return tuple(found) or ("CHECK",)


def _expects(script: Script, command: Command) -> bool:
    return (
        bool(script.expected)
        and not command.prefixes
        and command.arguments[:1] != ()
        and (command.arguments[0] in _TELLS)
    )


def _run(script: Script, command: Command, temporary: str) -> Result:
    name = os.path.basename(script.path)
    arguments = [w.replace("%s", name).replace("%t", temporary) for w in command.arguments]
    expects = _expects(script, command)
    if expects:
        arguments += ["--diagnostics", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "pypto_rw", *arguments],
        cwd=os.path.dirname(script.path) or ".",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if command.both else subprocess.PIPE,
        encoding="utf-8",
    )
    output, told_apart, code = done.stdout, done.stderr or "", done.returncode
    if expects:
        found = tuple(told(output if command.both else told_apart, name))
        return Result(command, output, tuple(mismatches(script.expected, found)), found=found)
    if (code != 0) != command.negated:
        message = f"exit code {code}" + (" of a command that must fail" if command.negated else "")
        return Result(command, output, ((command.line, f"{message}\n{told_apart.rstrip()}".rstrip()),))
    if not command.prefixes:
        return Result(command, output)
    checks = script.checks(command.prefixes)
    if not checks:
        prefixes = ", ".join(f"{p}:" for p in command.prefixes)
        none = ((command.line, f"there is no line {prefixes}"),)
        return Result(command, output, none)
    failed = filecheck(checks, output)
    failures = () if failed is None else ((failed.check.line, _told(failed, output)),)
    return Result(command, output, failures, failed, tuple(checks))


def _told(failure: Failure, output: str) -> str:
    lines = output.split("\n")
    check = failure.check
    shown = (
        f"{check.prefix}{check.kind} {failure.message}: {check.text}\n  searched from line {failure.at} of the output"
    )
    if failure.nearest:
        shown += f"\n  nearest, line {failure.nearest}: {lines[failure.nearest - 1].strip()}"
    return shown
