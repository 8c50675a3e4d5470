"""A test file with its CHECK and expected lines as they would have to be.

A CHECK line that fails gets the line it was nearest to, or goes; lines that hold, and NOT lines, stay as they are. A
command whose prefix has no line yet gets one for every line of its output, at the end of the file. Expected lines are
written anew from what was told. Lines end as those of the file do."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_rw.lit.expect import Told
from pypto_rw.lit.filecheck import Failure
from pypto_rw.lit.pattern import literal
from pypto_rw.lit.run import Result, run
from pypto_rw.lit.script import Script, is_expected, script


def blessed(test: Script) -> str:
    """The text of the file; failures that no line can mend (an exit code) are left."""
    told = next((r.found for r in run(test) if r.failures and r.found is not None), None)
    if told is not None:  # first, and once: the commands tell the lines of the file, not those of the new text
        test = script(test.path, _expecting(test, told))
    whole: set[str] = set()  # prefixes whose output has been written down
    for _ in range(test.text.count("\n") + 2):  # one failing line a round
        result = next((r for r in run(test) if r.failures and r.found is None), None)
        changed = None if result is None else _changed(test, result, whole)
        if changed is None or changed == test.text:
            break
        test = script(test.path, changed)
    return test.text


def _changed(test: Script, result: Result, whole: set[str]) -> str | None:
    if result.failed is not None:
        return _mended(test, result.failed)
    if result.command.prefixes and not result.checks and result.command.prefixes[0] not in whole:
        whole.add(result.command.prefixes[0])
        added = f"\n\n{_whole(result.output, result.command.prefixes[0])}"
        return test.text.rstrip("\r\n") + (added.replace("\n", "\r\n") if "\r\n" in test.text else added)
    return None


def _mended(test: Script, failure: Failure) -> str | None:
    if failure.check.kind == "-NOT":
        return None
    lines = test.text.split("\n")
    at = failure.check.line - 1
    if not failure.offered:
        del lines[at]
        return "\n".join(lines)
    head = lines[at][: lines[at].index(":") + 1]
    lines[at] = f"{head} {literal(failure.offered)}{_end(lines[at])}"
    return "\n".join(lines)


def _whole(output: str, prefix: str) -> str:
    shown = [line for line in output.split("\n") if line.strip()]
    kinds = ["", *["-NEXT"] * len(shown)]
    return "".join(f"# {prefix}{kind}: {literal(line)}\n" for kind, line in zip(kinds, shown, strict=False))


def _expecting(test: Script, found: Sequence[Told]) -> str:
    """The file with a comment above each line that something is told of, of a continued line above its first part."""
    lines = test.text.split("\n")
    kept = [(number, line) for number, line in enumerate(lines, 1) if not is_expected(line)]
    out: list[str] = []
    for at, (_, line) in enumerate(kept):
        if at and _goes_on(kept[at - 1][1]):
            out.append(line)
            continue
        last = at
        while _goes_on(kept[last][1]) and last + 1 < len(kept):
            last += 1
        parts = [number for number, _ in kept[at : last + 1]]
        here = [t for t in found if t.line in parts and t.severity != "note"]
        indent = line[: len(line) - len(line.lstrip())]
        for left, t in zip(range(len(here), 0, -1), here, strict=True):
            behind = parts.index(t.line)
            where = f"+{left + behind}" if behind else "below"
            out.append(f"{indent}# expected-{t.severity}@{where} {{{{{' '.join(t.text.split())}}}}}{_end(line)}")
        out.append(line)
    return "\n".join(out)


def _goes_on(line: str) -> bool:
    """Whether a line is continued in the next one."""
    return line.removesuffix("\r").endswith("\\") and not line.lstrip().startswith(("#", "//"))


def _end(line: str) -> str:
    """What of the line's end is before its `\\n`."""
    return "\r" if line.endswith("\r") else ""
