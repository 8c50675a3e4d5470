"""`--disable-rule`, `--only-rules`, `--stats`: fewer rules, the same text, and nothing kept of such a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pypto_rw import api
from pypto_rw.inspection import Inspection
from pypto_rw.rewriting.watching import Watch
from tests.conftest import ROOT, Run
from tests.explain.test_records import CHAIN

KERNELS = sorted((ROOT / "tests" / "kernels").glob("*.pyir"))[::3]  # each is run rule by rule


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for what processes keep."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_rules_that_are_timed_one_by_one_print_the_same(path: Path) -> None:
    source = path.read_text()
    target = "a5" if "# target: a5" in source else "a2a3"
    inspection = Inspection(watch=Watch(timed=True))
    lowered = api.lower(source, filename="k.pyir", target=target, inspection=inspection)
    assert lowered.mlir == api.lower(source, filename="k.pyir", target=target).mlir
    matched = {rule for rule in inspection.watch.matches if not rule.endswith("/result")}  # of rule files
    assert matched and matched <= inspection.watch.seconds.keys()


def test_a_disabled_rule_is_missed_and_nothing_of_it_is_kept(kept: Path, pypto_rw_command: Run) -> None:
    before = pypto_rw_command("lower", "-", stdin=CHAIN)
    without = pypto_rw_command("lower", "-", "--disable-rule", "tile.cast/chain", stdin=CHAIN)
    assert (without.returncode, without.stdout) == (1, "")
    assert without.stderr.splitlines()[0].startswith("<stdin>:9:17: error[not-native]: tile.cast: on a2a3")
    after = pypto_rw_command("lower", "-", stdin=CHAIN)
    assert (after.returncode, after.stdout, after.stderr) == (0, before.stdout, "")


def test_what_was_kept_hides_no_disabled_rule(kept: Path, pypto_rw_command: Run) -> None:
    assert pypto_rw_command("lower", "-", stdin=CHAIN).returncode == 0
    assert pypto_rw_command("lower", "-", "--disable-rule", "tile.store/plain", stdin=CHAIN).returncode == 1


def test_only_some_rules(pypto_rw_command: Run) -> None:
    whole = pypto_rw_command("lower", "-", stdin=CHAIN)
    every = pypto_rw_command("lower", "-", "--only-rules", "tile.*/*", "--only-rules", "array*", stdin=CHAIN)
    assert (every.returncode, every.stdout) == (0, whole.stdout)
    some = pypto_rw_command("lower", "-", "--only-rules", "tile.load/*", stdin=CHAIN)
    assert some.returncode == 1
    assert some.stderr.splitlines()[0] == "<stdin>:9:17: error[no-type]: the type of u is not known"


def test_a_rule_that_is_not_there(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("lower", "-", "--disable-rule", "tile.cast/chains", stdin=CHAIN)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "pypto-rw: no rule is called 'tile.cast/chains'; the nearest are tile.cast/chain, tile.cast/operands,"
        " tile.cast/converting\n"
    )


def test_statistics_name_every_rule_that_matched(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("lower", "-", "--stats", "-o", "/dev/null", stdin=CHAIN)
    assert result.returncode == 0
    first, head, *rows = result.stderr.splitlines()
    assert first.split(",")[:2] == ["9 shapes", " 7 questions"]
    assert head.split() == ["matches", "ms", "rule"]
    found = {row.split()[-1]: row.split()[0] for row in rows if row.split()[0] != "0"}
    assert found["tile.cast/native"] == "2" and found["tile.cast/chain"] == "2"
    inspection = Inspection()
    api.lower(CHAIN, inspection=inspection)
    assert found.keys() == inspection.watch.matches.keys()
