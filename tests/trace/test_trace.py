"""The trace of a kernel: which lines belong together, which are new, its text, its page's bytes, its command."""

from __future__ import annotations

from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from pypto_rw.explain import explain
from pypto_rw.trace import Story, as_html, as_text, told
from pypto_rw.trace.changes import changed
from tests.conftest import Run
from tests.rulelines import without_rule_lines
from tests.trace.conftest import KERNEL


def story(source: str = KERNEL) -> Story:
    return told(explain(source, filename="traced.pyir"))


def origins(told: Story, stage: str) -> list[tuple[str, list[int]]]:
    """Each line's text and the lines of the source that it comes from."""
    (found,) = [s for s in told.stages if s.name == stage]
    return [(p.text, sorted({told.statements[o].line for o in p.origins})) for p in found.lines]


def test_every_line_of_the_source_belongs_to_its_statement() -> None:
    owners = {n: line for n, (_, (line, *_)) in enumerate((t, o or [0]) for t, o in origins(story(), "source"))}
    assert [owners[n] for n in range(18)] == [0, 0, 0, 0, 0, 6, 7, 8, 9, 10, 11, 10, 13, 14, 14, 14, 14, 18]


def test_lines_of_a_stage_come_from_statements() -> None:
    assert [(text.strip().split(" ")[0], lines) for text, lines in origins(story(), "type")] == [
        ("import", []),
        ("", []),
        ("@pl.program", []),
        ("class", []),
        ("@pl.function(type=pl.FunctionType.InCore)", []),
        ("def", [6]),
        ("t:", [7]),
        ("t__tmp_v0:", [8]),
        ("s:", [8]),
        ("for", [9]),
        ("if", [10]),
        ("s_2:", [11]),
        ("s_4:", [10]),
        ("else:", [10]),
        ("s_3:", [13]),
        ("s_4:", [10]),
        ("s_5:", [9]),
        ("h:", [14]),
        ("pl.tile.store(h,", [18]),
    ]


def test_a_brace_belongs_to_what_it_closes() -> None:
    shown = [(text, lines) for text, lines in origins(story(), "pto") if "{" in text[-1:] or text.strip() == "}"]
    assert [lines for _, lines in shown] == [[], [6], [9], [10], [10], [10], [9], [6], []]
    assert [text.strip().split(" ")[0] for text, _ in shown] == [
        "module",
        "func.func",
        "scf.for",
        "scf.if",
        "}",
        "}",
        "}",
        "}",
        "}",
    ]


def test_what_is_new_in_a_line() -> None:
    before = [("a = f(x)", 1), ("b = g(y)", 2), ("c = h(z)", 3)]
    now = [("  a = f(x)", 1), ("b: T = g(y)", 2), ("q = r()", 3), ("c = h(z)", 3), ("s = t()", None), ("a = f(x)", 9)]
    found = [
        None if parts is None else [now[k][0][a:b] for a, b in parts] for k, parts in enumerate(changed(before, now))
    ]
    assert found == [None, [": T"], ["q = r()"], None, ["s = t()"], ["a = f(x)"]]


def test_several_parts_of_a_line_may_be_new() -> None:
    (parts,) = changed([("t: A[B] = f(x)", 1)], [("    t: A[B, C] = f(x, m=D)", 1)])
    assert parts is not None
    assert ["    t: A[B, C] = f(x, m=D)"[a:b] for a, b in parts] == [", C", ", m=D"]


def test_a_line_that_lost_words_is_new_without_a_marked_part() -> None:
    assert changed([("f(a, b)", 1)], [("f(a)", 1)]) == [()]


def test_text(snapshot: SnapshotAssertion) -> None:
    assert without_rule_lines(as_text(story())) == snapshot


def test_the_page_is_the_same_every_time_and_names_no_folder() -> None:
    page = as_html(story())
    assert page == as_html(story())
    assert str(Path(__file__).resolve().parents[2]) not in page


def test_a_text_that_looks_like_markup_is_text() -> None:
    page = as_html(story(KERNEL.replace("        h = ", "        # </script><b>&amp;\n        h = ")))
    assert "</script><b>" not in page
    assert page.count("</script>") == 2
    assert "# &lt;/script&gt;&lt;b&gt;&amp;amp;" in page


def test_a_long_kernel_makes_a_page_below_a_megabyte() -> None:
    body = "".join(f"        t{k} = pl.add(t{k - 1}, t{k - 2})\n" for k in range(2, 300))
    head = KERNEL.split("        t = ")[0].replace("pl.FP16", "pl.FP32")
    loads = "        t0 = pl.load(x, [0, 0], [16, 64])\n        t1 = pl.load(x, [16, 0], [16, 64])\n"
    page = as_html(story(f"{head}{loads}{body}        pl.store(t299, [0, 0], y)\n"))
    assert len(page.encode()) < 1_000_000


def test_the_command_writes_text_and_pages(tmp_path: Path, pypto_rw_command: Run) -> None:
    kernel, page = tmp_path / "traced.pyir", tmp_path / "out.html"
    kernel.write_text(KERNEL)
    shown = pypto_rw_command("trace", "traced.pyir", cwd=tmp_path)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, as_text(story()), "")
    made = pypto_rw_command("trace", "traced.pyir", "-o", str(page), cwd=tmp_path)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    assert page.read_text() == as_html(story())
    made = pypto_rw_command("trace", "traced.pyir", "--text", "-o", str(page), cwd=tmp_path)
    assert (made.returncode, page.read_text()) == (0, as_text(story()))


def test_a_refused_kernel_is_traced_as_far_as_it_came(tmp_path: Path, pypto_rw_command: Run) -> None:
    kernel, page = tmp_path / "bad.pyir", tmp_path / "out.html"
    kernel.write_text(KERNEL.replace("[0, 0], [16, 64])", "[56, 0], [16, 64])"))
    made = pypto_rw_command("trace", "bad.pyir", "-o", str(page), cwd=tmp_path)
    assert (made.returncode, made.stdout) == (1, "")
    assert made.stderr.startswith("bad.pyir:7:13: error[past-end]: ")
    assert "past-end" in page.read_text()
    shown = pypto_rw_command("trace", "bad.pyir", cwd=tmp_path)
    assert shown.stdout == "bad.pyir for a2a3: refused before its first stage was done\n"


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path, pypto_rw_command: Run) -> None:
    missing = pypto_rw_command("trace", "no.pyir", cwd=tmp_path)
    assert (missing.returncode, missing.stderr) == (2, "pypto-rw: cannot read no.pyir: No such file or directory\n")
    (tmp_path / "traced.pyir").write_text(KERNEL)
    lost = pypto_rw_command("trace", "traced.pyir", "-o", "no/where.html", cwd=tmp_path)
    assert (lost.returncode, lost.stderr) == (2, "pypto-rw: cannot write no/where.html: No such file or directory\n")
    (tmp_path / "broken.pyir").write_text("def f(:\n")
    broken = pypto_rw_command("trace", "broken.pyir", "-o", "page.html", cwd=tmp_path)
    assert (broken.returncode, (tmp_path / "page.html").exists()) == (1, False)
