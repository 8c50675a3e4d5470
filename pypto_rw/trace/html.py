"""The story as one page. Every line is in the page's text; what happens on a click or a key is `page/page.js`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from pypto_rw.explain import Fired
from pypto_rw.rewriting import ruletext
from pypto_rw.trace.changes import Parts
from pypto_rw.trace.story import Line, Stage, Story
from pypto_rw.wording import counted

_FOLDER = Path(__file__).resolve().parent / "page"
# What is set apart in a line: types (the page can hide those of `.pto`), and what is called.
_MODULE = re.compile(r"(?P<i>(?<=\w): .+?(?= = ))|(?P<b>\b(?:pld?|self)\.[a-z]\w*(?:\.\w+)*(?=\())")
_PRINTED = re.compile(r"(?P<var>![a-z]\w*\.\w+(?:<[^<>]*>)?)|(?P<b>\b(?:pto|arith|scf|func|math)\.[\w.]+)")


def as_html(story: Story) -> str:
    """A page that loads nothing; the same bytes for the same story."""
    values = {
        "title": escape(f"{story.filename.rpartition('/')[2]} for {story.target}"),
        "css": (_FOLDER / "page.css").read_text(encoding="utf-8"),
        "js": (_FOLDER / "page.js").read_text(encoding="utf-8"),
        "stages": "\n".join(_stage(s) for s in story.stages),
        "data": _json(_data(story)),
    }
    page = (_FOLDER / "page.html").read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda m: values[m[1]], page)


def _stage(stage: Stage) -> str:
    new = sum(line.new is not None for line in stage.lines)
    note = "unchanged" if stage.unchanged else f"{new} of {len(stage.lines)} new" if new else ""
    note = note or counted(len(stage.lines), "line")
    folded, shown = (" folded", "false") if stage.unchanged else ("", "true")
    lines = "\n".join(_line(line, stage.name) for line in stage.lines)
    return (
        f'<section class="stage{folded}" id="{stage.name}">\n'
        f'<h2><button type="button" aria-expanded="{shown}" aria-controls="{stage.name}-lines">'
        f"{escape(stage.title)} <small>{note}</small></button></h2>\n"
        f'<div class="lines" id="{stage.name}-lines" role="listbox" aria-label="{escape(stage.title)}"><div>\n'
        f"{lines}\n</div></div>\n</section>"
    )


def _line(line: Line, stage: str) -> str:
    origins = f' data-o="{" ".join(map(str, line.origins))}"' if line.origins else ""
    rules = f' data-r="{line.rules}"' if line.rules >= 0 else ""
    new = " class=n" if line.new is not None else ""
    indent = len(line.text) - len(line.text.lstrip())
    spaces = f"<s>{line.text[:indent]}</s>" if indent else ""
    return f"<p{new}{origins}{rules}>{spaces}{''.join(_marked(line, stage, indent))}</p>"


def _marked(line: Line, stage: str, at: int) -> Iterator[str]:
    """The text of a line from `at` on in its pieces, the new parts marked inside them; not where all of it is new."""
    new = line.new or ()
    if new == ((at, len(line.text.rstrip())),):
        new = ()
    for m in (_PRINTED if stage == "pto" else _MODULE).finditer(line.text, at):
        yield _piece(line.text, at, m.start(), "", new)
        yield _piece(line.text, m.start(), m.end(), m.lastgroup or "", new)
        at = m.end()
    yield _piece(line.text, at, len(line.text), "", new)


def _piece(text: str, start: int, end: int, tag: str, new: Parts) -> str:
    inner, at = "", start
    for a, b in new:
        a, b = max(start, a), min(end, b)
        if a < b:
            inner += f"{escape(text[at:a], False)}<mark>{escape(text[a:b], False)}</mark>"
            at = b
    inner += escape(text[at:end], False)
    return f"<{tag}>{inner}</{tag}>" if tag and inner else inner


# ------------------------------------------------------------------------------------------------------------- facts


def _data(story: Story) -> dict[str, object]:
    """What the page shows of a chosen line."""
    texts = _Texts()
    return {
        "file": story.filename.rpartition("/")[2],
        "statements": [
            [s.line, s.column, s.end_line, s.text, [[q.stage, q.op, q.type, list(q.replaced), q.rules] for q in asked]]
            for s, asked in zip(story.statements, story.asked, strict=True)
        ],
        "sets": [list(s) for s in story.sets],
        "rules": [[r.name, f"{r.file}:{r.line}" if r.file else "", r.ruleset, texts.of(r)] for r in story.rules],
        "diagnostics": [
            [d.severity.value, d.code, d.span.line, d.span.column, d.message, d.help, d.rule] for d in story.diagnostics
        ],
    }


class _Texts:
    """Rules as their files have them."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, str]] = {}

    def of(self, rule: Fired) -> str:
        """The text of a rule, "" for one that no file has."""
        if not rule.path:
            return ""
        if rule.path not in self._files:
            text = Path(rule.path).read_text(encoding="utf-8")
            self._files[rule.path] = {r.name: r.form.text for r in ruletext.rules(text)}
        return self._files[rule.path].get(rule.name, "")


def _json(value: object) -> str:
    """JSON that ends no script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
