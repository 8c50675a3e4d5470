"""Tokens, the names of the language behind the import prefix, and how a refusal travels to `parse`."""

from __future__ import annotations

import keyword
import re

from pypto_rw import ir
from pypto_rw.diagnostics import Span


class Refusal(Exception):
    """The input is refused; `parse` turns this into a CompileError."""

    def __init__(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.code = code
        self.message = message
        self.span = span
        self.help = help
        super().__init__(message)


class Token:
    """One token. `text` is as written, `value` without the prefix; statements read by the memo are the
    `value` of a READY token, as a list. The end is exclusive."""

    __slots__ = ("column", "end_column", "end_line", "line", "text", "type", "value")
    # Lark copies these to its own end-of-input token.
    start_pos = end_pos = 0

    def __init__(self, type_: str, text: str, value: object, line: int, column: int, end_column: int) -> None:
        self.type = type_
        self.text = text
        self.value = value
        self.line = self.end_line = line
        self.column = column
        self.end_column = end_column

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.line, self.column, self.end_line, self.end_column)


MARKERS = frozenset(layout.value for layout in ir.TensorLayout)
DTYPES = {dtype.value: dtype for dtype in ir.DType}
_LEVELS = "AIV AIC CORE_GROUP CHIP_DIE CHIP HOST CLUSTER_0 CLUSTER_1 CLUSTER_2 GLOBAL"
# `pl.GROUP.MEMBER`. A group that is not listed is taken as it is: the op's rule knows.
GROUPS: dict[str, frozenset[str]] = {
    "Mem": frozenset(space.value for space in ir.Space),
    "MemorySpace": frozenset(space.value for space in ir.Space),
    "TileLayout": frozenset(layout.value for layout in ir.TileLayout),
    "TensorLayout": MARKERS,
    "PadValue": frozenset(pad.value for pad in ir.Pad),
    "PipeType": frozenset(["MTE1", "MTE2", "MTE3", "M", "V", "S", "FIX", "ALL"]),
    "AtomicType": frozenset(("None_", "Add")),
    "CompactMode": frozenset(("null", "normal")),
    "FunctionType": frozenset(
        ["Opaque", "Orchestration", "InCore", "AIC", "AIV", "Group", "Spmd", "Inline", "Graph", "Helper"]
    ),
    "Level": frozenset(_LEVELS.split()),
    "Role": frozenset(("Orchestrator", "SubWorker")),
    "ScopeMode": frozenset(("AUTO", "MANUAL")),
    "SplitMode": frozenset(("NONE", "UP_DOWN", "LEFT_RIGHT")),
    "adir": frozenset(["input", "output", "output_existing", "inout", "no_dep", "scalar"]),
}
TYPES = ("Tensor", "Tile", "Scalar", "Array", "Tuple", "Out", "InOut")
OPAQUES = ("Ptr", "MemRefType", "PrefetchAsyncContext", "AsyncEvent", "AsyncSession", "UnknownType")
_PL = {
    **dict.fromkeys(TYPES, "TYPE"),
    **dict.fromkeys(OPAQUES, "OPAQUE"),
    **dict.fromkeys(("MemRef", "TensorView", "TileView"), "RECORD"),
    **dict.fromkeys(("range", "parallel", "unroll", "pipeline"), "RANGE"),
    **dict.fromkeys(("spmd", "split_aiv"), "SPMD"),
    "func_attr": "FUNC_ATTR",
    "yield_": "YIELD",
    "while_": "WHILE_LOOP",
}
_PLD = {"DistributedTensor": "TYPE", "WindowBufferType": "OPAQUE", "CommCtxType": "OPAQUE"}
_WORDS = {
    **{word: word.upper() for word in ["import", "from", "as", "class", "def", "return", "break", "continue", "pass"]},
    **{word: word.upper() for word in ["if", "elif", "else", "while", "for", "in", "with"]},
    "and": "OP",
    "or": "OP",
    "not": "NOT",
    "True": "BOOL",
    "False": "BOOL",
    "None": "NONE",
    "inf": "FLOAT",
    "nan": "FLOAT",
    "tuple": "TYPE",
}
_ENTRIES = {word: (type_, word) for word, type_ in _WORDS.items()}
_IMPORT = re.compile(r"^(?:import +pypto\.language +as +(\w+)|from +pypto +import +language +as +(\w+))", re.M)
_IMPORT_PLD = re.compile(r"^import +pypto\.language\.distributed +as +(\w+)", re.M)
# Dumps print the logical exclusive or as a word; elsewhere `xor` is a name like any other.
_XOR = re.compile(r"[\w)\]] xor [\w(\[]")


class Lexicon(dict[str, tuple[str, str]]):
    """Text of a word or dotted name -> (token type, value), for one import prefix.

    `pl.tile.and_` has the value `tile.and_`; `pld.` and `self.` stay. Filled as names are met. `imports` are the lines
    that give the prefixes."""

    def __init__(self, prefix: str, distributed: str) -> None:
        self.prefix = prefix
        self.distributed = distributed
        super().__init__(_ENTRIES)
        imports = (("pypto.language", prefix), ("pypto.language.distributed", distributed))
        self.imports = frozenset(f"import {m} as {n}" for m, n in imports if self[n][0] == "NAME")

    @property
    def key(self) -> tuple[str, str, bool]:
        """What the entries depend on."""
        return self.prefix, self.distributed, self["xor"][0] == "OP"

    @classmethod
    def of(cls, source: str) -> Lexicon:
        """The lexicon for the prefixes that `source` imports."""
        match, other = _IMPORT.search(source), _IMPORT_PLD.search(source)
        prefix = (match[1] or match[2]) if match else "pl"
        lexicon = cls(prefix, other[1] if other else "pld")
        if " xor " in source and _XOR.search(source):
            lexicon["xor"] = ("OP", "xor")
        return lexicon

    def __missing__(self, text: str) -> tuple[str, str]:
        head, dot, rest = text.partition(".")
        if not dot:
            found = ("KEYWORD" if keyword.iskeyword(text) else "NAME", text)
        elif any(map(keyword.iskeyword, text.split("."))):
            found = ("KEYWORD", text)
        elif head == self.prefix:
            found = (_PL.get(rest, "DOTTED"), rest)
        elif head == self.distributed:
            found = (_PLD.get(rest, "DOTTED"), f"pld.{rest}")
        elif head == "self":
            found = ("DOTTED", text)
        else:
            found = ("PATH", text)
        self[text] = found
        return found


def near(word: str, words: frozenset[str] | list[str]) -> str:
    """Of `words` those that look like `word`, as `A or B`; empty if none does."""
    from difflib import get_close_matches  # only a refusal needs it

    pool = sorted(words)
    lower = {item.lower(): item for item in reversed(pool)}
    found = [lower[item] for item in get_close_matches(word.lower(), sorted(lower), n=2, cutoff=0.6)]
    return " or ".join(found)
