"""Cast routes of rules/core/casts.egg for every pair of dtypes; the specification is beside the repository."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook

SPEC = Path(__file__).parents[3] / "shared/spec/casts.yaml"
DTYPES = [
    *("INT4", "INT8", "INT16", "INT32", "INT64", "UINT4", "UINT8", "UINT16", "UINT32", "UINT64"),
    *("FP4", "HF4", "FP8E4M3FN", "FP8E5M2", "FP8E8M0", "HF8", "FP16", "BF16", "FP32"),
]
TARGETS = ("a2a3", "a5")


@cache
def specified(target: str) -> dict[tuple[str, str], list[str]]:
    """Routes of the specification: (from, to) -> the dtype after each instruction; absent without a route."""
    text = SPEC.read_text().split("\ntargets:")[1].split(f"\n  {target}:")[1].split("\n    rejected:")[0]
    native, chains = text.split("\n    chains:")
    routes: dict[tuple[str, str], list[str]] = {}
    for source, ends in re.findall(r"^      (\w+): \[(.*)\]", native, re.M):
        routes |= {(source, end): [end] for end in ends.split(", ")}
    source = ""
    for line in chains.splitlines():
        if m := re.match(r"      (\w+):$", line):
            source = m[1]
        elif m := re.match(r"        (\w+): \[(.*)\]", line):
            routes[source, m[1]] = m[2].split(", ")
    return routes


def tile(engine: Engine, dtype: str) -> str:
    """A type number for a 16 x 64 tile of `dtype`."""
    view = "(View (row_major) (none_box) 512 (pad-null) 0)"
    return f"(ty {engine.type_number(f'(Tile 16 64 (at 16) (at 64) ({dtype}) (Vec) {view})')})"


@cache
def routed(target: str) -> dict[tuple[str, str], str]:
    """What the rules say of every cast: "native", or the refusal's rule and message."""
    engine = Engine(Rulebook(), target=target, facts=("(addresses)", "(as-specified)"))
    engine.load_op("tile.cast")
    shapes = {}
    for x in DTYPES:
        for y in DTYPES:
            operand = f"(arg 0 {tile(engine, x)} (place 0 0 0 0) (plain))"
            result = f"(res {tile(engine, y)} (place 1 1 1 0))"
            shapes[x, y] = f'(tile.cast {operand} ({y}) "round" "unset" {result})'
    engine.rewrite(list(shapes.values()))
    out = {}
    for pair, shape in shapes.items():
        rewritten = engine.result(shape)
        said = [f for f in rewritten.findings if f.rule.startswith("tile.cast/")]
        out[pair] = f"{said[0].rule}: {said[0].message}" if said else "native" if rewritten.template else "nothing"
    return out


@pytest.mark.skipif(not SPEC.exists(), reason="the specification is not beside the repository")
@pytest.mark.parametrize("target", TARGETS)
def test_routes_are_those_of_the_specification(target: str) -> None:
    found = routed(target)
    spelled = SPEC.read_text().split("\ndtype_names:")[1].split("\nmlir_names:")[0]
    names = dict(re.findall(r"^  (\w+): (\w+)$", spelled, re.M))
    wrong = []
    for pair in ((x, y) for x in DTYPES for y in DTYPES if x != y):
        route = specified(target).get(pair)
        said = found[pair]
        if route is None:
            good = said.startswith("tile.cast/no-route: ")
        elif len(route) == 1:
            good = said == "native"
        else:
            # the rest of the route is that of its own pair, so first hop and length say all of it
            good = specified(target)[route[0], pair[1]] == route[1:] and said.endswith(
                f"takes {len(route)} instructions, the first to {names[route[0]]}"
            )
        if not good:
            wrong.append((pair, route, said))
    assert not wrong


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_cast_to_the_same_dtype_is_refused(target: str, dtype: str) -> None:
    assert routed(target)[dtype, dtype].startswith("tile.cast/same-dtype: ")


@pytest.mark.parametrize(
    ("target", "pair"),
    [("a2a3", ("UINT32", "FP32")), ("a5", ("UINT32", "FP32")), ("a5", ("FP16", "INT4"))],
)
def test_an_unreachable_pair_names_both_dtypes_and_the_target(target: str, pair: tuple[str, str]) -> None:
    message = routed(target)[pair]
    assert message.startswith("tile.cast/no-route: ")
    assert all(word in message for word in (target, *(p.lower() for p in pair)))
