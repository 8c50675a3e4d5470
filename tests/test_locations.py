"""Source places on op lines: where they point, how a file name is escaped, that they are all `--no-loc` takes away."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from pypto_rw import lower
from tests.conftest import ROOT

KERNEL = (ROOT / "tests/kernels/readme.pyir").read_text()
_LOC = re.compile(r' loc\("(?:[^"\\]|\\.)*":\d+:\d+\)$', re.M)


def test_without_locations_the_text_is_the_same() -> None:
    located = lower(KERNEL, filename="k.pyir").mlir
    assert _LOC.sub("", located) == lower(KERNEL, filename="k.pyir", loc=False).mlir


def test_places_are_the_statement_and_the_call() -> None:
    text = lower(KERNEL, filename="k.pyir").mlir
    places = [(line.split(" = ")[0].split()[0], line.rsplit(" ", 1)[1]) for line in text.splitlines() if "loc(" in line]
    lines = KERNEL.splitlines()
    call = {n: lines[n - 1].index("pl.tile.") + 1 for n in (8, 9, 10)}
    assert places == [
        ("%x_view", 'loc("k.pyir":6:21)'),
        ("%y_view", f'loc("k.pyir":6:{lines[5].index("y: ") + 1})'),
        ("%t", 'loc("k.pyir":8:9)'),
        ("%x_pview", f'loc("k.pyir":8:{call[8]})'),
        ("pto.tload", f'loc("k.pyir":8:{call[8]})'),
        ("%s", 'loc("k.pyir":9:9)'),
        ("pto.tmuls", f'loc("k.pyir":9:{call[9]})'),
        ("%y_pview", f'loc("k.pyir":10:{call[10]})'),
        ("pto.tstore", f'loc("k.pyir":10:{call[10]})'),
    ]


def test_a_file_name_is_escaped() -> None:
    text = lower(KERNEL, filename='a"b\\c\n\t\x01.pyir').mlir
    assert 'loc("a\\"b\\\\c\\n\\t\\01.pyir":8:9)' in text.splitlines()[10]


def test_the_corpus_locations_are_reproduced(corpus: Path) -> None:
    """Up to SSA names; the reference re-types alloc addresses to index when it reads text, so those are made alike."""
    sys.path.insert(0, str(corpus.parent / "conformance"))
    import canon  # type: ignore[import-not-found]

    canon._LOC = re.compile(r"(?!)")  # keep the locations

    def alike(text: str) -> str:
        return str(canon.canon(text)).replace(":i64>", ":index>")

    wrong = []
    count = 0
    for area in ("compute", "control", "crosscore", "memory"):
        for expected in sorted((corpus / area).glob("*/expected.loc.pto")):
            want = expected.read_text()
            if '"input.pyir"' not in want:  # made from another file than the one at hand
                continue
            meta = json.loads((expected.parent / "meta.json").read_text())
            source = (expected.parent / "input.pyir").read_text()
            got = lower(
                source, filename="input.pyir", target=meta["target"], planner=meta["planner"], reference=True
            ).mlir
            count += 1
            if alike(got) != alike(want):
                wrong.append(expected.parent.name)
    assert (wrong, count > 20) == ([], True)
