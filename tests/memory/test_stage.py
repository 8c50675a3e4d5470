"""Planning as a stage: who pays for it, what the command line shows of it, and the reference's own plans."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw import CompileError, ir
from pypto_rw.api import stop_after
from pypto_rw.memory import plan
from pypto_rw.records import replace
from pypto_rw.simplify import simplify
from pypto_rw.syntax import parse
from tests.conftest import ROOT, Run

PLANS = ROOT / "tests" / "memory" / "plans"
CHAIN = PLANS / "chain.pyir"


def test_an_allocated_kernel_does_not_import_the_planner() -> None:
    lowered = "import sys; from pypto_rw import lower; lower(open(sys.argv[1]).read())"
    told = f"{lowered}; print('pypto_rw.memory' in sys.modules)"
    for file, expected in (("tests/kernels/readme.pyir", "False\n"), (str(CHAIN), "True\n")):
        done = subprocess.run([sys.executable, "-c", told, file], capture_output=True, text=True, cwd=ROOT)
        assert (done.stdout, done.stderr) == (expected, "")


def test_a_function_with_allocations_is_left_alone() -> None:
    module = parse((ROOT / "tests" / "kernels" / "readme.pyir").read_text())
    assert plan(module, planner="pypto", target="a2a3") == module


def test_host_functions_are_left_alone() -> None:
    text = CHAIN.read_text().replace("type=pl.FunctionType.AIV", "type=pl.FunctionType.Orchestration")
    module = parse(text)
    assert plan(module, planner="pypto", target="a2a3") == module


def test_every_function_is_checked_before_giving_up() -> None:
    text = CHAIN.read_text()
    body = text[text.index("    @pl.function") :].replace("[32, 64], pl.FP32, pl.Mem", "[n, 64], pl.FP32, pl.Mem")
    two = parse(text[: text.index("    @pl.function")] + body + body.replace("def chain", "def second"))
    with pytest.raises(CompileError) as caught:
        plan(two, planner="pypto", target="a2a3")
    assert [(d.code, d.function) for d in caught.value.diagnostics] == [
        ("static-shape", "chain"),
        ("static-shape", "second"),
    ]


def test_stages_by_name() -> None:
    source = (PLANS / "stages.pyir").read_text()
    assert "[i * 64 + 64, 0]" in stop_after(source, stage="legalize").pyir
    with pytest.raises(ValueError, match=r"^unknown stage 'link'; known: .*plan$"):
        stop_after(source, stage="link")


def test_stop_after_prints_what_lowers_to_the_same_text(pypto_rw_command: Run, tmp_path: Path) -> None:
    planned = pypto_rw_command("lower", str(CHAIN), "--stop-after", "plan")
    assert (planned.returncode, planned.stderr) == (0, "")
    assert planned.stdout == stop_after(CHAIN.read_text(), stage="plan").pyir
    direct = pypto_rw_command("lower", str(CHAIN), "--no-loc")
    again = pypto_rw_command("lower", "-", "--no-loc", stdin=planned.stdout)
    assert direct.stdout == again.stdout != ""
    assert (
        pypto_rw_command(
            "lower", str(CHAIN), str(PLANS / "ring.pyir"), "--stop-after", "plan", "-o", str(tmp_path)
        ).returncode
        == 0
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["chain.pyir", "ring.pyir"]


def test_memory_command(pypto_rw_command: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    shown = pypto_rw_command("memory", str(PLANS / "reserved.pyir"), "--planner", "dsa_rp", "--target", "a5")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == snapshot(name="text")
    page = tmp_path / "page.html"
    assert pypto_rw_command("memory", str(PLANS / "reserved.pyir"), "--html", str(page)).returncode == 0
    assert page.read_text() == snapshot(name="page")
    assert ET.fromstring(page.read_text().split("\n", 1)[1]).tag == "html"
    allocated = pypto_rw_command("memory", "tests/kernels/loop_carries.pyir")
    assert allocated.stdout == snapshot(name="allocated")


def test_memory_command_refusals(pypto_rw_command: Run, tmp_path: Path) -> None:
    missing = pypto_rw_command("memory", str(tmp_path / "none.pyir"))
    assert (missing.returncode, missing.stdout) == (2, "")
    wrong = pypto_rw_command("memory", "-", stdin=CHAIN.read_text().replace("[32, 64]", "[2048, 64]"))
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "error[past-end]" in wrong.stderr
    several = pypto_rw_command("memory", str(CHAIN), str(CHAIN), "--html", str(tmp_path / "page.html"))
    assert (several.returncode, several.stderr) == (2, "pypto-rw: --html takes one kernel\n")


def test_index_sums_take_the_reference_form() -> None:
    i = ir.Name("i")
    before = ir.Binary("*", ir.Binary("+", i, ir.Int(1)), ir.Int(32))
    after = ir.Binary("+", ir.Binary("*", i, ir.Int(32)), ir.Int(32))
    call = ir.Call("f", (ir.Tuple((before, ir.Binary("-", ir.Int(7), ir.Int(2)))),))
    function = ir.Function("k", (), (ir.If(ir.Bool(True), (ir.Evaluate(call),)),))
    done = simplify(function)
    assert done.body == (ir.If(ir.Bool(True), (ir.Evaluate(replace(call, args=(ir.Tuple((after, ir.Int(5))),))),)),)
    assert simplify(done) is done


def test_plans_of_the_reference(corpus: Path) -> None:
    """Every plan of the corpus, allocation by allocation, but for the programs whose plan is a defect there."""
    count = 0
    for early in sorted((corpus / "memory").glob("*/early.pyir")):
        meta = json.loads((early.parent / "meta.json").read_text())
        allocated = early.parent / "input.pyir"
        if meta["status"] == "reference-defect" or not allocated.exists():
            continue
        module = parse(early.read_text())
        module = replace(module, functions=tuple(simplify(f) for f in module.functions))
        found = plan(module, planner=meta["planner"], target=meta["target"])
        if found == module:  # no tile in it
            continue
        assert found == parse(allocated.read_text()), early.parent.name
        count += 1
    assert count > 200
