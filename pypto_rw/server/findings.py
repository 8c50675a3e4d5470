"""Diagnostics as the protocol has them: the place, the help and the rule beside it, the page of the code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types
from pygls.workspace.position_codec import PositionCodec

from pypto_rw import resources
from pypto_rw.diagnostics import NOWHERE, Diagnostic, Severity
from pypto_rw.records import dataclass
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.server.positions import to_range

_SEVERITIES = {
    Severity.error: types.DiagnosticSeverity.Error,
    Severity.warning: types.DiagnosticSeverity.Warning,
    Severity.note: types.DiagnosticSeverity.Information,
}


@dataclass(frozen=True, slots=True)
class Reporter:
    """Reports of one text. `filename` is what its diagnostics call it; `related`: the client shows related places."""

    uri: str
    filename: str
    lines: Sequence[str]
    codec: PositionCodec
    rulebook: Rulebook
    related: bool

    def report(self, d: Diagnostic) -> types.Diagnostic:
        """One diagnostic. One of another file (a rule file) stands at the top of the text, its own place beside it."""
        elsewhere = d.filename != self.filename
        where = to_range(NOWHERE if elsewhere else d.span, self.lines, self.codec)
        related = []
        if elsewhere:
            own = f"{d.filename}:{d.span.line}"
            related.append(types.DiagnosticRelatedInformation(_line(d.filename, d.span.line), own))
        if d.help:
            related.append(types.DiagnosticRelatedInformation(types.Location(self.uri, where), f"help: {d.help}"))
        rule = self._rule(d.rule)
        if rule is not None:
            related.append(types.DiagnosticRelatedInformation(rule, f"rule: {d.rule}"))
        told = [] if self.related else [r.message for r in related]
        facts = d.code.startswith(("ptoas-", "device-"))  # a page says more than a line of facts
        href = f"{rule.uri}#L{rule.range.start.line + 1}" if rule is not None and not facts else _page(d.code)
        return types.Diagnostic(
            range=where,
            message="\n".join([d.message, *told]),
            severity=_SEVERITIES[d.severity],
            code=d.code,
            code_description=types.CodeDescription(href) if href else None,
            source="pypto-rw",
            related_information=related if related and self.related else None,
        )

    def _rule(self, rule: str) -> types.Location | None:
        """The place of a rule written as `file.egg:line name`."""
        name, _, rest = rule.partition(".egg:")
        number = rest.partition(" ")[0]
        file = self.rulebook.file(name) if number.isdigit() else None
        return _line(str(file.path), int(number)) if file is not None else None


def _line(path: str, number: int) -> types.Location:
    at = types.Position(max(number, 1) - 1, 0)
    return types.Location(Path(path).absolute().as_uri(), types.Range(at, at))


def _page(code: str) -> str:
    """The page of a diagnostic code, where it has one."""
    page = Path(resources.folder("rules")) / "codes" / f"{code}.md"
    return page.absolute().as_uri() if page.is_file() else ""
