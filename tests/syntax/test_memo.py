"""Reading with the line memo gives the tree, places included, that reading without it gives."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError
from pypto_rw.syntax import parse, write
from pypto_rw.syntax.memo import Memo
from tests.syntax.kernels import ALL, DUMP
from tests.syntax.modules import modules

CORPUS = sorted((Path(__file__).parents[3] / "shared" / "corpus").glob("*/*/*.pyir"))


def outcome(source: str, memo: bool) -> str:
    """The whole tree with all its spans, or the refusal."""
    try:
        return repr(parse(source, memo=memo))
    except CompileError as error:
        return str(error)


def same(source: str) -> None:
    assert outcome(source, True) == outcome(source, False)


@pytest.mark.parametrize("source", ALL)
def test_own_kernels(source: str) -> None:
    same(source)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(modules())
def test_random_modules(module: ir.Module) -> None:
    lines = write(module).split("\n")
    # Four of each line: templates are learned from the fourth on.
    same("\n".join(lines))
    same("\n".join([copy for line in lines for copy in ([line] * 5 if " = " in line else [line])]))


_NUMBERS = st.one_of(st.integers(0, 99), st.integers(0, 2**64)).map(str)
_TEXT = (
    "a x__ssa_v0 pl inf nan True None not abs self tuple ring BLOCK ring[0] a[1] a[i] 0.5 1e3 'x' "
    "pl.FP16 pl.Mem.Vec -3 pl.const(2,pl.FP16) pl.const(2,pl.INT8) helper(a) f((a)) 0x1F 007 1_0 é"
)
_WORDS = st.sampled_from(_TEXT.split())
_LINES = (
    "    v = pl.tile.add({}, {})",
    "    v: pl.Tile[[{}, 64], pl.FP32, pl.MemRef(m, {}, 64), pl.Mem.Vec] = t",
    "    {} = {}",
    "    {} = -{} + 1",
    "    v = {}   ",
    "    pl.tile.store({}, [{}, 0], y)",
    "    u, v = pl.yield_({}, {})",
    "    return {}, {}",
    "    pl.f({}, {}, mode='a#b')  # {}",
    "    v: pl.Tile[[16, 16], pl.FP32, pl.MemRef('r', slots={})[{}], pl.Mem.Vec] = t",
)


@st.composite
def _bodies(draw: st.DrawFn) -> str:
    form = draw(st.sampled_from(_LINES))
    filler = st.one_of(_NUMBERS, _WORDS)
    return "\n".join([form.format(draw(filler), draw(filler), 0) for _ in range(draw(st.integers(5, 8)))])


@settings(max_examples=150, deadline=None)
@given(_bodies())
def test_holes(body: str) -> None:
    """Whatever stands in the holes of a line: the memo reads it as the parser does, or leaves it alone."""
    head = "import pypto.language as pl\nBLOCK = 64\nring = pl.MemRef(slots=2)\n@pl.function\ndef f():\n"
    same(head + "    v = a\n" + body + "\n")
    for line in body.split("\n"):
        same(head + "\n".join(["    v = pl.tile.add(a, 1)"] * 5) + "\n" + line + "\n")


def test_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bool] = []
    plain = Memo.__call__

    def counted(self: Memo, text: str, number: int) -> ir.Stmt | None:
        statement = plain(self, text, number)
        read.append(statement is not None)
        return statement

    monkeypatch.setattr(Memo, "__call__", counted)
    parse(DUMP)
    assert sum(read) >= 6


def test_a_constant_is_no_hole() -> None:
    """A name may become a file-level constant after lines with that name were read."""
    lines = "".join(f"    t{n}: pl.Tile[[16, 16], pl.FP32, ring, pl.Mem.Vec] = pl.f(ring, {n})\n" for n in range(6))
    free = lines.replace(", ring, pl.Mem", ", pl.Mem")
    source = "import pypto.language as pl\n@pl.function\ndef f():\n" + free
    same(source + 'ring = pl.MemRef("ring", slots=2)\n@pl.function\ndef g():\n' + lines)


def test_a_local_name_for_a_record_is_no_hole() -> None:
    line = "    t{0}: pl.Tile[[16, 16], pl.FP32, {1}, pl.Mem.Vec] = pl.f({0}, {0})\n"
    plain = "".join(f"    t{n}: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec] = pl.f(v, w)\n" for n in range(6))
    function = "@pl.function\ndef f{}():\n{}    {} = pl.MemRef({})\n{}{}"
    for bound in ('"r"', "slots=2", "\n    slots=2)\n    (a"):
        source = "import pypto.language as pl\n" + "".join(
            function.format(n, plain, name, bound, plain.replace("v", name), line.format(7, name))
            for n, name in enumerate("vwv")
        )
        same(source)
    same("import pypto.language as pl\n" + function.format(0, plain, "v", "slots=2", "", plain))


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("a = pl.add(x, k =y)", "a = pl.add(x, attrs =y)"),
        ("a = pl.add(k =x, j =y)", "a = pl.add(k =x, k =y)"),
        ("b = pl.add([y], x,\tk\t=y)", "b = pl.add([y], x,\tattrs\t=y)"),
        ("pl.cond\t(x)", "pl.cond\t(y)"),
        ("a = [abs( )]", "b = [abs( )]"),
        ("a, b = pl.f(x == y)", "a, a = pl.f(x == y)"),
    ],
)
def test_what_only_looks_alike(known: str, new: str) -> None:
    head = "import pypto.language as pl\n@pl.function\ndef f(x: pl.Tensor[[64], pl.FP32]):\n    y = x\n"
    for _ in range(3):
        outcome(head + f"    {known}\n" * 6, True)
        same(head + f"    {known}\n" * 6 + f"    {new}\n")


def test_a_decorator_that_goes_on() -> None:
    line = "@pl.function(type=pl.FunctionType.AIV) \\\n"
    for _ in range(3):
        outcome(f"import pypto.language as pl\n{line}\ndef f():\n    pl.f()\n", True)
    same(f"import pypto.language as pl\n{line}def f():\n    pl.f()\n")


def test_types_are_shared() -> None:
    module = parse(DUMP)
    annotations = [s.type for s in ir.statements(module.functions[0].body) if isinstance(s, ir.Assign)]
    assert len({id(t) for t in annotations}) == len(set(annotations))


@pytest.mark.skipif(not CORPUS, reason="the corpus is not beside the repository")
def test_corpus() -> None:
    for path in CORPUS[::4]:
        same(path.read_text(encoding="utf-8"))


_A = "pl.Tensor[[64], pl.FP32]"
_KNOWN = f"def k(self, x: {_A}, y: pl.Out[{_A}], n: pl.Scalar[pl.INDEX]) -> {_A}:"
_HEADS = (
    _KNOWN,
    f"def k(self, y: {_A}) -> pl.Tuple[{_A}, {_A}]:",
    f"def k(self, y: {_A}) -> pl.Out[{_A}]:",
    f"def k(self, y: {_A}):  # a note",
    f"def k(self, y: {_A}): return",
    f"def k(self,y: {_A} , x:{_A}) ->{_A} :",
    f"def k(self, y: {_A}, ):",
    f"def k(self, y: {_A}, y: {_A}):",
    f"def k(self, *y: {_A}):",
    f"def k(self, *y: {_A}, x: {_A}):",
    f"def k(self, y: {_A}, x):",
    f"def k(x: {_A}, self):",
    f"def k(self: {_A}):",
    f"def k(y: {_A} = 1):",
    f"def k(self, pl.y: {_A}):",
    f"def k(self, for: {_A}):",
    f"def k(self, \xe9: {_A}):",
    f"def k.l(self, y: {_A}):",
    f"def class(self, y: {_A}):",
    f"def k (self, y: {_A}):",
    f"def k(self, y: {_A}) ->  {_A}:",
    f"def k(self, y: {_A}))) -> {_A}:",
    "def k(self):",
    "def k():",
    "def k(:",
)
_DECORATORS = (
    "@pl.function(type=pl.FunctionType.AIV)",
    "@pl.function(type=pl.FunctionType.AIV, attrs={'split': 1})",
    "@pl.function(type=pl.FunctionType.AIV, x=f(1))",
    "@pl.function(type=pl.FunctionType.AIV)  # a note",
    "@pl.function(type=N)",
    "@pl.function",
    "@pl.program",
    "@pl.function(type=\n        pl.FunctionType.AIV)",
)


_CLASSES = (
    "class K:",
    "class L :",
    "class K():",
    "class K(Base):",
    "class K:  # a note",
    "class K",
    "class for:",
    "class K.L:",
    "class \xe9:",
    "class 1:",
    "class :",
    "class K::",
    "class K: return",
)
_IMPORTS = (
    "import pypto.language as pl",
    "import pypto.language as pl  # a note",
    "import pypto.language as for",
    "import pypto.language as P",
    "import pypto.language",
    "import pypto.language.distributed as pld",
    "import pypto.language.distributed as pl",
    "import pypto.language as pl, os",
    "import numpy as np",
    "  import pypto.language as pl",
)


@pytest.mark.parametrize("line", [*_CLASSES, *_IMPORTS])
def test_lines_at_file_level(line: str) -> None:
    source = _headed(_DECORATORS[0], _KNOWN)
    same(source)
    same(source.replace("class K:" if line in _CLASSES else "import pypto.language as pl", line))
    same(source.replace("\n\n\n", f"\n{line}\n\n", 1))
    same(source.replace("        return", f"        {line}"))


@pytest.mark.parametrize("decorator", _DECORATORS)
def test_decorators(decorator: str) -> None:
    same(_headed(decorator, _KNOWN))
    same("\n" + _headed(decorator, _KNOWN))  # as it was read before, one line further down
    same(_headed(decorator, _KNOWN).replace("@pl.program", f"@pl.program\n{decorator}"))
    same(_headed(decorator, _KNOWN).replace("@pl.program", "N = 3\n\n\n@pl.program"))


@pytest.mark.parametrize("head", _HEADS)
def test_headers(head: str) -> None:
    same(_headed(_DECORATORS[0], _KNOWN))
    same(_headed(_DECORATORS[0], head))
    same(_headed(_DECORATORS[0], head).replace("@pl.program", f"x = {_A}\n\n\n@pl.program"))


def _headed(decorator: str, head: str) -> str:
    return f"import pypto.language as pl\n\n\n@pl.program\nclass K:\n    {decorator}\n    {head}\n        return\n"


def test_a_constant_is_what_its_own_file_says() -> None:
    body = "".join(
        f"    t{n}: pl.Tile[[16, N], pl.FP32, pl.Mem.Vec] = pl.load(x, [{n}, N], [16, N // 2])\n" for n in range(6)
    )
    function = f"@pl.function\ndef f(x: pl.Tensor[[16, N], pl.FP32], y: pl.Out[pl.Tensor[[N, N], pl.FP32]]):\n{body}"
    meanings = (
        "N = 64\n",
        "N = 32\n",
        "N = 32.0\n",
        'N = pl.dynamic("N")\n',
        'N = pl.dynamic("M")\n',
        "M = 8\nN = 2 * M\n",
        "N = [64]\n",
        "N = 64\nN = 32\n",
        "",
    )
    for meaning in (*meanings, *meanings):
        same(f"import pypto.language as pl\n{meaning}{function}")
    for first, second in pairwise(meanings):
        same(f"import pypto.language as pl\n{first}{function}{second}{function.replace('def f', 'def g')}")
