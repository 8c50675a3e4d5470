"""The output folder: one build at a time, every file whole, nothing left of an earlier build or a killed one.

A build works in a folder of its own inside the output folder and moves its files into place at the end; the manifest
is taken away first and put back last. A record names the files that builds made, so that nothing else is removed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RECORD = ".pypto-rw-build"
_WORK = ".pypto-rw-work-"
_MANIFEST = "kernel_config.py"


class Output:
    """An output folder that is held by this build. `work` is where its files are made."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.folder, self.work = folder, work

    def write(self, path: str, text: str) -> None:
        """Make the file `path`, relative, in the work folder."""
        target = self.work / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))  # a report names files

    def publish(self) -> list[str]:
        """Move every file of the work folder into place; remove what earlier builds left. The files, sorted."""
        made = sorted(p.relative_to(self.work).as_posix() for p in self.work.rglob("*") if p.is_file())
        earlier = _recorded(self.folder)
        self._record(sorted({*made, *earlier}))
        remade = set(made)
        for path in (*(p for p in earlier if _is_manifest(p)), *(p for p in earlier if p not in remade)):
            _remove(self.folder, path)
        for path in sorted(made, key=lambda p: (_is_manifest(p), p)):
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(self.work / path, target)
        self._record(made)
        return made

    def _record(self, paths: list[str]) -> None:
        """Say which files of the folder are builds' own."""
        self.write(RECORD, "".join(f"{p}\n" for p in paths))
        os.replace(self.work / RECORD, self.folder / RECORD)


@contextmanager
def held(folder: Path) -> Iterator[Output]:
    """The folder `folder`, made if it is not there, for this build alone; another build waits. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        for left in folder.glob(f"{_WORK}*"):  # of builds that were killed
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(dir=folder, prefix=_WORK))
        try:
            yield Output(folder, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where folders cannot be locked either
        yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _is_manifest(path: str) -> bool:
    return path.rsplit("/", 1)[-1] == _MANIFEST


def _recorded(folder: Path) -> list[str]:
    """Files that earlier builds made here; paths that lead out of the folder are no record of ours."""
    try:
        lines = (folder / RECORD).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [p for p in lines if p and not p.startswith("/") and ".." not in p.split("/")]


def _remove(folder: Path, path: str) -> None:
    target = folder / path
    target.unlink(missing_ok=True)
    for parent in target.parents:
        if parent == folder or not parent.is_dir() or any(parent.iterdir()):
            break
        parent.rmdir()
