"""Data classes are those of the standard library, from the first object to the last."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from pypto_rw import records

Make = Callable[..., Any]


def _classes(decorate: Make, field: Make) -> tuple[type, type]:
    @decorate(frozen=True, slots=True)
    class Frozen:
        a: int
        b: int = 2
        c: tuple[int, ...] = field(default=(), compare=False)

    @decorate(slots=True)
    class Open:
        a: int
        b: list[int] = field(default_factory=list)

    return Frozen, Open


_CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, 3), {}),
    ((), {"a": 1}),
    ((1,), {"b": 3}),
    ((1, [3]), {}),
    ((), {"b": [3], "a": 1}),
    ((), {}),
    ((1, 2, 3, 4), {}),
    ((1,), {"a": 1}),
    ((1,), {"d": 1}),
    ((), {"b": 1}),
]


def _outcome(kind: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    try:
        made = kind(*args, **kwargs)
    except TypeError:
        return TypeError
    return [(name, getattr(made, name)) for name in kind.__match_args__]  # type: ignore[attr-defined]


@pytest.mark.parametrize("before", [0, 1, 7, 8, 9, 20])
@pytest.mark.parametrize(("args", "kwargs"), _CALLS)
def test_objects(args: tuple[Any, ...], kwargs: dict[str, Any], before: int) -> None:
    """The first objects of a class are made in another way than those that follow."""
    theirs = _classes(dataclasses.dataclass, dataclasses.field)
    ours = _classes(records.dataclass, records.field)
    for own, standard in zip(ours, theirs, strict=True):
        for n in range(before):
            assert _outcome(own, (n,), {}) == _outcome(standard, (n,), {})
        assert _outcome(own, args, kwargs) == _outcome(standard, args, kwargs)
        assert _outcome(own, args, kwargs) == _outcome(standard, args, kwargs)


@pytest.mark.parametrize("before", [0, 20])
def test_what_objects_do(before: int) -> None:
    for frozen, open_ in (
        _classes(dataclasses.dataclass, dataclasses.field),
        _classes(records.dataclass, records.field),
    ):
        several = [frozen(1, 2, (n,)) for n in range(before + 2)]
        assert several[0] == several[-1] != frozen(2, 2)
        assert hash(several[0]) == hash(several[-1])
        with pytest.raises(AttributeError):
            several[0].a = 3
        first, second = open_(1), open_(1)
        first.b.append(1)
        assert (first.b, second.b) == ([1], [])
        first.a = 3
        assert repr(first) == f"{open_.__qualname__}(a=3, b=[1])"
