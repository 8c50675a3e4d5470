"""Authored kernels in short, and what the front stages make of them."""

from __future__ import annotations

import re
from textwrap import dedent, indent

import pytest

from pypto_rw import CompileError, ir, lower
from pypto_rw.options import Options
from pypto_rw.pipeline import Task, run
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.syntax import parse, write
from tests.rulelines import without_rule_lines


def kernel(parameters: str, body: str, *, kind: str = "InCore", dynamic: str = "") -> str:
    """A file with one kernel; parameters as `x: <16x64 FP32>, y: Out <16x64 FP32>, n: INDEX`, one a comma."""

    def tensor(m: re.Match[str]) -> str:
        shape, dtype, view = m.groups()
        return f"pl.Tensor[[{', '.join(re.split(' ?x ?', shape))}], pl.{dtype}{', ' + view if view else ''}]"

    text = re.sub(r"<([^<>]+?) ([A-Z]+[0-9]*(?:E\dM\d(?:FN)?)?)(?:, ([^<>]*))?>", tensor, parameters)
    text = re.sub(r": (Out|InOut) (pl\.Tensor\[\[.*?\], pl\.\w+[^\[\]]*\])", r": pl.\1[\2]", text)
    text = re.sub(r": ([A-Z]+\d*)(?=,|$)", r": pl.Scalar[pl.\1]", text)
    head = "".join(f'{n} = pl.dynamic("{n}")\n' for n in dynamic.split())
    code = (
        f"@pl.function(type=pl.FunctionType.{kind})\ndef kernel(self, {text}):\n{indent(dedent(body).strip(), '    ')}"
    )
    return f"import pypto.language as pl\n\n{head}\n@pl.program\nclass Kernels:\n{indent(code, '    ')}\n"


def module(
    source: str, until: str, *, target: str = "a2a3", planner: str = "pypto", reference: bool = False
) -> ir.Module:
    """The module after a stage."""
    options = Options.of(filename="kernel.pyir", target=target, planner=planner, reference=reference)
    engine = Engine(Rulebook(), target=target, facts=options.facts)
    return run(parse(source, filename="kernel.pyir"), Task(engine, options, source), until=until)


def body(source: str, until: str, *, target: str = "a2a3", reference: bool = False) -> str:
    """The statements of the only function after a stage, as text."""
    text = write(module(source, until, target=target, reference=reference))
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.lstrip().startswith("def "))
    return dedent("\n".join(lines[start + 1 :])) + "\n"


def refusal(source: str, target: str = "a2a3") -> str:
    """The rendered error of a kernel that must be refused, without the lines of the built-in rules that refused it."""
    with pytest.raises(CompileError) as caught:
        lower(source, filename="kernel.pyir", target=target)
    return without_rule_lines(str(caught.value))
