"""The syntax layer: text of `.pyir` -> ir.Module and back."""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.syntax.reader import parse

__all__ = ["parse", "write"]


def write(module: ir.Module) -> str:
    """Text of `module`, ending in one line feed."""
    from pypto_rw.syntax.writer import write as write_text  # a compilation prints no module

    return write_text(module)
