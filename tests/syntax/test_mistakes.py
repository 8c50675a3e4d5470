"""Every mistake the reader knows, with the whole text its author sees."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from pypto_rw.diagnostics import CompileError
from pypto_rw.syntax import parse

HEAD = """import pypto.language as pl


@pl.program
class K:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, x: pl.Tensor[[64], pl.FP32], y: pl.Out[pl.Tensor[[64], pl.FP32]]):
"""


def body(text: str) -> str:
    """A kernel with these lines as its body."""
    return HEAD + "".join(f"        {line}\n" for line in text.split("\n"))


def tile(rest: str) -> str:
    """A kernel with one annotation of a tile."""
    return body(f"a: pl.Tile[[64], pl.FP32, {rest}] = pl.load(x, [0], [64])")


DECORATED = "    @pl.function(type=pl.FunctionType.AIV)\n"
LAST = "        return\n"

LAYOUT = {
    "bracket never closed": body("a = pl.load(x, [0], [64]\nb = pl.add(a, a)\npl.store(b, [0], y)"),
    "bracket never closed before a block": body("a = pl.load(x, [0], [64]\nfor i in pl.range(4):\n    b = i"),
    "bracket never closed in the last line": body("a = pl.load(x, [0], [64]"),
    "wrong closing bracket": body("a = pl.load(x, [0), [64])"),
    "bracket closed by an outer one": body("a = pl.load(x, [0, [64])\nreturn"),
    "extra closing bracket": body("a = pl.load(x, [0], [64]))"),
    "no colon after for": body("for i in pl.range(4)\n    a = i"),
    "no colon after if": body("if x > 0\n    a = 1"),
    "no colon after else": body("if x > 0:\n    a = 1\nelse\n    a = 2"),
    "no colon after elif": body("if x > 0:\n    a = 1\nelif x > 1\n    a = 2"),
    "no colon after while": body("while x > 0\n    a = 1"),
    "no colon after with": body("with pl.cluster()\n    a = 1"),
    "no colon after def": HEAD[:-2] + "\n" + LAST,
    "no colon after class": HEAD.replace("class K:", "class K") + LAST,
    "tabs after spaces": body("a = 1") + "\tb = 2\n",
    "tabs and spaces in one line": body("if x > 0:\n\ta = 1"),
    "unindent to no level": body("a = 1") + "      b = 2\n",
    "unexpected indent": body("a = 1\n    b = 2"),
    "no block": body("for i in pl.range(4):\na = 1"),
    "no block at the end": body("for i in pl.range(4):"),
    "no block after def": HEAD,
    "else without if": body("else:\n    a = 1"),
    "else of another column": body("if x > 0:\n    for i in pl.range(2):\n        a = 1\n    else:\n        a = 2"),
    "else if": body("if x > 0:\n    a = 1\nelse if x < 0:\n    a = 2"),
    "two statements in a line": body("a = 1; b = 2"),
    "backslash inside a line": body("a = 1 + \\ 2"),
}
WORDS = {
    "string not closed": body("a = pl.cast(x, mode='rint)"),
    "long string not closed": body('a = """abc'),
    "typographic quotes": body("a = pl.cast(x, mode=“rint”)"),
    "number with letters": body("a = 12abc"),
    "number with leading zeros": body("a = 012"),
    "number of a hundred digits": body(f"a = 1{'0' * 99}"),
    "unknown character": body("a = x ? 1"),
    "NUL": body("a = \0"),
    "lone surrogate": body("a = \ud800"),
    "exclamation mark": body("if !x:\n    a = 1"),
    "double ampersand": body("if x > 0 && x < 3:\n    a = 1"),
    "keyword as a name": body("class = 3"),
    "keyword as the name of an op": body("a = pl.tile.and(x, x)"),
    "spaces around a dot": body("a = pl .load(x, [0], [64])"),
}
EXPRESSIONS = {
    "no comma between names": body("a = pl.add(x y)"),
    "no comma between numbers": body("a = pl.load(x, [0 1], [64])"),
    "no comma between lists": body("a = pl.load(x, [0] [64])"),
    "no operator": body("a = x y"),
    "value missing": body("a ="),
    "operand missing": body("a = x +"),
    "keyword twice": body("a = pl.cast(x, mode='rint', mode='floor')"),
    "positional after keyword": body("a = pl.cast(mode='rint', x)"),
    "chained comparison": body("a = 1 < x < 3"),
    "not as an operand": body("a = 1 + not x"),
    "plus sign": body("a = +x"),
    "assignment in a condition": body("if x = 3:\n    a = 1"),
    "two assignments": body("a = b = 3"),
    "assignment to a call": body("pl.load(x, [0], [64]) = 3"),
    "assignment to a literal": body("3 = x"),
    "assignment to a comparison": body("x == 3 = 4"),
    "value without use": body("x"),
    "type without value": body("a: pl.Scalar[pl.INT32]"),
    "attrs not a dict": body("pl.tile.load(x, attrs=3)"),
    "attrs key not a string": body("pl.tile.load(x, attrs={a: 3})"),
    "const of a name": body("a = pl.const(x, pl.INT32)"),
    "fraction for an integer type": body("a = pl.const(0.5, pl.INT32)"),
    "subscript of a slice with a step": body("a = x[0:4:2]"),
    "nesting": body(f"a = {'(' * 70}x{')' * 70}"),
    "operators without end": body("a = x" + " + 1" * 101),
    "signs without end": body("a = " + "-" * 70 + "x"),
}
NAMES = {
    "element type": body("a = pl.cast(x, pl.FP33)"),
    "memory space": tile("pl.Mem.Vecc"),
    "layout": body("a = pl.load(x, layout=pl.TileLayout.x)"),
    "group": body("a = pl.load(x, layout=pl.TileLayot.row_major)"),
    "function": body("helper(x)"),
    "prefix": body("a = tl.load(x)"),
    "attribute": body("a = x.shape"),
    "import prefix": "from pypto import language as P\n@P.function\ndef f(n: pl.Scalar[pl.INT32]):\n    return n\n",
}
TYPES = {
    "two memory references": tile('pl.MemRef("r"), pl.MemRef("s"), pl.Mem.Vec'),
    "memory reference without a space": tile('pl.MemRef("r")'),
    "memory reference of two arguments": tile('pl.MemRef("r", 1), pl.Mem.Vec'),
    "slot out of range": tile('pl.MemRef("r", slots=2)[2], pl.Mem.Vec'),
    "slot of no slots": tile('pl.MemRef("r")[0], pl.Mem.Vec'),
    "tensor view on a tile": tile("pl.TensorView(), pl.Mem.Vec"),
    "unknown field of a view": tile("pl.Mem.Vec, pl.TileView(stripe=[1])"),
    "unknown name in a type": tile("ring[0], pl.Mem.Vec"),
    "element type as a type": HEAD.replace("x: pl.Tensor[[64], pl.FP32]", "x: pl.FP32") + LAST,
    "no type": HEAD.replace("x: pl.Tensor[[64], pl.FP32]", "x") + LAST,
    "type without brackets": body("a: pl.Tile = x"),
    "value as a type": body("a: 3 = x"),
    "direction of a variable": body("a: pl.Out[pl.Tensor[[64], pl.FP32]] = x"),
    "element type missing": body("a: pl.Tile[[64]] = x"),
}
LOOPS = {
    "python range": body("for i in range(4):\n    a = 1"),
    "another iterator": body("for i in x:\n    a = 1"),
    "range as a value": body("a = pl.range(4)"),
    "no stop": body("for i in pl.range():\n    a = 1"),
    "unknown keyword": body("for i in pl.range(4, inti_values=(x,)):\n    a = 1"),
    "more names than values": body("for i, (a, b) in pl.range(4, init_values=(x,)):\n    c = pl.yield_(a)"),
    "values without names": body("for i in pl.range(4, init_values=(x,)):\n    a = 1"),
    "names without values": body("for i, (a,) in pl.range(4):\n    b = pl.yield_(a)"),
    "init_values a name": body("for i, (a,) in pl.range(4, init_values=x):\n    b = pl.yield_(a)"),
    "two loop variables": body("for (i, j) in pl.range(4):\n    a = 1"),
    "bare yield": body("for i, (a,) in pl.range(4, init_values=(x,)):\n    pl.yield_(a)"),
    "yield as an operand": body("a = 1 + pl.yield_(x)"),
    "no stage": body("for i in pl.pipeline(4):\n    a = 1"),
    "stage zero": body("for i in pl.pipeline(4, stage=0):\n    a = 1"),
    "stage not constant": body("for i in pl.pipeline(4, stage=x):\n    a = 1"),
    "stage of a range": body("for i in pl.range(4, stage=2):\n    a = 1"),
    "unroll with values": body("for i, (a,) in pl.unroll(4, init_values=(x,)):\n    b = pl.yield_(a)"),
    "unroll to a variable": body("for i in pl.unroll(x):\n    a = 1"),
    "unroll by zero": body("for i in pl.unroll(0, 4, 0):\n    a = 1"),
    "break outside a loop": body("break"),
    "break in a parallel loop": body("for i in pl.parallel(4):\n    if i > 2:\n        break"),
    "continue in an unrolled loop": body("for i in pl.unroll(4):\n    continue"),
    "while_ without a condition": body("for (a,) in pl.while_(init_values=(x,)):\n    b = pl.yield_(a)"),
    "while_ without values": body("for (a,) in pl.while_():\n    pl.cond(a)"),
    "condition outside a loop": body("pl.cond(x)"),
}
PYTHON = {
    "lambda": body("a = lambda v: v"),
    "try": body("try:\n    a = 1\nexcept:\n    a = 2"),
    "comprehension": body("a = [i for i in x]"),
    "starred": body("a = pl.add(*x)"),
    "f-string": body('a = f"{x}"'),
    "conditional expression": body("a = 1 if x else 2"),
    "augmented assignment": body("a += 1"),
    "assignment expression": body("a = (b := 3)"),
    "matrix product": body("a = x @ y"),
    "membership": body("a = x in y"),
    "identity": body("a = x is y"),
    "print statement": body("print x"),
    "print call": body("print(x)"),
    "float": body("a = float(x)"),
    "global": body("global x"),
    "assert": body("assert x"),
    "set": body("a = {1, 2}"),
    "default value": HEAD.replace("FP32]])", "FP32]] = 3)") + LAST,
    "variadic": HEAD.replace("self, x", "self, *x") + LAST,
    "nested function": body("@pl.function\ndef g():\n    return"),
    "import": "import numpy as np\n",
    "import star": "from os import *\n",
}
FILE = {
    "empty": "",
    "no function": "import pypto.language as pl\n",
    "function without decorator": HEAD.replace(DECORATED, "") + LAST,
    "class without decorator": HEAD.replace("@pl.program\n", "") + LAST,
    "wrong decorator": HEAD.replace("@pl.function(", "@pl.kernel(") + LAST,
    "decorator alone": "import pypto.language as pl\n@pl.function\nx = 3\n",
    "two programs": HEAD + LAST + "\n@pl.program\nclass L:\n    @pl.function\n    def f(self):\n        return\n",
    "two functions of a name": HEAD + LAST + "\n    @pl.function\n    def k(self):\n        return\n",
    "parameter twice": HEAD.replace("y: pl.Out", "x: pl.Out") + LAST,
    "statement in the file": "import pypto.language as pl\npl.store(a, b)\n",
    "return in the file": "import pypto.language as pl\nreturn 1\n",
    "statement in the class": HEAD.replace("class K:\n", "class K:\n    a = 3\n") + LAST,
    "attributes late": body('a = 1\npl.func_attr({"split": 1})'),
}


