"""One printed instruction as the assembler's rules see it: its name, operands by section, attributes, types.

The reader is tolerant on purpose: it takes text from anywhere, strict spelling is the verifier's business. What it
cannot place it leaves out, and a rule that asks for it does not apply."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""%[\w.$]+
      | ![\w.]+(?:<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)?      # a type with its angle brackets
      | \#[\w.]+(?:<[^<>]*>)? | <PIPE_\w+>
      | "(?:[^"\\]|\\.)*" | @[\w.$]+ | ->
      | -?0x[0-9A-Fa-f]+ | -?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?
      | [A-Za-z_][\w.]*
      | [(){}\[\]:,=]""",
    re.X,
)
_VECTOR = re.compile(r"vector<[^<>]*>")
_ELEMENT = re.compile(r"[a-z]+\d+\w*$|index$|none$")


class Line:
    """`name`, `results`, operand names by section (`ins`, `outs`, `args`), bracket lists and `word = value` fields by
    their word, `printed` the types the line prints for operand names, `result_types` those of its results."""

    __slots__ = ("args", "fields", "ins", "lists", "literals", "name", "outs", "printed", "result_types", "results")

    def __init__(self, name: str, results: list[str]) -> None:
        self.name = name
        self.results = results
        self.ins: list[str] = []
        self.outs: list[str] = []
        self.args: list[str] = []
        self.lists: dict[str, list[str]] = {}
        self.fields: dict[str, str] = {}
        self.literals: list[str] = []
        self.printed: dict[str, str] = {}
        self.result_types: list[str] = []

    def names(self) -> list[str]:
        """Every operand name, in the order of the text."""
        inner = [n for items in self.lists.values() for n in items]
        return [*self.ins, *self.args, *inner, *(v for v in self.fields.values() if v[0] == "%"), *self.outs]


def read_line(text: str) -> Line | None:
    """The instruction on a line without its location; None for braces, blanks and block labels."""
    tokens: list[str] = _TOKEN.findall(_VECTOR.sub("!vector", text))
    at = 0
    results: list[str] = []
    while at < len(tokens) and tokens[at][0] == "%":
        results.append(tokens[at])
        at += 2
        if tokens[at - 1 : at] == ["="]:
            break
    if at >= len(tokens) or not (tokens[at][0].isalpha() or tokens[at][0] == '"'):
        return None
    line = Line(tokens[at].strip('"'), results)
    _Reader(line, tokens, at + 1).run()
    return line


class _Reader:
    def __init__(self, line: Line, tokens: list[str], at: int) -> None:
        self.line, self.tokens, self.at = line, tokens, at
        self.pending: list[str] = []  # operands whose types the section still prints

    def run(self) -> None:
        line, tokens = self.line, self.tokens
        section = line.args
        types = False
        arrow = False
        while self.at < len(tokens):
            token = tokens[self.at]
            following = tokens[self.at + 1] if self.at + 1 < len(tokens) else ""
            self.at += 1
            if token in ("ins", "outs") and following in ("(", ":"):
                section = line.ins if token == "ins" else line.outs
                types = False
                self.pending = []
                if following == ":":  # `pto.tgetval … outs : TYPE`
                    self.at += 1
                    arrow = types = True
            elif token == "->":
                arrow = types = True
            elif token == ":":
                types = True
            elif token == "{":
                self._braces()
            elif token == "[":
                self._list()
            elif token == "(" and line.name[:4] == "scf." and not types:
                continue
            elif token == ")" and not arrow:
                if types:
                    types, self.pending = False, []
            elif token == "to" and types:
                arrow = True
            elif types:
                if token[0] == "!" or _ELEMENT.match(token):
                    self._type(token, arrow)
            elif token[0] == "%":
                section.append(token)
                self.pending.append(token)
            elif following == "=" and token[0].isalpha() and self.at + 1 < len(tokens):
                self._field(token)
            elif token[0] in '-"#<@' or token[0].isalnum():
                line.literals.append(token)
        if not line.result_types and line.results and line.printed:
            printed = "i1" if line.name.startswith("arith.cmp") else next(iter(line.printed.values()))
            line.result_types = [printed] * len(line.results)

    def _type(self, token: str, arrow: bool) -> None:
        token = "vector<4xi16>" if token == "!vector" else token
        line = self.line
        if arrow:
            line.result_types.append(token)
        elif self.pending:
            line.printed[self.pending.pop(0)] = token
        else:
            line.result_types.append(token)

    def _braces(self) -> None:
        tokens = self.tokens
        while self.at < len(tokens) and tokens[self.at] != "}":
            word = tokens[self.at]
            self.at += 1
            if self.at + 1 < len(tokens) and tokens[self.at] == "=":
                self.line.fields[word] = tokens[self.at + 1]
                self.at += 2
                if tokens[self.at : self.at + 1] == [":"]:
                    self.at += 2
            elif word not in ",:":
                self.line.fields.setdefault(word, "true")
        self.at += 1

    def _list(self) -> None:
        before = self.tokens[self.at - 3 : self.at - 1]
        word = before[0] if before[-1:] == ["="] else before[-1] if before and before[-1][0].isalpha() else "index"
        items = self.line.lists.setdefault(word, [])
        while self.at < len(self.tokens) and self.tokens[self.at] != "]":
            if self.tokens[self.at] != ",":
                items.append(self.tokens[self.at])
            self.at += 1
        self.at += 1

    def _field(self, word: str) -> None:
        value = self.tokens[self.at + 1]
        if value == "[":
            self.at += 2
            self._list()
        else:
            self.line.fields[word] = value
            self.at += 2
            if tokens_colon(self.tokens, self.at) and value[0] == "%":
                # `gm_slot_buffer = %g : TYPE`
                self.line.printed[value] = self.tokens[self.at + 1]
                if word in ("gm_slot_buffer", "c2v_consumer_buf", "v2c_consumer_buf"):
                    self.at += 2


def tokens_colon(tokens: list[str], at: int) -> bool:
    """Whether a type follows at `at`."""
    return tokens[at : at + 1] == [":"] and at + 1 < len(tokens)
