"""Conditions of the fact files: their values, and what is unknown."""

from __future__ import annotations

import pytest

from pypto_rw.assembler.expression import fields, holds

_VALUES = {
    "a": {"cols": 64, "elem": "f32", "value": None},
    "b": {"cols": 32, "elem": "i32", "value": -1},
    "list": [16, None, 4],
    "bounds": [16, 16, 2],
}


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("a.cols == b.cols * 2", True),
        ("a.cols + b.cols <= 95", False),
        ("a.cols % 32 == 0 and b.cols // 5 == 6", True),
        ("a.elem in 'f16 f32'", True),
        ("a.elem in 'f3 2'", False),
        ("a.elem not in 'i8 f32'", False),
        ("a.cols in (1, 64)", True),
        ("b.value >= 0", False),
        ("-b.value == 1", True),
        ("1 < 2 < 2", False),
        ("a.elem + '>' + b.elem == 'f32>i32'", True),
        ("ceil(a.cols, 48) == 2 and max(a.cols, 70) == 70", True),
        ("list[0] == 16 and length(list) == 3 and low(list) == 4", True),
        ("within(list, list, bounds)", False),
        ("agree(list, bounds)", False),
        ("not (a.cols == 64)", False),
        # what is not known is neither true nor false
        ("a.value >= 0", None),
        ("missing.cols == 64", None),
        ("a.value >= 0 or a.cols == 64", True),
        ("a.value >= 0 or a.cols == 1", None),
        ("a.value >= 0 and a.cols == 1", False),
        ("not (a.value == 0)", None),
        ("a.cols % 0 == 0", None),
        ("list[1] == 0", None),
        ("list[7] == 0", None),
        ("known(a.value)", False),
    ],
)
def test_a_condition_has_the_value(condition: str, value: object) -> None:
    assert holds(condition, _VALUES.get) is value


def test_fields_are_those_read_once_in_order() -> None:
    assert list(fields("a.cols == b.cols or a.cols in 'x.y' and c.elem == 1")) == [
        ("a", "cols"),
        ("b", "cols"),
        ("c", "elem"),
    ]


@pytest.mark.parametrize("condition", ["a.cols ==", "a.cols = 1", "a.cols 1", "(a.cols", "== 1"])
def test_a_misspelled_condition_is_refused(condition: str) -> None:
    with pytest.raises(ValueError, match="condition"):
        holds(condition, _VALUES.get)
