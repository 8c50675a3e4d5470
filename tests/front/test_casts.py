"""Every pair of dtypes as a whole kernel: the chain is that of the specification, or the refusal names the pair."""

from __future__ import annotations

import re

import pytest

from pypto_rw import CompileError
from pypto_rw.options import Options
from pypto_rw.pipeline import Task, run
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.syntax import parse, write
from tests.front.authored import kernel
from tests.rules.test_casts import DTYPES, SPEC, TARGETS, specified


@pytest.mark.skipif(not SPEC.exists(), reason="the specification is not beside the repository")
@pytest.mark.parametrize("target", TARGETS)
def test_every_pair_becomes_the_chain_of_the_specification(target: str) -> None:
    spelled = SPEC.read_text().split("\ndtype_names:")[1].split("\nmlir_names:")[0]
    names = dict(re.findall(r"^  (\w+): (\w+)$", spelled, re.M))
    options = Options.of(target=target)
    engine = Engine(Rulebook(), target=target, facts=options.facts)
    wrong = []
    for x in DTYPES:
        for y in (y for y in DTYPES if y != x):
            route = specified(target).get((x, y))
            source = kernel(
                f"x: <16x64 {x}>", f"t = pl.load(x, [0, 0], [16, 64])\nc = pl.cast(t, pl.{y}, mode='floor')"
            )
            try:
                text = write(run(parse(source), Task(engine, options, source), until="legalize"))
            except CompileError as refused:
                told = [f"{d.code}: {d.message}" for d in refused.diagnostics]
                words = (target, names[x], names[y])
                good = route is None and told[0].startswith("no-route: ") and all(w in told[0] for w in words)
                if not good:
                    wrong.append((x, y, route, told))
                continue
            found = re.findall(r"(\w+): pl\.Tile\[\[16, 64\], pl\.(\w+), .* = pl\.tile\.cast\(.*[( ]mode='(\w+)'", text)
            hops = [f"c__cast_{names[d]}_tmp_v{k}" for k, d in enumerate((route or [])[:-1])]
            expected = [(n, d, "floor") for n, d in zip([*hops, "c"], route or [], strict=False)]
            if route is None or found != expected:
                wrong.append((x, y, route, found))
    assert not wrong
