"""Where `grammar/` and `rules/` are (inside the installed package, or beside it in a checkout), and its version."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.realpath(__file__))


def folder(name: str) -> str:
    """The folder `name` (`"grammar"` or `"rules"`) of this installation."""
    inside = os.path.join(_PACKAGE, name)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(_PACKAGE), name)


def version() -> str:
    """The version of this installation; "0" in a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes a tenth of a cold start

    try:
        return version("pypto-rw")
    except PackageNotFoundError:
        return "0"
