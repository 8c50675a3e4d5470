"""The assembler `ptoas`: where it is, how it is called, and what can go wrong with it. Source: kernel-wrapper.md §3."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from pypto_rw.records import dataclass, field
from pypto_rw.wrapper.units import Unit

TIME_LIMIT = 60.0  # seconds for one unit
_ARCH = {"a2a3": "a3", "a5": "a5"}
_PLACES = ("ptoas", "ptoas.sh", "bin/ptoas")
_KEPT = 64 * 1024  # bytes of what the assembler says that are shown


class Failed(Exception):
    """The assembler did not assemble; the message says how. Several threads may raise it, so it is nothing of ours."""


class NotFound(FileNotFoundError):
    """There is no assembler; the message says where it was looked for."""


def locate(path: str | os.PathLike[str] | None = None) -> Path:
    """The assembler: `path` (it or its folder) if given, else under `PTOAS_ROOT` if set, else on `PATH`.

    Raises NotFound."""
    if path is not None and not os.path.isdir(path):
        if found := shutil.which(os.fspath(path)):
            return Path(found).absolute()
        raise NotFound(f"no assembler at {os.fspath(path)}: it is no executable file")
    root = os.environ.get("PTOAS_ROOT") if path is None else os.fspath(path)
    if root:
        tried = [Path(root) / place for place in _PLACES]
        for candidate in tried:
            if candidate.is_file() and os.access(candidate, os.X_OK):
                return candidate.absolute()
        said = f"under PTOAS_ROOT={root}" if path is None else f"in {root}"
        places = ", ".join(map(str, tried))
        raise NotFound(f"no assembler {said}: none of {places} is an executable file")
    if found := shutil.which("ptoas"):
        return Path(found).absolute()
    raise NotFound(
        "no assembler: ptoas is not on PATH and PTOAS_ROOT is not set; set PTOAS_ROOT to its folder, "
        "give --ptoas PATH, or build without it (--skip-ptoas)"
    )


@dataclass(slots=True)
class Assembler:
    """Runs one program for many units, from several threads. `stop` ends what is running."""

    path: Path
    target: str
    addresses: bool
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def arguments(self, unit: str, folder: Path, dump: bool) -> list[str]:
        """The command for the unit's `.pto` in `folder`/ptoas."""
        base = folder / "ptoas"
        command = [str(self.path), str(base / f"{unit}.pto"), "-o", str(base / f"{unit}.cpp"), "--enable-insert-sync"]
        command.append(f"--pto-level={'level3' if self.addresses else 'level2'}")
        if dump:
            command += ["--mlir-print-ir-after-all", "--mlir-print-ir-module-scope"]
            command.append(f"--mlir-print-ir-tree-dir={folder / 'ptoas_passes' / unit}")
        return [*command, "--pto-arch", _ARCH[self.target]]

    def run(self, unit: Unit, folder: Path, shown: Path, *, dump: bool) -> str:
        """The C++ of `unit`. `shown` is what the author knows `folder` as. Raises Failed."""
        output = folder / "ptoas" / f"{unit.name}.cpp"
        if dump:
            (folder / "ptoas_passes" / unit.name).mkdir(parents=True, exist_ok=True)
        try:
            code, said = self._execute(self.arguments(unit.name, folder, dump))
            if code != 0:
                raise Failed(_explained(code, said.replace(str(folder), str(shown))))
            return _checked(unit, output)
        except OSError as error:
            raise Failed(f"cannot run {self.path}: {error.strerror or error}") from None
        except Failed:
            output.unlink(missing_ok=True)
            raise

    def _execute(self, command: Sequence[str]) -> tuple[int | None, str]:
        """Exit code (None: the time was up) and what was said on stderr, or on stdout where stderr is silent."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with self._lock:
                if self._stopped:
                    raise KeyboardInterrupt
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
                )
                self._running.add(process)
            try:
                code: int | None = process.wait(TIME_LIMIT)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
                with self._lock:
                    self._running.discard(process)
            said = _tail(err) or _tail(out)
        if code is None:
            said = f"timed out after {TIME_LIMIT:g} s" + (f"\n{said}" if said else "")
        return code, said

    def stop(self) -> None:
        """End what is running, and run nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _KEPT))
    words = stream.read().decode("utf-8", errors="replace").strip()
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in words)


def _explained(code: int | None, said: str) -> str:
    if code is None:
        return said
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "a signal"
        return f"Error: it was ended by {name} ({-code})" + (f"\n{said}" if said else "")
    return said or f"exit code {code}, without a message"


def _checked(unit: Unit, output: Path) -> str:
    """The text the assembler wrote, with every member of the unit in it."""
    try:
        cpp = output.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise Failed("it ended well but wrote no C++") from None
    except UnicodeDecodeError:
        raise Failed("what it wrote is not text") from None
    if not cpp.strip():
        raise Failed("it ended well but wrote an empty file")
    if "\0" in cpp:
        raise Failed("what it wrote is not text")
    missing = [m.name for m in unit.members if not re.search(rf"\b{re.escape(m.name)}\s*\(", cpp)]
    if missing:
        raise Failed(f"what it wrote has no function {', '.join(missing)}")
    return cpp