def refusal(source: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        parse(source, filename="kernel.pyir")
    return caught.value


@pytest.mark.parametrize("group", ["LAYOUT", "WORDS", "EXPRESSIONS", "NAMES", "TYPES", "LOOPS", "PYTHON", "FILE"])
def test_texts(group: str, snapshot: SnapshotAssertion) -> None:
    mistakes: dict[str, str] = globals()[group]
    texts = [f"## {name}\n\n{refusal(source)}\n" for name, source in mistakes.items()]
    assert "\n".join(texts) == snapshot


@pytest.mark.parametrize("memo", [True, False])
def test_memo_changes_no_text(memo: bool) -> None:
    mistakes = LAYOUT | WORDS | EXPRESSIONS | NAMES | TYPES | LOOPS | PYTHON | FILE
    for source in mistakes.values():
        with pytest.raises(CompileError) as caught:
            parse(source, filename="kernel.pyir", memo=memo)
        assert str(caught.value) == str(refusal(source))


def test_place_of_an_unclosed_bracket_is_the_opening_one() -> None:
    (diagnostic,) = refusal(LAYOUT["bracket never closed"]).diagnostics
    assert (diagnostic.code, diagnostic.span.line, diagnostic.span.column) == ("unclosed-bracket", 8, 20)


def test_one_refusal_with_its_file_name() -> None:
    (diagnostic,) = refusal(body("a = pl.FP33")).diagnostics
    assert diagnostic.filename == "kernel.pyir"
    assert diagnostic.code == "unknown-name"
