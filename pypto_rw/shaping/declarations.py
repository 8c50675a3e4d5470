"""What declares a handle or a view, as shapes: allocations, regions and their slots, tensor parameters."""

from __future__ import annotations

from collections.abc import Callable

from pypto_rw import ir
from pypto_rw.rewriting.engine import Engine
from pypto_rw.shaping.expressions import Expressions, Key
from pypto_rw.shaping.operands import Const, Instance, Var
from pypto_rw.shaping.values import Refused, Value


class Declarations(Expressions):
    """The declarations of one function; `addresses`: whether allocations carry one."""

    def __init__(self, engine: Engine, lookup: Callable[[str], Value | None], *, addresses: bool) -> None:
        super().__init__(engine, lookup)
        self.addresses = addresses

    def alloc(self, name: str, value: Value) -> Instance:
        """Instance that declares the handle of the tile `name`."""
        assert isinstance(value.type, ir.TileType) and value.type.memref is not None
        offset = value.type.memref.offset
        known = self.engine.type_terms.get(id(value.type))
        if known is not None and known[1] is not None and isinstance(offset, ir.Int) and self.addresses:
            constant = self.scalar(offset)
            assert isinstance(constant, Const)
            return Instance(f"(alloc (const 0 ({constant.dtype})) (res {known[1]} (nowhere)))", (constant,), (), name)
        key = Key()
        address = "(none)" if offset is None or not self.addresses else self.scalar_term(key, offset)
        shape = f"(alloc {address} (res {self.type_term(key, value.type)} (nowhere)))"
        return Instance(shape, tuple(key.operands), tuple(self.index(e) for e in key.extents), name)

    def region(self, name: str, t: ir.TileType) -> Instance:
        """Instance that declares the region of a multi-slot allocation."""
        assert t.memref is not None
        key = Key()
        return Instance(f"(region {t.memref.slots} (res {self.type_term(key, t)} (nowhere)))", (), (), name)

    def slot(self, region: str, name: str, t: ir.TileType) -> Instance:
        """Instance that selects a tile's slot of a region."""
        assert t.memref is not None and t.memref.slot is not None
        key = Key()
        key.position(Var(region))
        index = self.scalar_term(key, t.memref.slot)
        result = f"(res {self.type_term(key, t)} (nowhere))"
        shape = f"(slot (arg 0 {self.interned('(untyped)')} (nowhere) (plain)) {index} {t.memref.slots} {result})"
        return Instance(shape, tuple(key.operands), (), name)

    def narrow(self, name: str, value: Value) -> Instance:
        """Instance that sets the run-time valid extents of an already declared handle."""
        key = Key()
        k = key.position(Var(name))
        shape = f"(narrow (arg {k} {self.type_term(key, value.type)} (nowhere) (plain)))"
        return Instance(shape, tuple(key.operands), tuple(self.index(e) for e in key.extents))

    def copy(self, source: str, target: str) -> Instance:
        """Instance that copies one tile's contents into another's handle."""
        key = Key()
        terms_ = []
        for name in (source, target):
            value = self.lookup(name)
            assert value is not None
            k = key.position(Var(name))
            terms_.append(f"(arg {k} {self.type_term(key, value.type)} (nowhere) (plain))")
        return Instance(f"(copy {' '.join(terms_)})", tuple(key.operands), tuple(self.index(e) for e in key.extents))

    def parameter(self, param: ir.Param) -> Instance:
        """Instance that makes the view of a tensor parameter."""
        assert isinstance(param.type, ir.TensorType)
        key = Key()
        require_extents(param)
        view = param.type.view
        stride = view.stride if view and view.stride else ()
        dims = [self.scalar_term(key, e, literal=True) for e in param.type.shape]
        strides = [self.scalar_term(key, e, literal=True) for e in stride]
        r = f"(res {self.type_term(key, param.type)} (nowhere))"
        shape = f"(parameter {vec(dims)} {vec(strides)} {r})"
        return Instance(shape, tuple(key.operands), tuple(self.index(e) for e in key.extents), param.name)


def require_extents(param: ir.Param) -> None:
    """Raises Refused for a tensor parameter with a negative extent."""
    if not isinstance(param.type, ir.TensorType):
        return
    for axis, extent in enumerate(param.type.shape):
        if isinstance(extent, ir.Int) and extent.value < 0:
            raise Refused(
                "shape-constant",
                f"an extent of a tensor is 0 or more; axis {axis} of {param.name} has {extent.value}",
                param.span,
                'write the extent, or a name for one that run time tells: M = pl.dynamic("M")',
            )


def vec(items: list[str]) -> str:
    """The term of a list."""
    return f"(vec-of {' '.join(items)})" if items else "(vec-empty)"
