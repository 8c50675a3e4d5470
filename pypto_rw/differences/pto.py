"""`.pto` text to canonical lines: every definition a name of its own, constants by value, places gone.

Read by the tokens of the verifier, but by no form: a text with an op that nobody knows is compared all the same."""

from __future__ import annotations

from pypto_rw.differences.line import Line
from pypto_rw.verifier.tokens import Token, tokens

_REGION = frozenset({"scf.for", "scf.while", "func.func"})  # their `%x =` and `%x :` are names of the region
_BLANK = "%"


def read(text: str) -> list[Line]:
    """The canonical lines of a text. A line that starts with `(` continues the one before; comments do not count."""
    reader = _Reader()
    for found in _logical(text):
        reader.line(found)
    return reader.lines


def _logical(text: str) -> list[list[Token]]:
    lines: list[list[Token]] = []
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.rstrip("\r")
        found = tokens(plain.partition("//")[0] if '"' not in plain else plain, number)
        if not found:
            continue
        if found[0].text == "(" and lines:
            lines[-1] = [*_placeless(lines[-1]), *found]
        else:
            lines.append(found)
    return [_placeless(line) for line in lines]


def _placeless(line: list[Token]) -> list[Token]:
    """The tokens without a closing `loc(…)`."""
    if line[-1].text == ")":
        for at in range(len(line) - 1, max(len(line) - 12, 0), -1):
            if line[at].text == "loc" and line[at + 1].text == "(":
                return line[:at]
    return line


class _Reader:
    """Walks the lines with the names that are known; `}` forgets those of its region."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._known: dict[str, object] = {}
        self._regions: list[list[tuple[str, object]]] = [[]]  # per open region: what to restore
        self._count = 0
        self._head = False  # at the head of a function, where constants stand

    def line(self, found: list[Token]) -> None:
        """Read one line."""
        if found[0].text == "}":
            self._close()
        if self._head and self._constant(found):
            return
        equal = next((k for k, t in enumerate(found) if t.text == "="), 0)
        results = equal if found[0].kind == "value" and len(found) > 1 and found[1].text in ("=", ",") else 0
        head = next((t.text for t in found[results:] if t.kind == "word"), found[0].text)
        bound = self._bound(found, results, head)
        values = [k for k, t in enumerate(found) if t.kind == "value"]
        names = {k: self._meaning(found[k].text) for k in values if k >= results and k not in bound}
        names |= {k: self._define(found[k].text) for k in values if k < results}
        opens = found[-1].text == "{"
        if opens:
            self._regions.append([])
        names |= {k: self._define(found[k].text) for k in values if k in bound}
        # a constant reads as its value; any other name is blanked
        words = [
            t.text if k not in names else names[k] if isinstance(names[k], str) else _BLANK for k, t in enumerate(found)
        ]
        kept = tuple(names[k] for k in values if not isinstance(names[k], str))
        self.lines.append(Line(found[0].line, self._text(found, names), tuple(map(str, words)), kept))
        self._head = head == "func.func" and opens

    def _constant(self, found: list[Token]) -> bool:
        """Whether the line makes a constant, whose value its name stands for from here on."""
        texts = [t.text for t in found]
        if len(texts) > 4 and texts[1:3] == ["=", "arith.constant"]:
            value, _, type_ = " ".join(texts[3:]).rpartition(" : ")
        elif len(texts) == 8 and texts[1:3] == ["=", "builtin.unrealized_conversion_cast"]:
            known = self._known.get(texts[3])
            if not isinstance(known, str):
                return False
            value, type_ = known[1:].partition(" : ")[0], texts[7]
        else:
            self._head = False
            return False
        self._bind(texts[0], f"<{value} : {type_}>")
        return True

    def _bound(self, found: list[Token], results: int, head: str) -> set[int]:
        """Which values of a line are names of the region that it opens."""
        if head not in _REGION and found[0].kind != "label":
            return set()
        follows = ":" if head == "func.func" or found[0].kind == "label" else "="
        return {
            k for k, t in enumerate(found[:-1]) if k >= results and t.kind == "value" and found[k + 1].text == follows
        }

    def _meaning(self, name: str) -> object:
        if name not in self._known:  # defined nowhere, or later
            self._bind(name, object())
        return self._known[name]

    def _define(self, name: str) -> object:
        self._bind(name, object())
        return self._known[name]

    def _bind(self, name: str, meaning: object) -> None:
        self._regions[-1].append((name, self._known.get(name)))
        self._known[name] = meaning

    def _close(self) -> None:
        if len(self._regions) > 1:
            for name, before in reversed(self._regions.pop()):
                if before is None:
                    del self._known[name]
                else:
                    self._known[name] = before

    def _text(self, found: list[Token], names: dict[int, object]) -> str:
        depth = len(self._regions) - 1 - (found[-1].text == "{")
        out = "  " * depth
        for k, t in enumerate(found):
            before = found[k - 1] if k else None
            out += " " if before is not None and t.column > before.column + len(before.text) else ""
            meaning = names.get(k)
            out += meaning if isinstance(meaning, str) else t.text
        return out
