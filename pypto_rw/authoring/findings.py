"""What is wrong in a rule file, at its line."""

from __future__ import annotations

from pypto_rw.records import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: the file's path and line, a stable code, what was found, and the way out."""

    path: str
    line: int
    code: str
    message: str
    help: str = ""

    def __str__(self) -> str:
        text = f"{self.path}:{self.line}: {self.code}: {self.message}"
        return f"{text}\n  help: {self.help}" if self.help else text
