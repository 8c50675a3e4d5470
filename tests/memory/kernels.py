"""Random well-typed kernels at tile level: straight lines, loops that carry tiles, branches that merge them."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from pypto_rw.records import dataclass, field

Shape = tuple[int, int, str]

SHAPES: tuple[Shape, ...] = ((16, 64, "FP32"), (32, 64, "FP32"), (16, 64, "FP16"), (48, 64, "FP32"))
UNARY = ("exp", "abs", "neg", "relu", "sqrt", "recip")
BINARY = ("add", "sub", "mul", "maximum")


@dataclass(slots=True)
class Tile:
    """A visible tile; tiles of one `group` share memory by meaning (copies, views)."""

    name: str
    shape: Shape
    group: int


@dataclass(slots=True)
class Vector:
    """Writes a vector kernel, choice by choice."""

    choose: Random
    lines: list[str] = field(default_factory=list)
    count: int = 0
    most: int = 40

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def tile(self, depth: int, shape: Shape, value: str, group: int | None = None) -> Tile:
        name = self.name()
        self.say(depth, f"{name}: {typed(shape)} = {value}")
        return Tile(name, shape, self.count if group is None else group)

    def load(self, depth: int, shape: Shape) -> Tile:
        rows, cols, dtype = shape
        source = f"x_{rows}_{dtype}"
        size = f"[{rows}, {cols}]"
        return self.tile(depth, shape, f"pl.tile.load({source}, [0, 0], {size}, {size}, target_memory=pl.Mem.Vec)")

    def some(self, depth: int, seen: list[Tile], shape: Shape | None = None) -> Tile:
        """A visible tile (of that shape), or a new one."""
        fitting = [t for t in seen if t.shape == shape] if shape else [t for t in seen if t.shape in SHAPES]
        if fitting and self.choose.random() < 0.9:
            return self.choose.choice(fitting)
        made = self.load(depth, shape or self.choose.choice(SHAPES))
        seen.append(made)
        return made

    def block(self, depth: int, seen: list[Tile], size: int, nesting: int) -> None:
        """Statements of one block; what they define is added to `seen`."""
        for _ in range(size):
            kinds = [self.unary, self.binary, self.cast, self.copy, self.window, self.scaled, self.updated, self.store]
            if self.lines and self.lines[-1][-1] != ":" and len(self.lines) > self.most:
                return
            if nesting < 3:
                kinds += [self.loop, self.loop, self.branch]
            kind = self.choose.choice(kinds)
            if kind in (self.loop, self.branch):
                self.nested(kind == self.loop, depth, seen, nesting)
            else:
                kind(depth, seen)

    def unary(self, depth: int, seen: list[Tile]) -> None:
        x = self.some(depth, seen)
        op = self.choose.choice([u for u in UNARY if u not in ("recip",) or x.shape[2] == "FP32"])
        seen.append(self.tile(depth, x.shape, f"pl.tile.{op}({x.name})"))

    def binary(self, depth: int, seen: list[Tile]) -> None:
        x = self.some(depth, seen)
        y = self.some(depth, seen, x.shape)
        seen.append(self.tile(depth, x.shape, f"pl.tile.{self.choose.choice(BINARY)}({x.name}, {y.name})"))

    def cast(self, depth: int, seen: list[Tile]) -> None:
        """Widening one way, narrowing the other."""
        x = self.some(depth, seen, self.choose.choice((SHAPES[0], SHAPES[2])))
        to = "FP16" if x.shape[2] == "FP32" else "FP32"
        value = f"pl.tile.cast({x.name}, target_type=pl.{to}, mode='round')"
        seen.append(self.tile(depth, (x.shape[0], x.shape[1], to), value))

    def copy(self, depth: int, seen: list[Tile]) -> None:
        x = self.some(depth, seen)
        seen.append(self.tile(depth, x.shape, x.name, x.group))

    def window(self, depth: int, seen: list[Tile]) -> None:
        """The lower half of a tile, and a tile computed from it."""
        x = self.some(depth, seen, (32, 64, "FP32"))
        w = self.tile(depth, SHAPES[0], f"pl.tile.slice({x.name}, [16, 64], [16, 0])", x.group)
        seen.append(self.tile(depth, SHAPES[0], f"pl.tile.exp({w.name})"))

    def scaled(self, depth: int, seen: list[Tile]) -> None:
        """A row reduction with its scratch, spread over the rows again."""
        x = self.some(depth, seen, self.choose.choice((SHAPES[0], SHAPES[1])))
        create = f"pl.tile.create([{x.shape[0]}, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)"
        scratch = self.tile(depth, x.shape, create)
        column = self.tile(depth, (x.shape[0], 1, "FP32"), f"pl.tile.row_sum({x.name}, {scratch.name})")
        seen.append(self.tile(depth, x.shape, f"pl.tile.row_expand_mul({x.name}, {column.name})"))

    def updated(self, depth: int, seen: list[Tile]) -> None:
        """An update in place of a tile of which nothing else is left."""
        target, part = self.load(depth, SHAPES[1]), self.some(depth, seen, SHAPES[0])
        seen.append(self.tile(depth, target.shape, f"pl.tile.exp({target.name})"))
        value = f"pl.tile.assemble({target.name}, {part.name}, [16, 0])"
        whole = self.tile(depth, target.shape, value)
        seen.append(self.tile(depth, whole.shape, f"pl.tile.abs({whole.name})"))

    def store(self, depth: int, seen: list[Tile]) -> None:
        x = self.some(depth, seen)
        self.say(depth, f"pl.tile.store({x.name}, [0, 0], o_{x.shape[0]}_{x.shape[2]})")

    def loop(self, depth: int, seen: list[Tile]) -> None:
        raise AssertionError

    branch = loop

    def nested(self, loop: bool, depth: int, seen: list[Tile], nesting: int) -> None:
        if loop:
            self.for_(depth, seen, nesting)
        else:
            self.if_(depth, seen, nesting)

    def for_(self, depth: int, seen: list[Tile], nesting: int) -> None:
        start = [self.some(depth, seen) for _ in range(self.choose.choice((0, 1, 1, 2)))]
        index = f"i{self.count}"
        inner = list(seen)
        if start:
            carried = [Tile(self.name(), t.shape, -1) for t in start]
            names = ", ".join(c.name for c in carried)
            initial = ", ".join(t.name for t in start)
            self.say(depth, f"for {index}, ({names},) in pl.range(0, n, 1, init_values=({initial},)):")
            inner += carried * 2
        else:
            self.say(depth, f"for {index} in pl.range(0, 4, 1):")
        self.block(depth + 1, inner, self.choose.randint(1, 5), nesting + 1)
        if start:
            seen += self.end(depth + 1, inner, [t.shape for t in start])

    def if_(self, depth: int, seen: list[Tile], nesting: int) -> None:
        shapes = [self.choose.choice(SHAPES) for _ in range(self.choose.choice((0, 1, 1, 2)))]
        self.say(depth, "if n < 3:")
        inner = list(seen)
        self.block(depth + 1, inner, self.choose.randint(1, 3), nesting + 1)
        results = self.end(depth + 1, inner, shapes) if shapes else []
        self.say(depth, "else:")
        inner = list(seen)
        self.block(depth + 1, inner, self.choose.randint(1, 3), nesting + 1)
        if shapes:
            self.end(depth + 1, inner, shapes, [t.name for t in results])
        seen += results

    def end(self, depth: int, inner: list[Tile], shapes: list[Shape], names: list[str] | None = None) -> list[Tile]:
        values = [self.some(depth, inner, s).name for s in shapes]
        names = names or [self.name() for _ in shapes]
        left = f"{names[0]}: {typed(shapes[0])}" if len(names) == 1 else ", ".join(names)
        self.say(depth, f"{left} = pl.yield_({', '.join(values)})")
        return [Tile(n, s, -1) for n, s in zip(names, shapes, strict=True)]

    def kernel(self) -> str:
        """The whole text."""
        seen: list[Tile] = []
        self.block(2, seen, self.choose.randint(2, 12), 0)
        for t in seen[-2:]:
            self.store(2, [t])
        tensors = [f"{p}_{s[0]}_{s[2]}: {direction(p, s)}" for p in "xo" for s in SHAPES]
        return file("AIV", ", ".join([*tensors, "n: pl.Scalar[pl.INDEX]"]), self.lines)


def cube(choose: Random) -> str:
    """A matrix kernel: products into accumulators, on from one another, in loops and branches."""
    lines: list[str] = []
    count = 0

    def say(depth: int, text: str) -> None:
        lines.append("    " * depth + text)

    def tile(depth: int, rows: int, cols: int, dtype: str, space: str, value: str) -> str:
        nonlocal count
        count += 1
        say(depth, f"t{count}: pl.Tile[[{rows}, {cols}], pl.{dtype}, pl.Mem.{space}] = {value}")
        return f"t{count}"

    def operands(depth: int) -> str:
        size = "[64, 64], [64, 64]"
        mats = [
            tile(depth, 64, 64, "FP16", "Mat", f"pl.tile.load({x}, [0, 0], {size}, target_memory=pl.Mem.Mat)")
            for x in "ab"
        ]
        sides = [
            tile(depth, 64, 64, "FP16", side, f"pl.tile.move({m}, target_memory=pl.Mem.{side})")
            for m, side in zip(mats, ("Left", "Right"), strict=True)
        ]
        return ", ".join(sides)

    def add(depth: int, acc: str) -> str:
        return tile(depth, 64, 64, "FP32", "Acc", f"pl.tile.matmul_acc({acc}, {operands(depth)})")

    for _ in range(choose.randint(1, 3)):
        acc = tile(2, 64, 64, "FP32", "Acc", f"pl.tile.matmul({operands(2)})")
        for _ in range(choose.randint(0, 3)):
            if choose.random() < 0.5:
                acc = add(2, acc)
                continue
            count += 2
            inside, after = f"t{count - 1}", f"t{count}"
            say(2, f"for i{count}, ({inside},) in pl.range(0, n, 1, init_values=({acc},)):")
            value = inside
            for _ in range(choose.randint(1, 2)):
                value = add(3, value)
            say(3, f"{after}: pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc] = pl.yield_({value})")
            acc = after
        say(2, f"pl.tile.store({acc}, [0, 0], o)")
    half, full = "pl.Tensor[[64, 64], pl.FP16]", "pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
    return file("AIC", f"a: {half}, b: {half}, o: {full}, n: pl.Scalar[pl.INDEX]", lines)


def typed(shape: Shape) -> str:
    return f"pl.Tile[[{shape[0]}, {shape[1]}], pl.{shape[2]}, pl.Mem.Vec]"


def direction(prefix: str, shape: Shape) -> str:
    tensor = f"pl.Tensor[[{shape[0]}, {shape[1]}], pl.{shape[2]}]"
    return tensor if prefix == "x" else f"pl.Out[{tensor}]"


def file(kind: str, parameters: str, lines: list[str]) -> str:
    head = [
        "import pypto.language as pl",
        "",
        "@pl.program",
        "class K:",
        f"    @pl.function(type=pl.FunctionType.{kind})",
    ]
    return "\n".join([*head, f"    def kernel(self, {parameters}):", *lines, ""])


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """Kernels of either kind, vector ones more often."""
    choose = draw(st.randoms(use_true_random=False, note_method_calls=False))
    return cube(choose) if choose.random() < 0.15 else Vector(choose).kernel()
