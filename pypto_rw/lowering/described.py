"""An op and the types of its operands as an author writes them, for a refusal: imported only where one is made."""

from __future__ import annotations

import re
from typing import Any

from pypto_rw import ir
from pypto_rw.diagnostics import InternalError
from pypto_rw.rewriting.ruletext import Node, forms
from pypto_rw.shaping.typing import type_of
from pypto_rw.syntax import type_text

_EXTENT = re.compile(r"\((?:dyn|inside) (\d+)")


def described(op: str, operands: list[str], results: list[str]) -> str:
    """`tile.exp of pl.Tile[[16, 64], pl.FP32] into …`, of type terms in rule text; `_` for what run time tells."""
    told = [op]
    for word, texts in (("of", operands), ("into", results)):
        told += [word, ", ".join(map(_written, texts))] if texts else []
    return " ".join(told)


def _written(text: str) -> str:
    """A type term as `.pyir`, or as it is where nobody writes such a type."""
    extents = max((int(n) for n in _EXTENT.findall(text)), default=-1) + 1
    try:
        return type_text(type_of(_term(forms(text)[0]), (ir.Name("_"),) * extents))
    except (InternalError, KeyError, ValueError):
        return text


def _term(node: Node) -> Any:
    if node.is_list:
        return tuple(map(_term, node.parts))
    text = node.text
    if text.startswith('"'):
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else text
