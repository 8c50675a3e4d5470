"""The command line's contract: streams, exit codes, whole files or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, Run

KERNEL = (ROOT / "tests/kernels/readme.pyir").read_text()
BAD = KERNEL.replace("pl.tile.muls(t, 0.5)", "pl.tile.muls(x, 0.5)")
TWO = KERNEL + KERNEL.split("class Scale:\n")[1].replace("def scale", "def again")


def test_stdin_to_stdout(pypto_rw_command: Run) -> None:
    piped = pypto_rw_command("--no-loc", stdin=KERNEL)
    named = pypto_rw_command("lower", "tests/kernels/readme.pyir", "--no-loc")
    assert (piped.returncode, piped.stderr) == (0, "")
    assert piped.stdout == named.stdout


def test_a_refusal_is_on_stderr_and_exits_1(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("-", stdin=BAD)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "<stdin>:9:98: error[operand-kind]: tile.muls: lhs must be a tile, but x is a tensor\n"
        f"    9 | {BAD.splitlines()[8]}\n"
        "      | " + " " * 97 + "^" * len("pl.tile.muls(x, 0.5)") + "\n"
        "  help: load the tensor into a tile first (pl.load), or store the tile (pl.store)\n"
    )


def test_an_output_file_is_whole_or_untouched(tmp_path: Path, pypto_rw_command: Run) -> None:
    out = tmp_path / "k.pto"
    good = tmp_path / "good.pyir"
    good.write_text(KERNEL)
    assert pypto_rw_command("good.pyir", "-o", "k.pto", cwd=tmp_path).returncode == 0
    before = out.read_text()
    assert before.startswith("module attributes")
    good.write_text(BAD)
    assert pypto_rw_command("good.pyir", "-o", "k.pto", cwd=tmp_path).returncode == 1
    assert out.read_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["good.pyir", "k.pto"]


def test_several_files_go_into_a_folder(tmp_path: Path, pypto_rw_command: Run) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.pyir").write_text(KERNEL)
    result = pypto_rw_command("a.pyir", "b.pyir", "-o", "out", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.pto", "b.pto"]


def test_functions_print_in_name_order_and_can_be_chosen(pypto_rw_command: Run) -> None:
    both = pypto_rw_command("-", "--no-loc", stdin=TWO)
    assert [line.split("(")[0].strip() for line in both.stdout.splitlines() if "func.func" in line] == [
        "func.func @again",
        "func.func @scale",
    ]
    one = pypto_rw_command("-", "--no-loc", "--function", "scale", stdin=TWO)
    assert one.stdout == pypto_rw_command("-", "--no-loc", stdin=KERNEL).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-file.pyir",),
        ("--target", "a7"),
        ("-", "--function", "nobody"),
        ("fmt", "no-such-file.pyir"),
        ("rules",),
    ],
)
def test_usage_and_file_faults_exit_2(arguments: tuple[str, ...], pypto_rw_command: Run) -> None:
    result = pypto_rw_command(*arguments, stdin=KERNEL)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr and "Traceback" not in result.stderr


def test_check_prints_nothing_and_tells_by_its_exit_code(pypto_rw_command: Run) -> None:
    good = pypto_rw_command("check", "-", stdin=KERNEL)
    assert (good.returncode, good.stdout, good.stderr) == (0, "", "")
    bad = pypto_rw_command("check", "-", stdin=BAD)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith("<stdin>:9:98: error[operand-kind]: ")


def test_fmt_is_stable_and_keeps_the_meaning(tmp_path: Path, pypto_rw_command: Run) -> None:
    once = pypto_rw_command("fmt", "-", stdin=KERNEL)
    assert once.returncode == 0
    assert pypto_rw_command("fmt", "-", stdin=once.stdout).stdout == once.stdout
    lowered = [pypto_rw_command("-", "--no-loc", stdin=text).stdout for text in (KERNEL, once.stdout)]
    assert lowered[0] == lowered[1]
    file = tmp_path / "k.pyir"
    file.write_text(once.stdout.replace("[0, 0]", "[0,  0]"))
    assert pypto_rw_command("fmt", "--check", "k.pyir", cwd=tmp_path).returncode == 1
    assert pypto_rw_command("fmt", "-w", "k.pyir", cwd=tmp_path).returncode == 0
    assert file.read_text() == once.stdout


def test_an_internal_fault_exits_3_with_a_reproducer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pypto_rw import api, cli

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a fault")

    monkeypatch.setattr(api, "lower", fail)
    assert cli.run(["lower", "tests/kernels/readme.pyir"]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    folder = Path(told.err.split("; ")[1].split(" has the input")[0])
    assert (folder / "kernel.pyir").read_text() == KERNEL
    assert "AssertionError: a fault" in (folder / "traceback.txt").read_text()


def test_random_edits_are_lowered_or_refused_with_a_place() -> None:
    """Every edit of a valid kernel compiles or is refused at a line; nothing else escapes."""
    import random
    import re

    from pypto_rw import CompileError, lower

    words = [
        "pl.FP16",
        "pl.INT32",
        "[16, 64]",
        "0",
        "-1",
        "pl.Mem.Mat",
        "None",
        "x",
        "pl.tile.add",
        "pl.const(3, pl.INT8)",
    ]
    kernels = [p.read_text() for p in sorted((ROOT / "tests/kernels").glob("*.pyir"))]
    random_ = random.Random(7)
    for _ in range(150):
        pieces = re.split(r"(\W)", random_.choice(kernels))
        for _ in range(random_.randint(1, 3)):
            at = random_.randrange(len(pieces))
            pieces[at] = random_.choice(["", random_.choice(words), pieces[at] * 2])
        try:
            lower("".join(pieces), target=random_.choice(["a2a3", "a5"]))
        except CompileError as error:
            assert error.diagnostics and all(d.span for d in error.diagnostics), str(error)


def test_fmt_does_not_lose_remarks(tmp_path: Path, pypto_rw_command: Run) -> None:
    remarked = KERNEL.replace("        buf:", '        """Halves."""\n        # why\n        buf:')
    (tmp_path / "k.pyir").write_text(remarked)
    result = pypto_rw_command("fmt", "-w", "k.pyir", cwd=tmp_path)
    kept = (tmp_path / "k.pyir").read_text()
    if result.returncode == 2:
        assert kept == remarked
        assert result.stderr.startswith("pypto-rw: k.pyir: not rewritten, ")
    else:
        assert '"""Halves."""' in kept and "# why" in kept
    shown = pypto_rw_command("fmt", "k.pyir", cwd=tmp_path)
    lost = ('"""Halves."""' not in shown.stdout) + ("# why" not in shown.stdout)
    what = "comment or docstring" if lost == 1 else "comments or docstrings"
    warning = f"pypto-rw: k.pyir: warning: {lost} {what} left out\n"
    assert (shown.returncode, shown.stderr) == (0, warning if lost else "")


def test_verify_takes_the_target_of_the_module(pypto_rw_command: Run) -> None:
    text = pypto_rw_command("-", "--target", "a5", stdin=KERNEL).stdout
    result = pypto_rw_command("verify", "-", stdin=text)
    assert (result.returncode, result.stderr) == (0, "")


def test_verify_of_something_else(pypto_rw_command: Run) -> None:
    for text in ("", "hello\n"):
        result = pypto_rw_command("verify", "-", stdin=text)
        assert (result.returncode, result.stdout) == (1, "")
        assert "error[module-skeleton]: the text does not start with a module" in result.stderr.splitlines()[0]


def test_rules_list_of_an_unknown_op(pypto_rw_command: Run) -> None:
    result = pypto_rw_command("rules", "list", "tile.lod")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "pypto-rw: no op tile.lod; the nearest are tile.load, tile.log, tile.fmod\n"
