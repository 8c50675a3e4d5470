"""pypto_rw: a term-rewriting compiler from textual PyPTO IR (`.pyir`) to PTO-ISA MLIR (`.pto`)."""

from pypto_rw.collector import paused

with paused():  # a thousand functions and classes, and nothing to collect
    from pypto_rw.api import Lowered, build, check, lower, verify
    from pypto_rw.diagnostics import CompileError, Diagnostic, InternalError, Severity, Span

__all__ = [
    "CompileError",
    "Diagnostic",
    "InternalError",
    "Lowered",
    "Severity",
    "Span",
    "build",
    "check",
    "lower",
    "verify",
]
