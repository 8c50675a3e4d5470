"""Diagnostics for programs: one line each, JSON lines, a SARIF 2.1.0 log.

Lines and columns are 1-based, columns in characters, ends exclusive, in all of them. The members of a JSON line are
stated in `schemas/diagnostic.schema.json`; a change that breaks a reader gives the next number of `schema`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from pypto_rw.diagnostics import Diagnostic

SCHEMA = 1
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def formatted(diagnostics: Sequence[Diagnostic], form: str) -> str:
    """Some findings as `short` or `json`, one a line, without the last line end."""
    return "\n".join(map(_short if form == "short" else _json, diagnostics))


def _short(d: Diagnostic) -> str:
    """`file:line:column: severity[code]: message`, whatever breaks a line made a space."""
    where = f"{d.filename}:{d.span.line}:{d.span.column}" if d.span else d.filename
    return f"{where}: {d.severity.value}[{d.code}]: {' '.join(d.message.split())}"


def _json(d: Diagnostic) -> str:
    place = d.span or None
    record = {
        "schema": SCHEMA,
        "file": _printable(d.filename),
        "line": place and place.line,
        "column": place and place.column,
        "end_line": place and place.end_line,
        "end_column": place and place.end_column,
        "severity": d.severity.value,
        "code": d.code,
        "message": _printable(d.message),
        "help": _printable(d.help),
        "rule": _printable(d.rule),
        "function": d.function,
    }
    return json.dumps(record, ensure_ascii=False)


def sarif(
    diagnostics: Iterable[Diagnostic],
    *,
    version: str,
    meaning: Callable[[str], str],
    exit_code: int,
    complaints: Sequence[str] = (),
) -> str:
    """A SARIF log of one run, indented, with a line end. `meaning` gives the line that explains a code, or "";
    `complaints` are of files and options, not of what they say."""
    found = list(diagnostics)
    told = [{"level": "error", "message": {"text": _printable(c)}} for c in complaints]
    invocation = {
        "executionSuccessful": exit_code in (0, 1),
        "exitCode": exit_code,
        **({"toolExecutionNotifications": told} if told else {}),
    }
    codes = list(dict.fromkeys(d.code for d in found))
    log = {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "pypto-rw", "version": version, "rules": [_rule(c, meaning) for c in codes]}
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [invocation],
                "results": [_result(d, codes.index(d.code)) for d in found],
            }
        ],
    }
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _rule(code: str, meaning: Callable[[str], str]) -> dict[str, object]:
    line = meaning(code)
    return {"id": code, **({"shortDescription": {"text": line}} if line else {})}


def _result(d: Diagnostic, index: int) -> dict[str, object]:
    text = _printable(d.message + (f"\n\n{d.help}" if d.help else ""))
    place: dict[str, object] = {"artifactLocation": {"uri": _uri(d.filename)}}
    if d.span:
        place["region"] = {
            "startLine": d.span.line,
            "startColumn": d.span.column,
            "endLine": d.span.end_line,
            "endColumn": d.span.end_column,
        }
    location: dict[str, object] = {"physicalLocation": place}
    if d.function:
        location["logicalLocations"] = [{"name": d.function, "kind": "function"}]
    result: dict[str, object] = {
        "ruleId": d.code,
        "ruleIndex": index,
        "level": _LEVELS[d.severity.value],
        "message": {"text": text},
        "locations": [location],
    }
    if d.rule:
        result["properties"] = {"rule": _printable(d.rule)}
    return result


def _uri(filename: str) -> str:
    """A relative path stays relative, so that a log means the same in every checkout."""
    from urllib.parse import quote

    return ("file://" if filename.startswith("/") else "") + quote(filename, errors="surrogateescape")


def _printable(text: str) -> str:
    """`text` with each byte of a file name that is not UTF-8 as `\\xff`: what programs read is UTF-8 throughout."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
