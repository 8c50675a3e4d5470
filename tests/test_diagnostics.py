"""Diagnostics in every form, `--keep-going`, and `-Werror`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from tests.conftest import ROOT, Run

KERNEL = (ROOT / "tests/kernels/readme_authored.pyir").read_text()
BAD = KERNEL.replace("pl.mul(t, 0.5)", "pl.mull(t, 0.5)")
BODY = KERNEL.split("class Scale:\n")[1]
MIXED = KERNEL + BODY.replace("def scale", "def bad").replace("pl.mul(t, 0.5)", "pl.mull(t, 0.5)")
WIDE = "w = pl.tile.full([1024, 64], dtype=pl.FP32, value=0.0)\n        s = pl.mul(t, 0.5)"
MIXED += BODY.replace("def scale", "def later").replace("s = pl.mul(t, 0.5)", WIDE)  # refused where memory is planned
SARIF = json.loads((ROOT / "tests/schemas/sarif-2.1.0-subset.json").read_text())
LINE = json.loads((ROOT / "pypto_rw/schemas/diagnostic.schema.json").read_text())
MISTAKE: dict[str, Any] = {
    "schema": 1,
    "file": "k.pyir",
    "line": 8,
    "column": 13,
    "end_line": 8,
    "end_column": 28,
    "severity": "error",
    "code": "unknown-op",
    "message": "there is no operation pl.mull",
    "help": "did you mean pl.mul? the nearest ops are tile.mul, tile.muls, tile.full",
    "rule": "",
    "function": "scale",
}


def _json(text: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for record in records:
        jsonschema.validate(record, LINE)
    return records


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.pyir").write_text(BAD)
    (tmp_path / "good.pyir").write_text(KERNEL)
    (tmp_path / "mixed.pyir").write_text(MIXED)
    return tmp_path


@pytest.mark.parametrize("command", ["memory", "fmt"])
def test_other_commands_tell_in_every_form(command: str, folder: Path, pypto_rw_command: Run) -> None:
    (folder / "k.pyir").write_text(KERNEL.replace("pl.mul(t", "pl.mul((t"))
    done = pypto_rw_command(command, "k.pyir", "--diagnostics", "json", cwd=folder)
    assert (done.returncode, done.stdout, [r["code"] for r in _json(done.stderr)]) == (1, "", ["unclosed-bracket"])


@pytest.mark.parametrize("command", ["lower", "check"])
def test_json_lines(command: str, folder: Path, pypto_rw_command: Run) -> None:
    done = pypto_rw_command(command, "k.pyir", "--diagnostics", "json", cwd=folder)
    assert (done.returncode, done.stdout, _json(done.stderr)) == (1, "", [MISTAKE])
    clean = pypto_rw_command("check", "good.pyir", "--diagnostics", "json", cwd=folder)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "")


def test_one_line_each(folder: Path, pypto_rw_command: Run) -> None:
    done = pypto_rw_command("check", "k.pyir", "--diagnostics", "short", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "k.pyir:8:13: error[unknown-op]: there is no operation pl.mull\n")


def test_sarif(folder: Path, pypto_rw_command: Run) -> None:
    arguments = ("--diagnostics", "sarif", "--diagnostics-file", "log.sarif")
    done = pypto_rw_command("check", "good.pyir", "k.pyir", *arguments, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    log = json.loads((folder / "log.sarif").read_text())
    jsonschema.validate(log, SARIF)
    run = log["runs"][0]
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == ["unknown-op"]
    assert run["results"] == [
        {
            "ruleId": "unknown-op",
            "ruleIndex": 0,
            "level": "error",
            "message": {"text": "there is no operation pl.mull\n\n" + MISTAKE["help"]},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "k.pyir"},
                        "region": {"startLine": 8, "startColumn": 13, "endLine": 8, "endColumn": 28},
                    },
                    "logicalLocations": [{"name": "scale", "kind": "function"}],
                }
            ],
        }
    ]
    clean = pypto_rw_command("check", "good.pyir", "--diagnostics", "sarif", cwd=folder)
    jsonschema.validate(json.loads(clean.stderr), SARIF)
    assert json.loads(clean.stderr)["runs"][0]["results"] == []


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
@pytest.mark.parametrize("command", ["lower", "check"])
def test_a_sarif_log_on_stderr_is_all_there_is(command: str, jobs: str, folder: Path, pypto_rw_command: Run) -> None:
    more = ("-o", "out", "--keep-going", jobs) if command == "lower" else ()
    done = pypto_rw_command(command, "k.pyir", "none.pyir", *more, "--diagnostics", "sarif", cwd=folder)
    log = json.loads(done.stderr)
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    assert [r["ruleId"] for r in run["results"]] == ["unknown-op"]
    assert (done.returncode, run["invocations"]) == (
        2,
        [
            {
                "executionSuccessful": False,
                "exitCode": 2,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": "cannot read none.pyir: No such file or directory"}}
                ],
            }
        ],
    )


def test_the_schema_of_the_test_takes_no_other_log() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": "2.1.0", "runs": [{"tool": {}}]}, SARIF)


def test_verify_and_build_tell_in_every_form(folder: Path, pypto_rw_command: Run) -> None:
    (folder / "t.pto").write_text("hello\n")
    done = pypto_rw_command("verify", "t.pto", "--diagnostics", "json", cwd=folder)
    assert (done.returncode, [r["code"] for r in _json(done.stderr)]) == (1, ["module-skeleton"])
    (folder / "k.pyir").write_text(BAD.replace("InCore", "AIV"))
    built = pypto_rw_command("build", "k.pyir", "-o", "out", "--skip-ptoas", "--diagnostics", "json", cwd=folder)
    assert (built.returncode, [r["code"] for r in _json(built.stderr)]) == (1, ["unknown-op"])


def test_a_file_that_cannot_be_written_is_a_file_fault(folder: Path, pypto_rw_command: Run) -> None:
    done = pypto_rw_command("check", "k.pyir", "--diagnostics-file", "no/such/file", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pypto-rw: cannot write no/such/file: No such file or directory\n"


def test_keep_going_prints_what_is_good(folder: Path, pypto_rw_command: Run) -> None:
    good = pypto_rw_command("lower", "good.pyir", "--no-loc", cwd=folder)
    without = pypto_rw_command("lower", "mixed.pyir", "--no-loc", cwd=folder)
    assert (without.returncode, without.stdout) == (1, "")
    done = pypto_rw_command("lower", "mixed.pyir", "--no-loc", "--keep-going", "--diagnostics", "json", cwd=folder)
    assert (done.returncode, done.stdout) == (1, good.stdout)
    told = [(r["function"], r["severity"], r["code"]) for r in _json(done.stderr)]
    assert told == [("bad", "error", "unknown-op"), ("later", "error", "memory-capacity")]


def test_keep_going_takes_the_good_files_of_many(folder: Path, pypto_rw_command: Run) -> None:
    (folder / "syntax.pyir").write_text(KERNEL.replace("pl.mul(t", "pl.mul((t"))
    files = ("k.pyir", "good.pyir", "mixed.pyir", "syntax.pyir")
    done = pypto_rw_command("lower", *files, "-o", "out", "--keep-going", "--diagnostics", "json", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["good.pto", "mixed.pto"]
    assert [r["file"] for r in _json(done.stderr)] == ["k.pyir", "mixed.pyir", "mixed.pyir", "syntax.pyir"]


def test_check_keeps_going_past_a_stage(folder: Path, pypto_rw_command: Run) -> None:
    first = pypto_rw_command("check", "mixed.pyir", "--diagnostics", "json", cwd=folder)
    every = pypto_rw_command("check", "mixed.pyir", "--keep-going", "--diagnostics", "json", cwd=folder)
    assert [r["code"] for r in _json(first.stderr)] == ["unknown-op"]
    assert [r["code"] for r in _json(every.stderr)] == ["unknown-op", "memory-capacity"]


def test_check_takes_werror(folder: Path, pypto_rw_command: Run) -> None:
    assert pypto_rw_command("check", "good.pyir", "-Werror", cwd=folder).returncode == 0
    assert pypto_rw_command("check", "k.pyir", "-Werror", cwd=folder).returncode == 1
