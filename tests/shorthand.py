"""Kernels in short: the types of tiles and tensors in brackets, everything else as in a kernel.

<16x64 FP32>                       pl.Tensor[[16, 64], pl.FP32]
a: Vec 4096 at 256                 a: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096), its tiles start at byte 256
<16x64 FP32 a>                     a tile over all of `a`: its MemRef and its memory space
<16x64 FP32 a+128:512>             512 bytes of `a` from byte 128 on
<16x64 FP32 a, pad=pl.PadValue.zero>    after the comma: the fields of its pl.TileView
<n x 64 FP32>                      a dimension may be a name
"""

from __future__ import annotations

import re
from textwrap import dedent, indent

import pytest

from pypto_rw import CompileError, lower
from tests.rulelines import without_rule_lines

_BUFFER = re.compile(r"^( *)(\w+): (Vec|Mat|Left|Right|Acc|Bias|LeftScale|RightScale) (\d+)(?: at (\d+))?$", re.M)
_TYPE = re.compile(r"<([^<>=]+?) ([A-Z]+[0-9]*(?:E\dM\d(?:FN)?)?)(?: (\w+)(?:\+(\d+):(\d+))?)?(?:, ([^<>]*))?>")


def kernel(parameters: str, body: str, kind: str = "AIV", name: str = "kernel") -> str:
    """A file with one function of that kind."""
    return program(function(parameters, body, kind, name))


def program(*functions: str) -> str:
    """A file with these functions."""
    dynamic = sorted({n for f in functions for n in re.findall(r"^# dynamic: (\w+)$", f, re.M)})
    plain = [re.sub(r"^# dynamic: \w+\n", "", f, flags=re.M) for f in functions]
    head = "".join(f'{n} = pl.dynamic("{n}")\n' for n in dynamic) + ("\n" if dynamic else "")
    return f"import pypto.language as pl\n\n{head}@pl.program\nclass Kernels:\n{indent(chr(10).join(plain), '    ')}"


def function(
    parameters: str, body: str, kind: str = "AIV", name: str = "kernel", dynamic: str = "", attributes: str = ""
) -> str:
    """One function of a program; `dynamic` names symbols that the program declares, `attributes` is a pl.func_attr."""
    body = dedent(body).strip("\n")
    buffers = {m[2]: (m[3], int(m[4]), int(m[5] or 0)) for m in _BUFFER.finditer(body)}

    def expanded(match: re.Match[str]) -> str:
        shape, dtype, base, offset, size, view = match.groups()
        head = f"[{', '.join(re.split(r' ?x ?', shape))}], pl.{dtype}"
        if base is None:
            return f"pl.Tensor[{head}{', ' + view if view else ''}]"
        space, whole, start = buffers[base]
        memory = f"pl.MemRef({base}, pl.const({start + int(offset or 0)}, pl.INT64), {size or whole}), pl.Mem.{space}"
        return f"pl.Tile[{head}, {memory}{f', pl.TileView({view})' if view else ''}]"

    body = _BUFFER.sub(r"\1\2: pl.Ptr = pl.tile.alloc(pl.Mem.\3, \4)", body)
    if attributes:
        body = f"pl.func_attr({{{attributes}}})\n{body}"
    head = "".join(f"# dynamic: {n}\n" for n in dynamic.split())
    text = f"@pl.function(type=pl.FunctionType.{kind})\ndef {name}(self, {parameters}):\n{indent(body, '    ')}\n"
    return head + _TYPE.sub(expanded, text)


def refusal(source: str, target: str = "a2a3", planner: str = "pypto", reference: bool = False) -> str:
    """The rendered error of a kernel that must be refused, without the lines of the built-in rules that refused it."""
    with pytest.raises(CompileError) as caught:
        lower(source, filename="kernel.pyir", target=target, planner=planner, reference=reference)
    return without_rule_lines(str(caught.value))
