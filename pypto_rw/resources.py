"""Where `grammar/` and `rules/` are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.realpath(__file__))


def folder(name: str) -> str:
    """The folder `name` (`"grammar"` or `"rules"`) of this installation."""
    inside = os.path.join(_PACKAGE, name)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(_PACKAGE), name)
