"""Own kernels that between them use every form of the language."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "texts"
AUTHORED, BARE, DUMP = ALL = tuple(
    [(_FOLDER / f"{name}.pyir").read_text(encoding="utf-8") for name in ("authored", "bare", "dump")]
)
