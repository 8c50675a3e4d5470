"""The smallest module that is still interesting, by delta debugging (Zeller and Hildebrandt 2002) on the parsed module.

    trees   paths into a module: reading and replacing what stands there
    edits   what may be made smaller, and how
    search  tries the edits, the largest first, until none is left that keeps the module interesting

Candidates are modules that are written out, so each is well-formed; whether it also compiles is for the test to say."""

from __future__ import annotations

from pypto_rw.reduction.search import Progress, reduced

__all__ = ["Progress", "reduced"]
