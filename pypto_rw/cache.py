"""What one process works out and the next can use: plain values in the user's cache folder.

A file holds a checksum and one value of tuples, lists, dicts, texts and numbers. A damaged, foreign or unreadable
file counts as absent; a folder that cannot be written is left alone. A file is replaced by one rename, so a
reader sees the old value or the new one, whole. `PYPTO_RW_CACHE` names another folder; empty, it turns this off.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from typing import Any

_KIND = f"1 {sys.version}".encode()  # marshal's format belongs to the interpreter

_PRIME = 2**127 - 1


def load(name: str) -> Any:
    """The value stored as `name` (a relative path), or None."""
    folder = _folder()
    if folder is None:
        return None
    try:
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        return marshal.loads(content[4:]) if content[:4] == _checksum(content[4:]) else None
    except (OSError, ValueError, EOFError, TypeError):
        return None


def store(name: str, value: Any) -> None:
    """Store `value` as `name`; without a place for it, do nothing."""
    folder = _folder()
    if folder is None:
        return
    import tempfile  # slow to import, and a cache is rarely written

    path = os.path.join(folder, name)
    try:
        content = marshal.dumps(value)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle, new = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path))
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(content) + content)
            os.replace(new, path)
        except OSError:
            os.unlink(new)
            raise
    except (OSError, ValueError):
        return


def keep_newest(name: str, count: int) -> None:
    """Delete all but the `count` folders below the folder `name` that were written last."""
    folder = _folder()
    if folder is None:
        return
    import shutil

    try:
        found = sorted(os.scandir(os.path.join(folder, name)), key=lambda e: -e.stat().st_mtime_ns)
        for entry in found[count:]:
            shutil.rmtree(entry.path, ignore_errors=True)
    except OSError:
        return


def digest(*parts: object) -> str:
    """A name of 40 hex digits for a key. `hashlib` would take as long to import as a small kernel takes to lower."""
    data = b"\1" + repr(parts).encode("utf-8", "replace")
    return f"{int.from_bytes(data, 'big') % _PRIME:032x}{zlib.crc32(data):08x}"


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(_KIND + content).to_bytes(4, "big")


def _folder() -> str | None:
    own = os.environ.get("PYPTO_RW_CACHE")
    if own is not None:
        return own if os.path.isabs(own) else None
    root = os.environ.get("XDG_CACHE_HOME", "")
    home = root if os.path.isabs(root) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "pypto_rw") if os.path.isabs(home) else None
