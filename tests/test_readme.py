"""What the README says is true: its kernel, its output, its commands, its tutorial."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.conftest import ROOT, Run

README = (ROOT / "README.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def test_the_kernel_file_is_the_one_shown() -> None:
    names = ("readme.pyir", "readme_authored.pyir")
    assert [(ROOT / "tests/kernels" / name).read_text() for name in names] == _blocks("python")


def test_the_output_is_the_one_shown(pypto_rw_command: Run) -> None:
    for name in ("readme.pyir", "readme_authored.pyir"):
        result = pypto_rw_command(f"tests/kernels/{name}", "--no-loc")
        assert (result.returncode, result.stderr) == (0, "")
        assert [result.stdout] == _blocks("mlir")


def test_the_two_commands_are_what_ci_runs() -> None:
    install, test = _blocks("sh")
    assert "pypto-rw tests/kernels/readme.pyir" in install
    ci = (ROOT / ".ci/run").read_text()
    assert test.strip() in ci


def test_every_flag_of_the_table_exists(pypto_rw_command: Run) -> None:
    shown = set(re.findall(r"^\| `(--[\w-]+)", README, re.M))
    known = set(re.findall(r"--[\w-]+", pypto_rw_command("lower", "--help").stdout))
    assert shown and shown <= known


def test_every_command_of_the_synopsis_exists(pypto_rw_command: Run) -> None:
    (lines,) = re.findall(r"^```\n(pypto-rw.*?)^```$", README, re.M | re.S)
    for line in lines.splitlines():
        words = shlex.split(line.split("  ")[0].replace("[lower]", "lower"))
        command = [w for w in words[1:] if w.islower() and w.isalpha()]
        assert pypto_rw_command(*command, "--help").returncode == 0, line


def test_adding_an_op_works_as_told(tmp_path: Path, pypto_rw_command: Run) -> None:
    indented = re.findall(r"^   ```\n(.*?)^   ```$", README, re.M | re.S)
    rule = tmp_path / "tile" / "twice.egg"
    rule.parent.mkdir()
    rule.write_text("".join(re.sub(r"^   ", "", block, flags=re.M) for block in indented))
    result = pypto_rw_command("rules", "test", "tile/twice", "--rules", str(tmp_path))
    assert (result.returncode, result.stdout, result.stderr) == (0, "2 examples, 0 failed\n", "")
