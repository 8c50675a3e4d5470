"""Every printed line knows its statement and its rules; what stood for a statement is there, stage by stage."""

from __future__ import annotations

import pytest

from pypto_rw import api
from pypto_rw.explain import Explanation, explain
from pypto_rw.syntax import parse
from tests.conftest import ROOT

CHAIN = """import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, x: pl.Tensor[[64, 64], pl.INT32], y: pl.Out[pl.Tensor[[64, 64], pl.BF16]]):
        t = pl.load(x, [0, 0], [64, 64])
        for i in pl.range(4):
            u = pl.cast(t, pl.BF16)
            pl.store(u, [0, 0], y)
"""
KERNELS = sorted((ROOT / "tests" / "kernels").glob("*.pyir"))


def lowering(found: Explanation) -> list[tuple[int, str, list[str]]]:
    """Author's line, op and lowering rules of every line that is an op's."""
    rows = ((e.line, e.op, [r.name for r in e.rules if r.ruleset == "lowering"]) for e in found.lines if e.op)
    return list(rows)


def test_a_chain_of_casts_shows_what_stood_for_it() -> None:
    found = explain(CHAIN)
    (cast,) = (s for s in found.statements if s.line == 9)
    assert [(s.stage, s.text.split(" = ")[1]) for s in cast.steps if s.stage != "plan"] == [
        ("type", "pl.tile.cast(t, target_type=pl.BF16)"),
        ("legalize", "pl.tile.cast(t, target_type=pl.FP32, saturation_mode='off')"),
        ("legalize", "pl.tile.cast(u__cast_fp32_tmp_v0, target_type=pl.BF16)"),
    ]
    assert [q.replaced for q in cast.questions if q.stage == "legalize"] == [
        (
            '(instead (then (tile.cast t FP32 "round" "off" cast_fp32_tmp)'
            ' (tile.cast cast_fp32_tmp BF16 "round" "unset" result)))',
        ),
        (),
        (),
    ]
    assert "tile.cast/chain" in [r.name for r in cast.questions[0].rules if r.ruleset == "legalize"]
    assert [(e.text.split("(")[0].strip(), [r.name for r in e.rules if r.ruleset == "lowering"]) for e in cast.lines][
        1::2
    ] == [("pto.tcvt ins", ["tile.cast/native"])] * 2


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_every_line_of_an_op_has_a_statement_and_a_rule(path: object) -> None:
    source = ROOT.joinpath(str(path)).read_text()
    target = "a5" if "# target: a5" in source else "a2a3"
    found = explain(source, filename="k.pyir", target=target)
    assert found.mlir == api.lower(source, filename="k.pyir", target=target, loc=False).mlir
    assert [e.text for e in found.lines] == found.mlir.splitlines()
    shown = {e.number for s in found.statements for e in s.lines}
    for e in found.lines:
        if e.op:
            assert any(r.ruleset == "lowering" for r in e.rules), e
            assert e.line and e.number in shown, e
    for stage in found.stages:
        assert parse(stage.text)
        assert all(0 < line <= source.count("\n") + 1 for line, _ in stage.origins.values())


def test_places_are_those_of_the_printed_locations() -> None:
    """The line of an instruction is the one its `loc` says."""
    source = CHAIN
    found = explain(source, filename="k.pyir")
    located = api.lower(source, filename="k.pyir").mlir.splitlines()
    for e, text in zip(found.lines, located, strict=True):
        if "loc(" in text:
            assert text == f'{e.text} loc("k.pyir":{e.line}:{e.column})'


def test_a_refused_kernel_is_explained_as_far_as_it_came() -> None:
    found = explain(CHAIN.replace("INT32", "INT8"))
    assert found.mlir == ""
    assert [d.code for d in found.diagnostics] == ["no-route"]
    (cast,) = (s for s in found.statements if s.line == 9)
    assert [(q.stage, [rule for rule, _ in q.refused]) for q in cast.questions] == [("type", ["tile.cast/no-route"])]
    assert "tile.cast/no-route" in [r.name for r in cast.questions[0].rules]
