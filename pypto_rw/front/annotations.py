"""A written type against the deduced one: what is written must agree, what is not written is filled in."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.layout import effective_view
from pypto_rw.records import replace
from pypto_rw.shaping.values import Refused, kind_name, kind_of

_HELP = "correct or drop the annotation"


def completed(name: str, written: ir.Type | None, deduced: ir.Type) -> ir.Type:
    """The type of `name`. Raises Refused, showing both, where the annotation disagrees with what is deduced."""
    if written is None or written == deduced:
        return deduced
    if isinstance(written, ir.OpaqueType):
        return written if not isinstance(deduced, ir.TileType | ir.TensorType | ir.ScalarType) else deduced
    if kind_of(written) != kind_of(deduced):
        raise Refused(
            "annotation-kind",
            f"{name} is annotated as {kind_name(written)}, but the result is {kind_name(deduced)}",
            help=_HELP,
        )
    match written, deduced:
        case ir.TileType(), ir.TileType():
            if len(deduced.shape) == 2:
                written = replace(written, shape=_flat(written.shape))
            _agree(name, written, deduced)
            return _tile(name, written, deduced)
        case ir.TensorType(), ir.TensorType():
            _agree(name, written, deduced)
            return replace(
                deduced, memref=written.memref, view=written.view if written.view is not None else deduced.view
            )
        case ir.ScalarType(), ir.ScalarType():
            if written.dtype is not deduced.dtype:
                raise _differs(name, "dtype", written.dtype.value, deduced.dtype.value)
    return written


def _flat(shape: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """A shape of more than two axes as rows and columns, as a tile has it."""
    rows = 1
    for d in shape[:-1]:
        rows *= d.value if isinstance(d, ir.Int) else 0
    return (ir.Int(rows), shape[-1]) if len(shape) > 2 and rows else shape


def _agree(name: str, written: ir.TileType | ir.TensorType, deduced: ir.TileType | ir.TensorType) -> None:
    if written.dtype is not deduced.dtype:
        raise _differs(name, "dtype", written.dtype.value, deduced.dtype.value)
    if len(written.shape) != len(deduced.shape):
        raise _differs(name, "rank", str(len(written.shape)), str(len(deduced.shape)))
    for a, b in zip(written.shape, deduced.shape, strict=True):
        if isinstance(a, ir.Int) and isinstance(b, ir.Int) and a.value != b.value:
            raise _differs(name, "shape", shown(written.shape), shown(deduced.shape))


def _tile(name: str, written: ir.TileType, deduced: ir.TileType) -> ir.TileType:
    if written.space and deduced.space and written.space is not deduced.space:
        raise _differs(name, "space", written.space.value, deduced.space.value)
    space = deduced.space or written.space
    view = deduced.view
    if written.view is not None:
        view = _view(name, replace(written, space=space), replace(deduced, space=space))
    return replace(deduced, memref=written.memref, space=space, view=view)


def _view(name: str, written: ir.TileType, deduced: ir.TileType) -> ir.TileView | None:
    w, has = effective_view(written), effective_view(deduced)
    asked = written.view
    assert asked is not None
    if asked.valid is not None:
        pairs = zip(w.valid, has.valid, strict=False)
        if any(isinstance(a, ir.Int) and isinstance(b, ir.Int) and a.value != b.value for a, b in pairs):
            raise _differs(name, "valid_shape", shown(w.valid), shown(has.valid))
    for field in ("blayout", "slayout", "fractal", "pad"):
        if getattr(asked, field) is not None and getattr(w, field) != getattr(has, field):
            a, b = (getattr(v, field) for v in (w, has))
            raise _differs(name, field, str(getattr(a, "value", a)), str(getattr(b, "value", b)))
    if asked.valid is None:
        return deduced.view
    merged = replace(deduced.view or ir.TileView(), valid=asked.valid if asked.valid != written.shape else None)
    return merged if merged != ir.TileView() else None


def shown(dims: tuple[ir.Expr, ...]) -> str:
    """A shape as a message shows it; what is no number or name is `?`."""
    texts = (str(d.value) if isinstance(d, ir.Int) else d.id if isinstance(d, ir.Name) else "?" for d in dims)
    return f"[{', '.join(texts)}]"


def _differs(name: str, what: str, written: str, found: str) -> Refused:
    return Refused(
        f"annotation-{what.replace('_', '-')}",
        f"the annotation of {name} says {what} {written}, but the result's {what} is {found}",
        help=_HELP,
    )
