"""The measured pairs, where they are: `verify` takes what the assembler takes, and names the rule of a refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pypto_rw
from pypto_rw.diagnostics import Severity


def _errors(text: str, target: str, planner: str) -> list[pypto_rw.Diagnostic]:
    for other in ("a2a3", "a5"):
        text = text.replace(f'pto.target_arch = "{other}"', f'pto.target_arch = "{target}"')
    return [d for d in pypto_rw.verify(text, target=target, planner=planner) if d.severity is Severity.error]


def test_each_pair_is_told_apart_by_its_rule(corpus: Path) -> None:
    path = corpus.parent / "assembler/pairs.jsonl"
    if not path.exists():
        pytest.skip("the pairs are not here")
    wrong = []
    for line in path.read_text().splitlines():
        pair = json.loads(line)
        planner = "pypto" if pair["level"] == "level3" else "ptoas"
        for target in pair["target"]:
            if _errors(pair["accepted"], target, planner):
                wrong.append((pair["id"], target, "accepted text refused"))
            if not any(pair["id"] in d.rule.split() for d in _errors(pair["refused"], target, planner)):
                wrong.append((pair["id"], target, "refused text not refused by the rule"))
    assert wrong == []
