"""Generated kernels: allocated and authored, straight and with loops, of one shape or of many."""

from __future__ import annotations

from collections.abc import Callable, Iterator

_HEAD = "import pypto.language as pl\n\n@pl.program\nclass K:\n"
_ALLOCATED = "    @pl.function(type=pl.FunctionType.AIV)\n    def {}(x: {}, o: pl.Out[{}]):\n"
_AUTHORED = "    @pl.function(type=pl.FunctionType.InCore)\n    def {}(self, x: {}, o: pl.Out[{}]):\n"
_TENSOR = "pl.Tensor[[1024, 1024], pl.FP32]"
_SIZES = ((32, 32), (64, 32), (16, 128), (16, 64))
_STEP = 5  # statements of one group: load, add, multiply, exp, store


def _head(form: str, name: str = "kernel") -> str:
    return form.format(name, _TENSOR, _TENSOR)


def _tile(rows: int, cols: int) -> str:
    memory = f"pl.MemRef(buf, pl.const(0, pl.INT64), {rows * cols * 4}), pl.Mem.Vec"
    return f"pl.Tile[[{rows}, {cols}], pl.FP32, {memory}]"


def _group(k: int, rows: int, cols: int, offset: str, indent: str) -> Iterator[str]:
    """Five allocated statements."""
    t, size = _tile(rows, cols), f"[{rows}, {cols}]"
    yield f"{indent}t{k}: {t} = pl.tile.load(x, {offset}, {size}, {size}, target_memory=pl.Mem.Vec)"
    yield f"{indent}t{k + 1}: {t} = pl.tile.add(t{k}, t{k})"
    yield f"{indent}t{k + 2}: {t} = pl.tile.muls(t{k + 1}, 2.0)"
    yield f"{indent}t{k + 3}: {t} = pl.tile.exp(t{k + 2})"
    yield f"{indent}pl.tile.store(t{k + 3}, {offset}, o)"


def _text(head: str, lines: Iterator[str]) -> str:
    return _HEAD + head + "\n".join(lines) + "\n"


def _buffer(size: int = 65536) -> str:
    return f"        buf: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, {size})\n"


def allocated(count: int) -> str:
    """Four sizes of tiles, over and over."""
    groups = (_group(k, *_SIZES[k // _STEP % 4], "[0, 0]", " " * 8) for k in range(0, count, _STEP))
    return _text(_head(_ALLOCATED) + _buffer(), (line for g in groups for line in g))


def unrolled(count: int) -> str:
    """One loop written out: every load and store has another offset."""
    groups = (_group(k, 32, 32, f"[{k // _STEP * 8 % 992}, {k % 992}]", " " * 8) for k in range(0, count, _STEP))
    return _text(_head(_ALLOCATED) + _buffer(), (line for g in groups for line in g))


def loops(count: int) -> str:
    """Loops in loops, eight deep, five statements in the innermost."""

    def lines() -> Iterator[str]:
        for k in range(0, count, _STEP + 8):
            for depth in range(8):
                yield f"{' ' * (8 + 4 * depth)}for i{k}_{depth} in pl.range(0, 4, 1):"
            yield from _group(k, 32, 32, f"[i{k}_7 * 32, i{k}_6 * 32]", " " * 40)

    return _text(_head(_ALLOCATED) + _buffer(), lines())


def functions(count: int) -> str:
    """Functions of twenty statements each."""

    def lines() -> Iterator[str]:
        for n in range(max(1, count // 20)):
            yield (_head(_ALLOCATED, f"kernel_{n}") + _buffer()).rstrip("\n")
            for k in range(0, 20, _STEP):
                yield from _group(k, *_SIZES[k // _STEP], "[0, 0]", " " * 8)

    return _text("", lines())


def distinct(count: int) -> str:
    """No two loads, and no two additions, of one size."""

    def lines() -> Iterator[str]:
        for k in range(0, count, 2):
            rows, cols = 8 * (1 + k // 2 % 127), 8 * (1 + k // 254)
            yield from list(_group(k, rows, cols, "[0, 0]", " " * 8))[:2]

    return _text(_head(_ALLOCATED) + _buffer(1 << 30), lines())


def authored(count: int) -> str:
    """As a person writes it: types, memory spaces and addresses are found."""

    def lines() -> Iterator[str]:
        for k in range(0, count, _STEP):
            offset = f"[{k // _STEP * 32 % 992}, 0]"
            yield f"        t{k} = pl.load(x, {offset}, [32, 32])"
            yield f"        t{k + 1} = pl.add(t{k}, t{k})"
            yield f"        t{k + 2} = pl.mul(t{k + 1}, 2.0)"
            yield f"        t{k + 3} = pl.exp(t{k + 2})"
            yield f"        pl.store(t{k + 3}, {offset}, o)"

    return _text(_head(_AUTHORED), lines())


def various(count: int) -> str:
    """As a person writes it, with no two loads, and no two additions, of one size."""

    def lines() -> Iterator[str]:
        for k in range(0, count, 3):
            rows, cols = 1 + k // 3 % 50, 8 * (1 + k // 150)
            yield f"        t{k} = pl.load(x, [0, 0], [{rows}, {cols}])"
            yield f"        t{k + 1} = pl.add(t{k}, t{k})"
            yield f"        pl.store(t{k + 1}, [0, 0], o)"

    return _text(_head(_AUTHORED), lines())


KERNELS: dict[str, Callable[[int], str]] = {
    "allocated": allocated,
    "unrolled": unrolled,
    "loops": loops,
    "functions": functions,
    "distinct": distinct,
    "authored": authored,
    "various": various,
}
