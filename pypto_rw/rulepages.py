"""What every diagnostic code means: the written pages, and for the checks of rule files pages made of the rules.

A rule `(refuse op "tile.load/space" x "message" "way out")`, or one with `remark`, gives the page of `space` its line
and its way out, the file's `;! refuses space` (`;! warns space`) the text that is reported, and the `;! example` most
like it the one that is not."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import cached_property

from pypto_rw import codes as written
from pypto_rw.examples import Example, examples
from pypto_rw.records import dataclass
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.rulebook import Rulebook

_REFUSE = re.compile(r'\((?:refuse|remark)\s+[\w-]+\s+"([^"]+)"\s+')
_TOKEN = re.compile(r'\s*(?:;[^\n]*\n\s*)*("(?:[^"\\]|\\.)*"|[()]|[^\s()"]+)')


@dataclass(frozen=True, slots=True)
class Check:
    """A rule that refuses or warns: where it stands, what it says and the way out, with … for what it computes."""

    file: RuleFile
    rule: str
    line: int
    message: str
    help: str

    @property
    def code(self) -> str:
        """The code it gives."""
        return self.rule.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class RulePage:
    """The page of a code that rules give: a line, the page as it is shown, and the examples it shows."""

    code: str
    line: str
    text: str
    reported: Example
    accepted: Example


class Pages:
    """The pages for the rules of a rulebook."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._checks: dict[str, list[Check]] = {}
        for name in rulebook.names():
            file = rulebook.file(name)
            if file is not None and _REFUSE.search(file.text):
                for check in checks(file):
                    self._checks.setdefault(check.code, []).append(check)

    def codes(self) -> list[str]:
        """Every code there is, sorted."""
        return sorted({*written.codes(), *self._checks})

    def rule_codes(self) -> set[str]:
        """The codes that rules give."""
        return set(self._checks)

    def page(self, code: str) -> written.Page | RulePage | None:
        """The page of a code, the written one first; None for one without."""
        found = written.page(code)
        return found if found is not None or code not in self._checks else self._made(code)

    def line(self, code: str) -> str:
        """The line that explains a code; "" for one without a page."""
        found = written.page(code)
        if found is not None:
            return found.line
        return _line(self._checks[code]) if code in self._checks else ""

    def nearest(self, code: str) -> list[str]:
        """Codes with a similar spelling."""
        return difflib.get_close_matches(code, self.codes(), 3, 0.4)

    def _made(self, code: str) -> RulePage | None:
        raised = self._checks[code]
        shown = self._examples(code, raised)
        if shown is None:
            return None
        reported, accepted = shown
        line = _line(raised)
        said = "".join(f"* {c.message}: {c.help} (`{c.file.name}.egg:{c.line}`)\n" for c in raised)
        text = (
            f"# {code}: {line}\n\n## Way out\n\n{said}\n## Reported{_options(reported)}\n\n{_body(reported)}\n"
            f"## Accepted{_options(accepted)}\n\n{_body(accepted)}"
        )
        return RulePage(code, line, text, reported, accepted)

    def _examples(self, code: str, raised: list[Check]) -> tuple[Example, Example] | None:
        """An example that is refused with the code, those beside a rule that gives it first, and one that is not."""
        near = list(dict.fromkeys(c.file.name for c in raised))
        for name in (*near, *(n for n in self._rulebook.names() if n not in near)):
            file = self._rulebook.file(name)
            if file is None or f" {code}\n" not in file.text:
                continue
            found = list(examples(file))
            told = next((e for e in found if code in (e.refuses, *e.warns)), None)
            if told is not None:
                good = [e for e in found if e.refuses is None and not e.warns] or self._good
                return told, max(good, key=lambda e: _alike(told, e))
        return None

    @cached_property
    def _good(self) -> list[Example]:
        """Every example that is accepted."""
        files = map(self._rulebook.file, self._rulebook.names())
        return [
            e for f in files if f is not None for e in examples(f) if e.refuses is None and not (e.becomes or e.warns)
        ]


def checks(file: RuleFile) -> Iterator[Check]:
    """Every `refuse` and `remark` of a rule file, in order."""
    for m in _REFUSE.finditer(file.text):
        at = m.end()
        _, at = _term(file.text, at)
        message, at = _term(file.text, at)
        way_out, _ = _term(file.text, at)
        line = file.text.count("\n", 0, m.start()) + 1
        yield Check(file, m[1], line, _said(message).removeprefix("…: "), _said(way_out))


Term = str | list["Term"]


def _term(text: str, at: int) -> tuple[Term, int]:
    """The term that starts at `at`, and where it ends."""
    m = _TOKEN.match(text, at)
    assert m is not None, "a rule file that was loaded has balanced parentheses"
    if m[1] != "(":
        return m[1], m.end()
    items: list[Term] = []
    at = m.end()
    while (m := _TOKEN.match(text, at)) is not None and m[1] != ")":
        item, at = _term(text, at)
        items.append(item)
    assert m is not None
    return items, m.end()


def _said(term: Term) -> str:
    """The text of a string or of a sum of strings, with … for the rest."""
    if isinstance(term, str):
        return term[1:-1].replace('\\"', '"') if term.startswith('"') else "…"
    return re.sub("…+", "…", "".join(map(_said, term[1:]))) if term[:1] == ["+"] else "…"


def _line(raised: list[Check]) -> str:
    """What the first check says; of several ops, without the name of one."""
    line = raised[0].message
    return line if len({c.file.name for c in raised}) == 1 else re.sub(r"^\w+\.\w+: ", "", line)


def _alike(a: Example, b: Example) -> float:
    return difflib.SequenceMatcher(None, (*a.words, *a.body), (*b.words, *b.body), autojunk=False).ratio() + (
        difflib.SequenceMatcher(None, "\n".join(a.body), "\n".join(b.body), autojunk=False).ratio()
    )


def _options(example: Example) -> str:
    return "".join(f" --target {w}" for w in example.words if w in ("a2a3", "a5"))


def _body(example: Example) -> str:
    return "".join(f"    {line}\n" for line in example.body)
