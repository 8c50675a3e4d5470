"""`--depfile` under a real make and ninja, and `--watch` as a real process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT, Run

KERNEL = (ROOT / "tests/kernels/readme.pyir").read_text()
AUTHORED = (ROOT / "tests/kernels/readme_authored.pyir").read_text()
TWICE = """; tile.twice -- every element doubled
;
;   c = pl.tile.twice(a)   =>   pto.tadd ins(a, a) outs(c)
(operands "tile.twice" "tile:tile")
(result-rule "tile.twice" "first")
(rule ((= c (lower (call "tile.twice" args r))) (= a (item args 0)))
      ((union c (dps "pto.tadd" (vec-of a a) (vec-of r)))) :ruleset lowering :name "tile.twice/add")
"""
NAMES = ("k.pyir", "with space.pyir", "a#b$c.pyir", "colon:.pyir")
COMMAND = f"{sys.executable} -m pypto_rw"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A kernel that uses an op of its own rules folder, and one that does not."""
    (tmp_path / "rules/tile").mkdir(parents=True)
    (tmp_path / "rules/tile/twice.egg").write_text(TWICE)
    (tmp_path / "plain.pyir").write_text(AUTHORED)
    (tmp_path / "twice.pyir").write_text(AUTHORED.replace("pl.mul(t, 0.5)", "pl.tile.twice(t)"))
    return tmp_path


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _listed(depfile: Path) -> list[str]:
    """The prerequisites of the first rule, unescaped."""
    rule = depfile.read_text().split("\n\n")[0].replace("\\\n", " ")
    first = rule.split("\n")[0].partition(": ")[2]
    return [w.replace("\\", "").replace("$$", "$").strip() for w in first.replace("\\ ", "\0").split()]


def _relative(paths: list[str]) -> list[str]:
    """Built-in rule files, below the folder that has the grammar too: that of the command's own installation."""
    grammar = next(p for p in paths if p.endswith("/grammar/pyir.lark"))
    folder = f"{grammar.removesuffix('grammar/pyir.lark')}rules/"
    return [p.removeprefix(folder) for p in paths if p.startswith(folder)]


