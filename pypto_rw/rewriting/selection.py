"""Which rules a run uses: all of them, all but some, or of the op files only some."""

from __future__ import annotations

from fnmatch import fnmatchcase

from pypto_rw.records import dataclass
from pypto_rw.rewriting import ruletext
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.rulebook import Rulebook

_ALWAYS = ("core/", "form/", "target/", "instruction/")


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules named by `disabled` are left out; where `only` has patterns, so are those of op files that match none
    of them. What core/ and target/ say of all ops stays unless it is disabled by name."""

    disabled: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.disabled or self.only)

    def left_out(self, file: RuleFile) -> frozenset[str]:
        """Names of the rules of a file that do not take part."""
        names = set(self.disabled) & file.rule_lines.keys()
        if self.only and not file.name.startswith(_ALWAYS):
            names |= {n for n in file.rule_lines if not any(fnmatchcase(n, pattern) for pattern in self.only)}
        return frozenset(names)

    def text(self, file: RuleFile) -> str | None:
        """The file's text without the rules that do not take part; None where all of them do."""
        names = self.left_out(file)
        return ruletext.without(file.text, names) if names else None

    def require(self, book: Rulebook) -> None:
        """ValueError where a name or a pattern fits no rule of the search path."""
        known = {rule for name in book.names() if (file := book.file(name)) for rule in file.rule_lines}
        for word in (*self.disabled, *self.only):
            if word not in known and not any(fnmatchcase(rule, word) for rule in known if word in self.only):
                raise ValueError(no_rule(word, sorted(known)))


def no_rule(word: str, known: list[str]) -> str:
    """That no rule is called so, and which names are like it."""
    import difflib

    near = difflib.get_close_matches(word, known, 3, 0.5)
    return f"no rule is called {word!r}" + (f"; the nearest are {', '.join(near)}" if near else "")
