"""Whether two texts say the same, and where not.

    line      a line in canonical form: its words, and which of them are names
    pto, pyir a text to such lines, without what does not count (places, layout, names and order of constants)
    align     which lines of two texts stand for one another, in about linear time
    show      the differing lines with their numbers

`.pto` texts are equal modulo names of SSA values, names and order of constants, places and white space; `.pyir` texts
modulo names of variables, order of module-level constants, comments, and layout."""

from __future__ import annotations

from pypto_rw.differences.align import Pair, aligned
from pypto_rw.differences.line import Line, canonical, raw
from pypto_rw.differences.show import shown

__all__ = ["Line", "Pair", "aligned", "canonical", "difference", "is_pto", "lines_of", "raw"]


def lines_of(text: str, filename: str, *, exact: bool = False) -> list[Line]:
    """The lines of a `.pto` or `.pyir` text; `exact`: as they are. Raises CompileError for a `.pyir` that is none."""
    if exact:
        return raw(text)
    if is_pto(text):
        from pypto_rw.differences.pto import read as read_pto

        return read_pto(text)
    from pypto_rw.differences.pyir import read as read_pyir  # a .pto needs no parser

    return read_pyir(text, filename)


def is_pto(text: str) -> bool:
    """Whether a text is MLIR; comments may come first."""
    for line in text.split("\n"):
        word = line.strip()
        if word and not word.startswith("//"):
            return word.startswith(("module", "func.func"))
    return False


def difference(a: list[Line], b: list[Line]) -> str:
    """What differs, as text that ends in a line feed; "" for equal texts."""
    if canonical(a) == canonical(b):
        return ""
    return shown(aligned(a, b))
