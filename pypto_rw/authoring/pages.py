"""Pages of ops and of the rules that ops share, made of the rule files alone: Markdown, one page a file, and an index.

An example stands on its page as in the rule file, between ```rules and ```: a test reads it off and runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pypto_rw.authoring.style import is_op_file
from pypto_rw.examples import Example, examples
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import RuleFile, Signature
from pypto_rw.rewriting.rulebook import Rulebook

_MESSAGE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FORM_USE = re.compile(r"\(([A-Za-z][\w./-]*)")


def shown(book: Rulebook, signature: Signature) -> str:
    """What an op's file says of it, for a terminal: call, forms, facts, rules with file and line, examples."""
    file = book.op_file(signature.op)
    assert file is not None
    out = [*_header(file), "", f"file       {file.path}", f"targets    {', '.join(book.targets(signature))}"]
    out.append(f"call       {call_text(signature)}")
    out += [f"form       {name}   {text}" for name, text in _forms(book, file)]
    out += [f"fact       {text}" for text in _facts(file)]
    out += [f"requires   {name}.egg" for name in file.requires]
    found = list(ruletext.rules(file.text))
    out += ["", *(f"{file.name}.egg:{r.line}  {r.ruleset:<9} {r.name}" for r in found)] if found else []
    for e in examples(file):
        out += ["", *_example(e)]
    return "\n".join(out) + "\n"


def call_text(signature: Signature) -> str:
    """How an op is called: `tile.load(tensor: tensor, offsets: tuple, *, clamp: flag = False)`."""
    words = []
    star = False
    for p in signature.parameters:
        if not p.written:
            continue
        if p.keyword and not star:
            words.append("*")
            star = True
        like = f" (a bare number as {p.like})" if p.like else ""
        default = f" = {p.default}" if p.default is not None else ""
        words.append(f"{p.name}: {p.kind}{like}{default}")
    return f"{signature.op}({', '.join(words)})"


def _header(file: RuleFile) -> list[str]:
    lines = []
    for line in file.text.splitlines():
        if not line.startswith(";") or line.startswith(("; requires:", ";!")):
            break
        lines.append(line.removeprefix(";").removeprefix(" "))
    return lines


def _forms(book: Rulebook, file: RuleFile) -> list[tuple[str, str]]:
    """The instruction forms that a file's rules and facts name."""
    code = re.sub(r";[^\n]*", "", file.text)
    used = dict.fromkeys(m[1] for m in _FORM_USE.finditer(code))
    named = dict.fromkeys(words[2] for words in file.facts if words[0].startswith("emits") and len(words) > 2)
    found = [(name, book.forms[name].text) for name in used if name in book.forms and name != "dps"]
    return [*found, *((name, book.forms["dps"].text.replace("{name}", name)) for name in named)]


def _facts(file: RuleFile) -> list[str]:
    """The facts that a file states, in order."""
    stated = (f for f in ruletext.forms(file.text) if f.head not in _NO_FACTS)
    return [" ".join(form.text.split()) for form in stated]


_NO_FACTS = ruletext.RULES | {
    "",
    "relation",
    "function",
    "constructor",
    "sort",
    "datatype",
    "ruleset",
    "set",
    "signature",
}


def _example(example: Example) -> list[str]:
    """An example as it stands in its file, without the marks."""
    lines = example.file.text.splitlines()
    out = [lines[example.line - 1].removeprefix(";! ")]
    for line in lines[example.line :]:
        if re.match(r";! (example|refuses)\b", line):
            break
        if line.startswith(";!"):
            out.append(line.removeprefix(";! "))
    return out


# ------------------------------------------------------------------------------------------- pages


def pages(book: Rulebook, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Path and text of every page of the files `names`, the index first. Paths are relative to one folder."""
    files = [file for name in names if (file := book.file(name)) is not None]
    ops = [file for file in files if is_op_file(file) and file.signatures]
    shared = [file for file in files if file not in ops and any(True for _ in ruletext.rules(file.text))]
    index = ["# Ops and rules", "", "| op | what it is |", "| --- | --- |"]
    index += [f"| [{_op(f)}](ops/{_op(f)}.md) | {_cell(book.meaning(f.signatures[0]))} |" for f in ops]
    index += ["", "| rules of several ops | what they say |", "| --- | --- |"]
    index += [f"| [{f.name}](rules/{_flat(f)}.md) | {_cell(_header(f)[0])} |" for f in shared]
    yield "index.md", "\n".join(index) + "\n"
    for file in ops:
        yield f"ops/{_op(file)}.md", _op_page(book, file)
    for file in shared:
        yield f"rules/{_flat(file)}.md", _rule_page(file)


def _op(file: RuleFile) -> str:
    return file.signatures[0].op


def _flat(file: RuleFile) -> str:
    return file.name.replace("/", ".")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _op_page(book: Rulebook, file: RuleFile) -> str:
    signature = file.signatures[0]
    out = [f"# {signature.op}", "", "```text", *_header(file), "```", ""]
    out += [f"`{call_text(signature)}` on {', '.join(book.targets(signature))}", ""]
    forms = _forms(book, file)
    if forms:
        out += ["## Instructions", "", *(f"* `{name}`: `{text}`" for name, text in forms), ""]
    out += ["## Facts", "", "```text", *_facts(file), "```", ""]
    out += _refusals(file)
    out += _rules(file)
    if file.requires:
        links = (f"[{name}](../rules/{name.replace('/', '.')}.md)" for name in file.requires)
        out += [f"It uses the rules of {', '.join(links)}.", ""]
    out += _examples(file)
    return "\n".join(out).rstrip() + "\n"


def _rule_page(file: RuleFile) -> str:
    out = [f"# {file.name}", "", "```text", *_header(file), "```", ""]
    out += [*_refusals(file), *_rules(file), *_examples(file)]
    return "\n".join(out).rstrip() + "\n"


def _refusals(file: RuleFile) -> list[str]:
    rows = []
    for rule in ruletext.rules(file.text):
        actions = rule.form.parts[2].parts if rule.form.head == "rule" else ()
        for action in actions:
            if action.head in ("refuse", "remark") and len(action.parts) > 5:
                message, way = (_said(part.text) for part in action.parts[4:6])
                rows.append(f"| `{rule.name.rsplit('/', 1)[-1]}` | {_cell(message)} | {_cell(way)} |")
    return (
        ["## Refusals", "", "| code | what is said | the way out |", "| --- | --- | --- |", *rows, ""] if rows else []
    )


def _said(text: str) -> str:
    """The words of a message, with … for what is filled in."""
    return "…".join(m[1] for m in _MESSAGE.finditer(text)).replace('\\"', '"')


def _rules(file: RuleFile) -> list[str]:
    found = list(ruletext.rules(file.text))
    if not found:
        return []
    out = ["## Rules", ""]
    for rule in found:
        out += [f"### {rule.name}", "", f"{file.name}.egg:{rule.line}, {rule.ruleset}", "", "```lisp", rule.form.text]
        out += ["```", ""]
    return out


def _examples(file: RuleFile) -> list[str]:
    found = list(examples(file))
    if not found:
        return []
    out = ["## Examples", ""]
    for e in found:
        out += ["```rules", *_example(e), "```", ""]
    return out
