"""Wrong references in a rule file: names that nothing has, words that name no parameter, refusals of other names.

Nothing is run for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pypto_rw.authoring.factwords import Words, unknown_words
from pypto_rw.authoring.findings import Finding
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import Form, RuleFile, Signature
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.ruletext import Node, Rule

RULESETS = ("facts", "deduce", "check", "legalize", "lowering")
_OP = re.compile(r"(?:tile|tensor|array|system|prefetch|scalar|pld(?:\.\w+)?)\.\w+$")
_NAMESPACE = re.compile(r"[\w.-]+/[a-z0-9][a-z0-9-]*$")
_HOLE = re.compile(r"\{\{|\}\}|\{(\w*)[^{}]*\}")
# facts of an op whose further words name parameters of it: which of the words, counted from the one after the op
_PARAMETERS = {
    "in-place": (0,),
    "makes-window": (0, 1),
    "inherits": (0,),
    "materialises": (0,),
    "no-view": (0,),
    "publishes": (0,),
    "trailing": (0,),
    "stamped": (0,),
    "written-as": (0,),
    "narrows": (0, 1),
    "loads-window": (0, 1),
    "stores-whole": (0, 1, 2),
}


def references(file: RuleFile, book: Rulebook, instructions: frozenset[str], legal: Words) -> Iterator[Finding]:
    """Findings of one file; `instructions` are those that an instruction/ file describes, `legal` facts' words."""
    path = str(file.path)
    for line, message, help in [
        *_required(file, book),
        *_rules(file, instructions),
        *_facts(file, book, instructions, legal),
        *_forms(file),
    ]:
        yield Finding(path, line, "wrong-reference", message, help)


Told = tuple[int, str, str]


def _required(file: RuleFile, book: Rulebook) -> Iterator[Told]:
    for name in file.requires:
        if book.file(name) is None:
            line = ruletext.line_of(file.text, file.text.index(f"requires: {name}"))
            yield line, f"requires {name}, but no rules folder has {name}.egg", "write the name of a file without .egg"


def _rules(file: RuleFile, instructions: frozenset[str]) -> Iterator[Told]:
    op = next((s.op for s in file.signatures), None)
    for rule in ruletext.rules(file.text):
        if not rule.name:
            yield rule.line, "this rule has no name", f':name "{op or file.name}/what" after its ruleset'
            continue
        if not _NAMESPACE.match(rule.name):
            yield rule.line, f"the rule name {rule.name!r} is not op/what-in-small-letters", "rename it"
        elif op is not None and rule.name.split("/")[0] != op:
            yield rule.line, f"the rule {rule.name!r} is not named after the op {op}", f'call it "{op}/…"'
        if rule.ruleset not in RULESETS:
            said = f"the ruleset {rule.ruleset!r}" if rule.ruleset else "no ruleset"
            yield rule.line, f"the rule {rule.name!r} has {said}", f"rulesets are {', '.join(RULESETS)}"
        yield from _refusals(file, rule)
        for node in _below(rule.form):
            if node.head == "dps" and (word := node.parts[1].text).startswith('"') and word[1:-1] not in instructions:
                close = _close(word[1:-1], instructions)
                line = ruletext.line_of(file.text, node.start)
                yield line, f"there is no instruction {word[1:-1]}", f"the nearest are {close}" if close else ""


def _below(node: Node) -> Iterator[Node]:
    yield node
    for part in node.parts:
        yield from _below(part)


def _refusals(file: RuleFile, rule: Rule) -> Iterator[Told]:
    for action in rule.form.parts[2] if rule.form.head == "rule" else ():
        if action.head not in ("refuse", "remark") or len(action.parts) < 3:
            continue
        line = ruletext.line_of(file.text, action.start)
        said = action.parts[2].text.strip('"')
        if said != rule.name:
            yield line, f"the rule {rule.name!r} refuses as {said!r}", f'write (refuse op "{rule.name}" …)'
        if rule.ruleset not in ("check", ""):
            yield line, f"the rule {rule.name!r} refuses in the ruleset {rule.ruleset}", "write :ruleset check"


def _facts(file: RuleFile, book: Rulebook, instructions: frozenset[str], legal: Words) -> Iterator[Told]:
    for form in ruletext.forms(file.text):
        words = [p.text.strip('"') for p in form.parts[1:] if p.text.startswith('"')]
        if form.head in ("", "signature", "operands", "form") or not words or form.head in ruletext.RULES:
            continue
        line = ruletext.line_of(file.text, form.start)
        signature = book.signature(words[0])
        if signature is None:
            if _OP.match(words[0]):
                near = ", ".join(book.nearest(words[0]))
                yield line, f"({form.head} …): there is no op {words[0]}", f"the nearest are {near}" if near else ""
            continue
        told = [*_words(form, words, signature, instructions), *unknown_words(form, legal)]
        yield from ((line, m, h) for m, h in told)


def _words(
    form: Node, words: Sequence[str], signature: Signature, instructions: frozenset[str]
) -> Iterator[tuple[str, str]]:
    names = [p.name for p in signature.parameters]
    for k in _PARAMETERS.get(form.head, ()):
        if k + 1 < len(words) and words[k + 1] not in names:
            yield f"({form.head} …): {signature.op} has no parameter {words[k + 1]!r}", f"it has {', '.join(names)}"
    if form.head in ("emits", "emits-one") and len(words) > 1 and words[1] not in instructions:
        close = _close(words[1], instructions)
        yield f"({form.head} …): there is no instruction {words[1]}", f"the nearest are {close}" if close else ""
    if form.head == "reads" and len(words) > 1:
        count = len(words[1].split())
        if count > len(names):
            yield f"(reads …) has {count} words for {len(names)} parameters of {signature.op}", "write one a parameter"


def _close(word: str, known: frozenset[str]) -> str:
    import difflib

    return ", ".join(difflib.get_close_matches(word, sorted(known), 3, 0.6))


def _forms(file: RuleFile) -> Iterator[Told]:
    for form in file.forms:
        line = next((n for n, t in enumerate(file.text.splitlines(), 1) if f'"{form.name}"' in t), 1)
        yield from ((line, m, h) for m, h in form_holes(form))


def form_holes(form: Form) -> Iterator[tuple[str, str]]:
    """Holes of a form's text that no parameter fills."""
    names = [name for name, _ in form.parameters]
    for m in _HOLE.finditer(form.text):
        if m[1] is not None and m[1] not in names:
            yield (
                f"the text of the form {form.name!r} has a hole {m[0]}, but no parameter {m[1]!r}",
                f"its parameters are {', '.join(names)}",
            )
