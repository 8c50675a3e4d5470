"""`kernel_config.py`: what the runtime loads. Its keys are stable. Source: kernel-wrapper.md §8."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from pypto_rw import ir
from pypto_rw.records import dataclass
from pypto_rw.wrapper.templates import fill, fill_line, text
from pypto_rw.wrapper.units import external_source


class Runtime(Enum):
    """The runtime that executes a build; `value` is its name in the manifest and on the command line."""

    TENSORMAP_AND_RINGBUFFER = "tensormap_and_ringbuffer"
    HOST_BUILD_GRAPH = "host_build_graph"

    @classmethod
    def named(cls, name: str) -> Runtime:
        """The runtime of that name. Raises ValueError that lists the names."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(r.value for r in cls)
            raise ValueError(f"unknown runtime {name!r}; known: {known}") from None


class Direction(Enum):
    """What a task or the entry does with a tensor; `value` is the manifest's word."""

    IN = "IN"
    OUT = "OUT"
    INOUT = "INOUT"


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel that the orchestration launches. `directions`: of its tensors, in payload order."""

    id: int
    function: ir.Function
    core: str
    directions: tuple[Direction, ...]


def manifest(
    orchestration: str,
    signature: Sequence[Direction],
    kernels: Sequence[Launched],
    *,
    runtime: Runtime,
    sdma: bool,
    folder: Path,
) -> str:
    """Text of the manifest. `folder` is what relative paths of hand-written sources start from."""
    any_tensor = bool(signature) or any(k.directions for k in kernels)
    return text(
        fill(
            "manifest/kernel_config.py",
            imports=fill("manifest/imports.py") if any_tensor else [],
            runtime=runtime.value,
            sdma=fill("manifest/sdma.py") if sdma else [],
            orchestration=orchestration,
            signature=fill("manifest/signature.py", directions=_words(signature)) if signature else [],
            kernels=[_kernel(k, folder) for k in sorted(kernels, key=lambda k: k.id)],
        )
    )


def _kernel(kernel: Launched, folder: Path) -> str:
    name, external = kernel.function.name, external_source(kernel.function)
    source = fill_line("manifest/kernel_source.py", core=kernel.core, name=name)
    mark = ""
    if external is not None:
        source = repr(os.path.normpath(folder / external))
        folders = dict(kernel.function.options).get("extra_include_dirs")
        listed = [i.value for i in folders.items if isinstance(i, ir.Str)] if isinstance(folders, ir.Tuple) else []
        includes = fill_line("manifest/kernel_includes.py", folders=repr(listed)) if listed else ""
        mark = fill_line("manifest/kernel_external.py", includes=includes)
    words = _words(kernel.directions)
    return fill_line(
        "manifest/kernel.py",
        id=str(kernel.id),
        name=name,
        source=source,
        core=kernel.core,
        external=mark,
        signature=fill_line("manifest/kernel_signature.py", directions=words) if words else "",
    )


def _words(directions: Sequence[Direction]) -> str:
    return ", ".join(f"_D.{d.value}" for d in directions)
