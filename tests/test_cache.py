"""What is kept between processes changes the time, never the text."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

KERNELS = sorted((ROOT / "tests" / "kernels").glob("*.pyir"))
REPORT = (
    "import sys; from pypto_rw.cli import run; code = run(sys.argv[1:]);"
    " print(sorted({'egglog.bindings', 'lark'} & set(sys.modules)), file=sys.stderr); sys.exit(code)"
)


def lowered(cache: Path, kernel: Path, *options: str) -> tuple[str, str]:
    """The text of a kernel from a new process, and which of the two engines it imported."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, str(kernel), *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYPTO_RW_CACHE": str(cache)},
    )
    return done.stdout or done.stderr.rsplit("[", 1)[0], done.stderr.strip().rsplit("\n", 1)[-1]


@pytest.mark.parametrize("kernel", KERNELS[::5], ids=lambda k: k.stem)
def test_a_known_kernel_needs_no_engine(tmp_path: Path, kernel: Path) -> None:
    first = lowered(tmp_path, kernel)
    again = lowered(tmp_path, kernel)
    assert first[1] == "['egglog.bindings']"
    assert again == (first[0], "[]")
    assert lowered(Path(), kernel) == first  # an empty or relative name: nothing is kept


def test_a_refusal_is_kept_with_its_rule(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.pyir"
    readme = (ROOT / "tests" / "kernels" / "readme.pyir").read_text()
    kernel.write_text(readme.replace("pl.tile.muls(t, 0.5)", "pl.tile.not_(t)"))
    first, again = lowered(tmp_path / "cache", kernel), lowered(tmp_path / "cache", kernel)
    assert first[0] == again[0]
    assert "rule: tile/not_.egg" in first[0] or "rule: core/" in first[0], first[0]


def test_a_changed_rule_is_seen(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    (rules / "tile").mkdir(parents=True)
    own = rules / "tile" / "muls.egg"
    built_in = (ROOT / "rules" / "tile" / "muls.egg").read_text()
    kernel = ROOT / "tests" / "kernels" / "readme.pyir"
    plain = lowered(tmp_path / "cache", kernel)[0]
    own.write_text(built_in)
    assert lowered(tmp_path / "cache", kernel, "--rules", str(rules))[0] == plain
    own.write_text(built_in.replace("pto.tmuls", "pto.tadds"))
    changed = lowered(tmp_path / "cache", kernel, "--rules", str(rules))[0]
    assert changed == plain.replace("pto.tmuls", "pto.tadds") != plain
    assert lowered(tmp_path / "cache", kernel)[0] == plain


@pytest.mark.parametrize("damage", [b"", b"junk", b"\0" * 500])
def test_damage_is_harmless(tmp_path: Path, damage: bytes) -> None:
    kernel = KERNELS[0]
    first = lowered(tmp_path, kernel)[0]
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) > 3
    for path in files:
        whole = path.read_bytes()
        path.write_bytes(damage or whole[: len(whole) // 2])
    assert lowered(tmp_path, kernel)[0] == first
    assert lowered(tmp_path, kernel) == (first, "[]")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    first = lowered(tmp_path / "cache", KERNELS[0])[0]
    assert lowered(blocked / "below", KERNELS[0])[0] == first


def test_processes_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pypto_rw", str(KERNELS[0])]
    environment = {**os.environ, "PYPTO_RW_CACHE": str(tmp_path)}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT) for _ in range(4)]
    texts = {process.communicate()[0] for process in running}
    shutil.rmtree(tmp_path)
    assert texts == {lowered(tmp_path, KERNELS[0])[0].encode()}
