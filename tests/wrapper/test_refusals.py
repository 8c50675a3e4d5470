"""What an orchestration, a kernel's parameters or a whole program can be refused for: the whole message."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import pypto_rw
from pypto_rw.diagnostics import CompileError, render
from tests.wrapper.conftest import PROGRAMS, functions

T = "pl.Tensor[[64, 32], pl.FP32]"
IN_OUT = 'attrs={"arg_directions": [pl.adir.input, pl.adir.scalar, pl.adir.inout]}'
HEAD = functions((PROGRAMS / "loops.pyir").read_text())
ENTRY = (
    "    @pl.function(type=pl.FunctionType.Orchestration, auto_scope=False)\n"
    f"    def run(self, x: {T}, n: pl.Scalar[pl.INT32], c: pl.Tensor[[8], pl.INT32], y: pl.Out[{T}]):\n"
)
BODIES = {
    "expression-argument": "self.step(x, n * 16, y)",
    "unknown-kernel": "self.missing(x, 0, y)",
    "too-many-arguments": "self.step(x, 0, y, y)",
    "missing-input": "self.step(x)",
    "tensor-for-scalar": "self.step(x, c, y)",
    "scalar-for-tensor": "self.step(n, 0, y)",
    "directions": 'self.step(x, 0, y, attrs={"arg_directions": [pl.adir.input]})',
    "derived-edges": 'self.step(x, 0, y, attrs={"compiler_manual_dep_edges": [x]})',
    "other-device": "self.step(x, 0, y, device=1)",
    "tensor-op": f"t: {T} = pl.tensor.add(x, x)",
    "effect": "pl.system.bar_all()",
    "unroll": "for i in pl.unroll(4):\n    self.step(x, i, y)",
    "zero-step": "for i in pl.range(0, 4, 0):\n    self.step(x, i, y)",
    "carries": "for i, (a, b) in pl.range(4, init_values=(0, 1)):\n    d: pl.Scalar[pl.INDEX] = pl.yield_(a)",
    "never-rebound": (
        'for i, (t,) in pl.range(4, init_values=(y,), attrs={"iter_arg_rebind_0": False}):\n'
        f"    u: {T} = pl.yield_(x)"
    ),
    "kernel-scope": "with pl.at(level=pl.Level.CORE_GROUP):\n    self.step(x, 0, y)",
    "closed-task": (
        "with pl.scope(mode=pl.ScopeMode.MANUAL):\n    u, first = pl.submit(self.step, x, 0, y)\n"
        "pl.submit(self.step, x, 0, y, deps=[first])"
    ),
    "closed-tensor": f"with pl.scope():\n    t: {T} = pl.tensor.create([64, 32], dtype=pl.FP32)\nself.step(t, 0, y)",
    "unbound": "self.step(x, 0, z)",
    "unbound-return": "self.step(x, 0, y)\nreturn z",
    "parallel-tasks": (
        "u, first = pl.submit(self.step, x, 0, y)\n"
        "for i, (t,) in pl.parallel(n, init_values=(first,)):\n"
        "    v, next = pl.submit(self.step, x, i, y, deps=[t])\n"
        "    last: pl.Scalar[pl.TASK_ID] = pl.yield_(next)"
    ),
    "dependency": "pl.submit(self.step, x, 0, y, deps=[n])",
    "number-array": "a: pl.Array[4, pl.INT32] = pl.array.create(4, dtype=pl.INT32)",
    "predicate": "pl.submit(self.step, x, 0, y, predicate=(n > 0))",
    "infinite": "a: pl.Scalar[pl.FP32] = inf",
    "true-division": "a: pl.Scalar[pl.INDEX] = n / 2",
    "power": "a: pl.Scalar[pl.INDEX] = n ** 2",
    "float-start": "t: pl.Tensor[[4], pl.INT32] = pl.tensor.create([4], dtype=pl.INT32, init_value=1.5)",
    "narrow-start": "t: pl.Tensor[[4], pl.BF16] = pl.tensor.create([4], dtype=pl.BF16, init_value=1.0)",
    "bool-tensor": "t: pl.Tensor[[4], pl.BOOL] = pl.tensor.create([4], dtype=pl.BOOL)",
    "slice-rank": f"t: {T} = pl.tensor.slice(x, [64], [0])",
    "dropped-axis": "t: pl.Tensor[[32], pl.FP32] = pl.tensor.slice(x, [64, 32], [0, 0], drop_dims=[0])",
    "indices": "a: pl.Scalar[pl.INT32] = pl.tensor.read(c, [0, 0])",
    "atomic": f"t: {T} = pl.tensor.assemble(x, y, [0, 0], atomic=pl.AtomicType.Add)",
    "reinterpret": f"t: {T} = pl.tensor.reinterpret_view(x, dtype=pl.FP32)",
    "implicit-carry": "o: pl.Scalar[pl.INDEX] = 0\nfor i in pl.range(4):\n    self.step(x, o, y)\n    o = o + 16",
    "implicit-merge": f"t: {T} = x\nif n > 0:\n    t: {T} = y\nself.step(t, 0, y)",
    "two-of-them": "self.step(x, n + 1, y)\nt: pl.Scalar[pl.FP32] = q\nself.step(x, t, y)\nself.missing(x)",
}


def _refused(source: str, out: Path) -> str:
    with pytest.raises(CompileError) as caught:
        pypto_rw.build(source, out, filename="p.pyir", skip_ptoas=True)
    return render(caught.value.diagnostics, source)


@pytest.mark.parametrize("name", BODIES)
def test_orchestration(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    body = BODIES[name].replace("\n", "\n            ")
    source = HEAD[""] + HEAD["step"] + ENTRY + f"        with pl.scope():\n            {body}\n"
    assert _refused(source, tmp_path) == snapshot
    assert not (tmp_path / "orchestration").exists()


PROGRAM = HEAD[""] + HEAD["step"]
PLACE = "    @pl.function(type=pl.FunctionType."
PROGRAMS_REFUSED = {
    "host": f"{PLACE}Orchestration, level=pl.Level.HOST)\n    def top(self, x: {T}):\n        pass\n",
    "opaque": f"    @pl.function\n    def top(self, x: {T}):\n        pass\n",
    "graph": f"{PLACE}Graph)\n    def top(self, x: {T}):\n        pass\n",
    "keyword": f"{PLACE}AIV)\n    def double(self, x: {T}):\n        pass\n",
}


@pytest.mark.parametrize("name", PROGRAMS_REFUSED)
def test_program(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert _refused(PROGRAM + PROGRAMS_REFUSED[name], tmp_path / "out") == snapshot
    assert not (tmp_path / "out").exists()


KERNELS = {
    "two-symbols": ('M = pl.dynamic("M")\nN = pl.dynamic("N")\n', "x: pl.Tensor[[M * N, 4], pl.FP32]"),
    "divided-by": ('M = pl.dynamic("M")\n', "x: pl.Tensor[[pl.const(64, pl.INDEX) // M, 4], pl.FP32]"),
    "array": ("", "x: pl.Array[4, pl.INT32]"),
    "tile": ("", "x: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec]"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_parameter(name: str, tmp_path: Path, standin: Path, snapshot: SnapshotAssertion) -> None:
    symbols, parameter = KERNELS[name]
    head = f"import pypto.language as pl\n\n{symbols}\n@pl.program\nclass K:\n"
    source = f"{head}{PLACE}AIV)\n    def k(self, {parameter}):\n        pass\n"
    with pytest.raises(CompileError) as caught:
        pypto_rw.build(source, tmp_path, filename="p.pyir", ptoas=standin)
    assert render(caught.value.diagnostics, source) == snapshot


def test_a_kernel_without_a_core(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    source = PROGRAM.replace("FunctionType.AIV", "FunctionType.InCore")
    assert _refused(source, tmp_path) == snapshot


def test_a_group_calls_its_kernels_with_its_own_arguments(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    source = (PROGRAMS / "halved.pyir").read_text()
    assert _refused(source.replace("self.pair_cube(x, w, y,", "self.pair_cube(w, x, y,"), tmp_path) == snapshot
