"""Every code of the assembler's rules has a page, and every page's texts are reported and accepted as it says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

import pypto_rw
from pypto_rw.assembler.families import FAMILIES
from pypto_rw.codes import Sample, codes, page
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.rulefile import statements
from tests.conftest import ROOT

_FAMILIES = ROOT / "pypto_rw/assembler"
CODES = [c for c in codes() if c.startswith(("ptoas-", "device-")) and c != "ptoas-failed"]  # that one: the build


def _codes(sample: Sample) -> set[str]:
    """Codes of the assembler and the device; the verifier may say the same of a `.pto` text in its own words."""
    options = dict(sample.options)
    target, planner = options.get("target", "a2a3"), options.get("planner", "pypto")
    found: Sequence[pypto_rw.Diagnostic]
    if sample.lowered:
        found = pypto_rw.verify(sample.text, target=target, planner=planner)
    else:
        found = pypto_rw.check(sample.text, target=target, planner=planner)
    return {d.code for d in found if d.code.startswith(("ptoas-", "device-"))}


@pytest.mark.parametrize("code", CODES)
def test_a_page_shows_what_is_reported_and_what_is_not(code: str) -> None:
    shown = page(code)
    assert shown is not None
    assert _codes(shown.reported) == {code}
    assert _codes(shown.accepted) == set()


def test_every_code_of_the_rules_has_a_page_and_no_page_is_left_over() -> None:
    book = Rulebook()
    used = set()
    for name in book.names():
        if name.startswith("instruction/"):
            file = book.file(name)
            assert file is not None
            used |= {a[3] for head, a in statements(file.text) if head == "demand"}
    for path in sorted(_FAMILIES.glob("*.py")):
        used |= set(re.findall(r'"((?:ptoas|device)-[a-z-]*[a-z])"', path.read_text()))
    assert used - FAMILIES.keys() == set(CODES)
