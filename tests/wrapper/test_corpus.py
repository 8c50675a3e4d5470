"""The `wrapper` area of the conformance corpus, where it is there: every file, without comments and blank lines."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import pypto_rw
from pypto_rw.wrapper import BuildError
from pypto_rw.wrapper.preprocess import preprocess
from tests.conftest import ROOT
from tests.wrapper.conftest import Compiles

AREA = ROOT.parent / "shared" / "corpus" / "wrapper"
CASES = sorted(p.name for p in AREA.iterdir()) if AREA.is_dir() else []
_ADAPTER = re.compile(r"static __aicore__ void pypto_fail_completion\(.*?\n}\n.*?\n}\n", re.DOTALL)
_DIRECTIVE = re.compile(r"#\s*(include|if|ifn?def|elif|else|endif|define|error|undef)\b")


def _bare(text: str) -> list[str]:
    """Lines that are neither blank nor comments; the adapter elided, as in the corpus."""
    elided = _ADAPTER.sub("<DEFERRED_COMPLETION_ADAPTER>\n", text)
    kept = []
    for line in elided.splitlines():
        bare = line.strip()
        if bare and not bare.startswith("//") and (not bare.startswith("#") or _DIRECTIVE.match(bare)):
            kept.append(line.rstrip())
    return kept


def _target(case: Path, written: str) -> str:
    """The chip that the expected text is for; `meta.json` says a2a3 of every case."""
    for pto in sorted(case.glob("expected/**/ptoas/*.pto")):
        if m := re.search(r'target_arch = "(\w+)"', pto.read_text()):
            return m[1]
    return written


def _build(case: Path, out: Path, ptoas: Path) -> tuple[dict[str, str], BuildError | None]:
    meta = json.loads((case / "meta.json").read_text())
    source = (case / "input.pyir").read_text().replace("<CASE_DIR>", str(case))
    try:
        built = pypto_rw.build(
            source,
            out,
            filename="input.pyir",
            target=_target(case, meta["target"]),
            planner=meta["planner"],
            runtime=meta["runtime"],
            skip_ptoas=meta["skip_ptoas"],
            ptoas=ptoas,
            reference=True,
            loc=False,
        )
    except BuildError as error:
        return error.files, error
    return built.files, None


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, tmp_path: Path, standin: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    case = AREA / name
    meta = json.loads((case / "meta.json").read_text())
    if (case / "ptoas.cpp").exists():
        got = preprocess((case / "ptoas.cpp").read_text())
        assert _bare(got) == _bare((case / "expected.preprocessed.cpp").read_text())
        return
    monkeypatch.setenv("PTOAS_STANDIN", str(case / "ptoas_out"))
    sys.path.insert(0, str(corpus.parent / "conformance"))
    try:
        from canon import canon  # type: ignore[import-not-found]  # the corpus brings its own comparison
    finally:
        sys.path.pop(0)
    files, error = _build(case, tmp_path, standin)
    assert (error is not None) == (meta["status"] == "refused"), str(error)
    assert sorted(files) == meta["result_files"]
    for expected in sorted(p for p in (case / "expected").rglob("*") if p.is_file()):
        path = expected.relative_to(case / "expected")
        want = expected.read_text().replace("<CASE_DIR>", str(case)).replace("<OUTPUT_DIR>", str(tmp_path))
        got = (tmp_path / path).read_text()
        if path.suffix == ".pto":
            assert canon(got) == canon(want), path
        else:
            assert _bare(got) == _bare(want), path
    if error is not None:
        said = (case / "expected.error.txt").read_text().replace("<OUTPUT_DIR>", str(tmp_path))
        if "---\n" in said:
            assert str(error) == said.split("---\n", 1)[1].strip()
        else:
            facts = said.rsplit("message: ", 1)[1].strip().split(", ")
            shown = " ".join(str(error).replace("\n", " ").replace("|", " ").split())
            for fact in facts:
                if fact not in ("OUTPUT_DIR",) and not fact.startswith("[kernel.py"):
                    assert fact in shown, fact


BUILT = [n for n in CASES if (AREA / n / "input.pyir").exists()]
LANED = [n for n in BUILT if n.startswith(("mixed_", "subblock_"))]  # the others are the same as reference


@pytest.mark.parametrize(("name", "reference"), [*((n, False) for n in BUILT), *((n, True) for n in LANED)])
def test_every_file_parses(name: str, reference: bool, tmp_path: Path, standin: Path, parses: Compiles) -> None:
    case = AREA / name
    meta = json.loads((case / "meta.json").read_text())
    try:
        pypto_rw.build(
            (case / "input.pyir").read_text().replace("<CASE_DIR>", str(case)),
            tmp_path,
            target=_target(case, meta["target"]),
            planner=meta["planner"],
            ptoas=standin,
            reference=reference,
        )
    except BuildError as error:
        assert meta["status"] == "refused", str(error)
    parses(tmp_path)
