"""Names that become files, symbols, identifiers and literals."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import pypto_rw
from pypto_rw.ir import Function, Module
from pypto_rw.wrapper.names import Names, Unfit, source_path, symbol
from pypto_rw.wrapper.units import check_program
from tests.wrapper.conftest import PROGRAMS, Compiles, functions

HOSTILE = [
    "",
    ".",
    "..",
    "../up",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "C:x",
    'a"b',
    "a'b",
    "a\nb",
    "a\0b",
    "a b",
    "a;b",
    'a);system("x");//',
    "1a",
    "a.cpp",
    "größe",
    "a\u202eb",
    "x" * 300,
    "while",
    "kernel_entry",
    "$(id)",
    "%s",
    "-o",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_function_name_is_refused(name: str) -> None:
    with pytest.raises(Unfit):
        symbol(name)
    (found,) = check_program(Module(None, (Function(name, (), (), "AIV"),)), "x.pyir")
    assert found.code == "unfit-name"


@pytest.mark.parametrize("name", [n for n in HOSTILE if not n.isidentifier() or not n.isascii()])
def test_a_hostile_variable_name_is_refused(name: str) -> None:
    with pytest.raises(Unfit):
        Names().take(name)


@pytest.mark.parametrize("path", ["", "  ", "a\nb", "a\0b", "a\x1b[31m"])
def test_a_hostile_source_path_is_refused(path: str) -> None:
    with pytest.raises(Unfit):
        source_path(path)


def test_quotes_in_a_source_path_stay_in_the_literal(tmp_path: Path, standin: Path) -> None:
    source = (PROGRAMS / "several.pyir").read_text().replace("hand/cube.cpp", "a'b\\\"; import os")
    files = pypto_rw.build(source, tmp_path, filename="/x/y.pyir", ptoas=standin).files
    tree = ast.parse(files["next_levels/two/kernel_config.py"])
    kernels = tree.body[-1]
    assert isinstance(kernels, ast.Assign) and isinstance(kernels.value, ast.List)
    (entry,) = kernels.value.elts
    assert isinstance(entry, ast.Dict)
    texts = [v.value for v in entry.values if isinstance(v, ast.Constant)]
    assert texts == [0, "by_hand", "/x/a'b\"; import os", "aic", True]


WORDS = ["args", "params_t0", "alloc_0", "ext_x", "orch_args", "half", "task_0_outs", "int", "std", "indices"]


@pytest.mark.parametrize("word", WORDS)
def test_a_variable_may_have_a_name_that_the_text_uses(
    word: str, tmp_path: Path, standin: Path, parses: Compiles
) -> None:
    parts = functions((PROGRAMS / "loops.pyir").read_text())
    step = re.sub(r"\brow\b", word, parts["step"])
    run = re.sub(r"\be__ssa_v0\b", f"{word}__ssa_v0", re.sub(r"\bn\b", word, parts["run"]))
    pypto_rw.build(parts[""] + step + run, tmp_path, ptoas=standin)
    parses(tmp_path)


def test_an_extent_may_have_the_name_of_a_local(tmp_path: Path, standin: Path, parses: Compiles) -> None:
    source = (PROGRAMS / "arguments.pyir").read_text()
    source = re.sub(r"\bN\b", "flag_conv", re.sub(r"\brows\b", "n_tensor", source))
    files = pypto_rw.build(source, tmp_path, ptoas=standin).files
    extents = [line.strip() for line in files["kernels/aiv/mix.cpp"].splitlines() if line.startswith("    int64_t ")]
    assert extents == [
        "int64_t n = n_conv.val;",
        "int64_t n_tensor_1 = static_cast<int64_t>(double_1_tensor->shapes[0]);",
        "int64_t flag_conv_1 = (static_cast<int64_t>(double_1_tensor->shapes[1]) / 4);",
    ]
    parses(tmp_path)
