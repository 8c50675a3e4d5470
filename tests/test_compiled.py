"""Templates that are printed often are compiled: they print what their steps print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pypto_rw import CompileError, InternalError, api, lower
from pypto_rw.lowering import compiled, emit
from pypto_rw.rewriting.template import Template
from pypto_rw.shaping.operands import Const, Instance, Var
from tests.bench.kernels import KERNELS

_HERE = Path(__file__).parent
_FILES = sorted([*(_HERE / "kernels").glob("*.pyir"), *(_HERE / "memory" / "plans").glob("*.pyir")])


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A process that has printed nothing."""
    monkeypatch.setattr(api, "_engines", {})
    yield monkeypatch


def _said(source: str, **options: str) -> object:
    try:
        done = lower(source, **options)  # type: ignore[arg-type]
    except CompileError as error:
        return error.diagnostics
    return done.mlir, done.diagnostics


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_a_compiled_template_prints_what_its_steps_print(planner: str, printed: pytest.MonkeyPatch) -> None:
    texts = [path.read_text() for path in _FILES] + [KERNELS[name](40) for name in KERNELS]
    every = [(t, {"target": "a5" if "# target: a5" in t else "a2a3", "planner": planner}) for t in texts]
    printed.setattr(emit.Emitter, "compiles", False)
    plain = [_said(text, **options) for text, options in every]
    printed.setattr(emit.Emitter, "compiles", True)
    printed.setattr(emit, "_OFTEN", 0)
    compiled._runs.clear()
    assert [_said(text, **options) for text, options in every] == plain
    assert 20 < len(compiled._runs) < 200  # one for many templates
    assert sum(isinstance(p, tuple) and isinstance(p[0], str) for p in plain) > 30


_SUM = ("tmp", 0, ("arg", 0), "_sum", "f32")
_RESULT = ("becomes", ("res", "f32"), _SUM)
_ALL = ("group", (("held", "all"), ("arg", 0)))


def _line(dest: object, values: tuple[object, ...], text: str, *holes: tuple[int, bool]) -> tuple[object, ...]:
    first, *rest = text.split("_")
    return ("line", dest, values, (first, *(p for piece in rest for p in ("", piece))), holes, text.split()[0])


_ADD = _line(
    _SUM,
    (("arg", 0), ("group", (("const", 1, "FP32"),))),
    "_ = add 5% _, _ : _",
    (-1, False),
    (0, False),
    (1, False),
    (0, True),
)
# Steps that no example above has in this order.
_STEPS = {
    "names": (_ADD, _RESULT),
    "an operand becomes another": (_ADD, ("becomes", ("arg", 0), _SUM), _line(None, (("arg", 0),), "x _", (0, False))),
    "reserved": (("reserve", ("tmp", 0, ("res", "f32"), "_r", "f32")), _ADD, _RESULT),
    "held": (
        ("hold", "all", (("arg", 0), ("const", 1, "FP32"))),
        _line(None, (_ALL,), "all _ of _", (0, False), (0, True)),
    ),
    "a branch": (("region", ("arg", 0), (_ADD,), (_line(None, (), "else 100%"),)),),
    "nothing": (),
}


@pytest.mark.parametrize("steps", _STEPS.values(), ids=list(_STEPS))
def test_steps_one_by_one(steps: tuple[object, ...], printed: pytest.MonkeyPatch) -> None:
    said = []
    for compiles in (False, True):
        printed.setattr(emit.Emitter, "compiles", compiles)
        printed.setattr(emit, "_OFTEN", 0)
        e = emit.Emitter(reference=False)
        e.bound["a"] = "%a"
        e.types["%a"] = "f32"
        template = Template(steps, 1)
        results = [e.run(Instance("s", (Var("a"), Const(2.5, "FP32")), (), r, template)) for r in ("b", "c", None)]
        said.append((results, e.lines, e.constants, e.bound, e.types, [p.text for p in e.distinct.first]))
    assert said[0] == said[1]


def test_a_value_that_is_missing_is_a_fault_of_the_compiler(printed: pytest.MonkeyPatch) -> None:
    printed.setattr(emit, "_OFTEN", 0)
    for compiles in (False, True):
        printed.setattr(emit.Emitter, "compiles", compiles)
        with pytest.raises(InternalError):
            emit.Emitter(reference=False).run(Instance("s", (Var("a"),), (), "b", Template(_STEPS["names"], 1)))