def test_what_is_listed(project: Path, pypto_rw_command: Run) -> None:
    done = pypto_rw_command("twice.pyir", "-o", "twice.pto", "--depfile", "twice.d", "--rules", "rules", cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    listed = _listed(project / "twice.d")
    assert listed[0] == "twice.pyir"
    assert {"rules/tile/twice.egg", "rules", "rules/tile"} <= set(listed)
    built_in = _relative(listed)
    assert {"tile/load.egg", "tile/store.egg", "instruction/tadd.egg", "target/a2a3.egg"} <= set(built_in)
    assert not {"tile/abs.egg", "instruction/tmuls.egg", "target/a5.egg"} & set(built_in)


@pytest.mark.parametrize("source", [KERNEL, AUTHORED], ids=["allocated", "authored"])
def test_the_cache_changes_nothing(
    source: str, tmp_path: Path, pypto_rw_command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYPTO_RW_CACHE", str(tmp_path / "cache"))
    (tmp_path / "k.pyir").write_text(source)
    texts = []
    for _ in range(3):
        pypto_rw_command("k.pyir", "-o", "k.pto", "--depfile", "k.d", cwd=tmp_path)
        texts.append((tmp_path / "k.d").read_text())
    monkeypatch.setenv("PYPTO_RW_CACHE", "")
    pypto_rw_command("k.pyir", "-o", "k.pto", "--depfile", "k.d", cwd=tmp_path)
    assert texts == [(tmp_path / "k.d").read_text()] * 3


def test_a_refused_kernel_leaves_the_depfile_alone(project: Path, pypto_rw_command: Run) -> None:
    (project / "twice.d").write_text("old")
    done = pypto_rw_command("twice.pyir", "-o", "twice.pto", "--depfile", "twice.d", cwd=project)
    assert (done.returncode, (project / "twice.d").read_text()) == (1, "old")


@pytest.mark.parametrize(
    "arguments", [("k.pyir",), ("-", "-o", "k.pto"), ("k.pyir", "l.pyir", "-o", "out")], ids=["no-o", "stdin", "two"]
)
def test_a_depfile_needs_one_file_and_one_output(arguments: tuple[str, ...], pypto_rw_command: Run) -> None:
    done = pypto_rw_command(*arguments, "--depfile", "k.d")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pypto-rw: --depfile ")


def _make(project: Path, outputs: list[str]) -> Callable[[], str]:
    rules = [f"all: {' '.join(outputs)}", f"%.pto: %.pyir\n\t{COMMAND} $< -o $@ --depfile $*.d --rules rules"]
    (project / "Makefile").write_text("\n".join([*rules, "-include $(wildcard *.d)"]) + "\n")
    return lambda: _built(["make", "--no-print-directory"], project)


def _ninja(project: Path, outputs: list[str]) -> Callable[[], str]:
    ninja = shutil.which("ninja") or shutil.which("ninja", path=str(Path(sys.executable).parent))
    if ninja is None:
        pytest.skip("no ninja here")
    lines = [
        "rule lower",
        f"  command = {COMMAND} $in -o $out --depfile $out.d --rules rules",
        "  depfile = $out.d",
        *(f"build {o}: lower {o.removesuffix('.pto')}.pyir" for o in outputs),
    ]
    (project / "build.ninja").write_text("\n".join(lines) + "\n")
    return lambda: _built([ninja, "-v"], project)


def _built(command: list[str], project: Path) -> str:
    """Which outputs were made, by the command lines that were shown."""
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, env=_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(o for o in ("plain", "twice") if f"pypto_rw {o}.pyir" in done.stdout)


@pytest.mark.parametrize("tool", [_make, _ninja], ids=["make", "ninja"])
def test_exactly_what_changed_is_built_again(
    tool: Callable[[Path, list[str]], Callable[[], str]], project: Path
) -> None:
    build = tool(project, ["plain.pto", "twice.pto"])
    rule = project / "rules/tile/twice.egg"

    def later(path: Path, text: str) -> None:
        time.sleep(1.1)  # the finest step that every file system and tool sees
        path.write_text(text)

    assert build() == "plain twice"
    assert build() == ""
    later(rule, TWICE.replace("pto.tadd", "pto.tmul"))
    assert build() == "twice"
    assert "pto.tmul" in (project / "twice.pto").read_text()
    later(project / "plain.pyir", AUTHORED.replace("0.5", "0.25"))
    assert build() == "plain"
    later(project / "rules/tile/muls.egg", (ROOT / "rules/tile/muls.egg").read_text())  # replaces the built-in file
    assert build() == "plain twice"
    (project / "rules/tile/muls.egg").unlink()  # no error about a file that is gone
    assert build() == "plain twice"
    assert build() == ""


@pytest.mark.parametrize("name", NAMES)
def test_names_are_escaped_for_make(name: str, tmp_path: Path, pypto_rw_command: Run) -> None:
    (tmp_path / name).write_text(KERNEL)
    pypto_rw_command(name, "-o", "out.pto", "--depfile", "k.d", cwd=tmp_path)
    (tmp_path / "Makefile").write_text("all: out.pto\n\t@:\nout.pto:\n\t@echo made\n\t@touch out.pto\n-include k.d\n")

    def made() -> str:
        done = subprocess.run(["make", "--no-print-directory"], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert made() == ""
    time.sleep(1.1)
    (tmp_path / name).write_text(KERNEL)
    assert made() == "made\n"


@contextmanager
def _watching(project: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    log = (project / "log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "pypto_rw", *arguments, "--watch"],
        cwd=project,
        stdout=log,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        log.close()


def _until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "nothing happened for a minute"
        time.sleep(0.05)


def test_watch_lowers_again_when_a_kernel_or_a_rule_changes(project: Path) -> None:
    out, log = project / "twice.pto", project / "log"

    def rounds() -> int:
        return log.read_text().count("; watching, Ctrl-C ends")

    with _watching(project, "twice.pyir", "-o", "twice.pto", "--no-loc", "--rules", "rules") as process:
        _until(lambda: rounds() == 1)
        first = out.read_text()
        assert "pto.tadd" in first
        (project / "rules/tile/twice.egg").write_text(TWICE.replace("pto.tadd", "pto.tmul"))
        _until(lambda: rounds() == 2)
        assert out.read_text() == first.replace("pto.tadd", "pto.tmul")
        good = (project / "twice.pyir").read_text()
        (project / "twice.pyir").write_text(good.replace("pl.load", "pl.laod"))
        _until(lambda: rounds() == 3)
        assert "error[unknown-op]" in log.read_text()
        assert out.read_text() == first.replace("pto.tadd", "pto.tmul")
        (project / "twice.pyir").write_text(good)
        _until(lambda: rounds() == 4)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert "Traceback" not in log.read_text()


def test_an_interrupt_while_it_lowers_leaves_no_half_text(project: Path) -> None:
    big = "        s = pl.mul(t, 0.5)\n"
    (project / "plain.pyir").write_text(AUTHORED.replace(big, big + "        s = pl.add(s, t)\n" * 400))
    with _watching(project, "plain.pyir") as process:
        time.sleep(0.7)
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does, to the process that lowers too
        assert process.wait(30) == 130
    said = (project / "log").read_text()
    assert said == "" or said.count("module attributes") == said.count("\n}\n")
    assert "Traceback" not in said


def test_watch_needs_a_file(pypto_rw_command: Run) -> None:
    done = pypto_rw_command("lower", "-", "--watch", stdin=KERNEL)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "pypto-rw: --watch needs a FILE\n")
