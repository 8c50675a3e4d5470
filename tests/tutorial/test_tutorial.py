"""The tutorial does what it says, and so does the README's "Adding an op"."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import ROOT, Run
from tests.rulelines import without_rule_lines
from tests.tutorial.pages import run

TUTORIAL = Path(__file__).parent / "tutorial.md"


def test_the_tutorial_prints_what_it_says(tmp_path: Path) -> None:
    page = TUTORIAL.read_text()
    assert without_rule_lines(run(page, tmp_path)) == without_rule_lines(page)
    assert "failed\n(exit" not in page and " 0 findings\n" in page


def test_the_readme_adds_an_op_in_four_steps(tmp_path: Path, pypto_rw_command: Run) -> None:
    section = re.split(r"^## ", (ROOT / "README.md").read_text(), flags=re.M)
    (steps,) = (s for s in section if s.startswith("Adding an op in four steps"))
    blocks = re.findall(r"^   ```\n(.*?)^   ```$", steps, re.M | re.S)
    text = "\n".join(block.replace("\n   ", "\n").removeprefix("   ") for block in blocks)
    rule = tmp_path / "tile" / "twice.egg"
    rule.parent.mkdir()
    rule.write_text(text)
    tested = pypto_rw_command("rules", "test", "tile/twice", "--rules", str(tmp_path))
    assert (tested.returncode, tested.stdout, tested.stderr) == (0, "2 examples, 0 failed\n", "")
    lint = pypto_rw_command("rules", "lint", "--rules", str(tmp_path))
    assert (lint.returncode, lint.stdout) == (0, "1 file, 0 findings\n")
    shown = TUTORIAL.read_text().partition("```file ops/tile/twice.egg\n")[2].partition("```")[0]
    assert text == shown
