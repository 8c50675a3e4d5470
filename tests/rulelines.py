"""Built-in rule files change, and their lines move: what a test compares has `N` for them."""

from __future__ import annotations

import re

from tests.conftest import ROOT

_PLACE = re.compile(r"((?:[\w.]+/)+\w+\.egg)(:|#L)\d+")


def without_rule_lines(text: str) -> str:
    """`text` with `N` for the line of every rule of the built-in files; a rule file of a test's own keeps its lines."""

    def moved(place: re.Match[str]) -> str:
        path, mark = place.groups()
        name = path.rpartition("rules/")[2]
        return f"{path}{mark}N" if (ROOT / "rules" / name).is_file() else place[0]

    return _PLACE.sub(moved, text)
