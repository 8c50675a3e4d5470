"""A stand-in for the assembler: reads a `.pto`, writes C++ with the same functions, parameters and FIFO endpoints.

`PTOAS_STANDIN` says what to do instead: hang, crash, garble, truncate, nothing, empty, foreign; or it is a folder with
`<unit>.cpp` to copy and `<unit>.fail` to say. `PTOAS_STANDIN_LOG` names a file that gets the arguments of every call,
`PTOAS_STANDIN_PID` one that gets its process id.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

_TYPES = {
    "f32": "float",
    "f16": "half",
    "bf16": "bfloat16_t",
    "f8E4M3FN": "float8_e4m3_t",
    "f8E5M2": "float8_e5m2_t",
    "!pto.f8E8M0": "float8_e8m0_t",
    "!pto.f4E2M1x2": "float4_e2m1x2_t",
    "i1": "bool",
    "index": "int64_t",
    **{f"i{n}": f"int{n}_t" for n in (8, 16, 32, 64)},
    **{f"ui{n}": f"uint{n}_t" for n in (8, 16, 32, 64)},
}
_FUNCTION = re.compile(r"func\.func @(\w+)\((.*?)\)(?: attributes .*)? \{$")
_AXES = {"0": "TILE_NO_SPLIT", "1": "TILE_UP_DOWN", "2": "TILE_LEFT_RIGHT"}
_ENDPOINT = re.compile(r"pto\.(tpush|tpop)_\w+.*split = (\d)")


def translated(pto: str) -> str:
    """C++ with the functions of the module `pto`."""
    out = ['#include "pto/pto-inst.hpp"', "#include <cstdint>", "using namespace pto;", ""]
    lines = pto.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if m := _FUNCTION.match(line.strip()):
            types = [p.split(": ", 1)[1] for p in m[2].split(", ")] if m[2] else []
            parameters = ", ".join(f"{_type(t)} v{k}" for k, t in enumerate(types, 1))
            out += [
                f'extern "C" __global__ AICORE void {m[1]}({parameters}) {{',
                "  using T = float;",
                "  Tensor* keep = nullptr;",
            ]
            out += ["  set_ffts_base_addr(0);", "  Pipe pipe; Tile tile;"]
        elif m := _ENDPOINT.search(line):
            out.append(f"  {m[1].upper()}<Pipe, Tile, TileSplitAxis::{_AXES[m[2]]}>(pipe, tile);")
        elif line == "  }" and before == "  return":
            out += ["}", ""]
    return "\n".join(out)


def _type(text: str) -> str:
    return f"__gm__ {_TYPES[text[len('!pto.ptr<') : -1]]}*" if text.startswith("!pto.ptr<") else _TYPES[text]


def main() -> int:
    """The command line of the assembler, as far as a build uses it."""
    source, output = Path(sys.argv[1]), Path(sys.argv[3])
    if log := os.environ.get("PTOAS_STANDIN_LOG"):
        with open(log, "a") as out:
            out.write(" ".join(sys.argv[1:]) + "\n")
    if pid := os.environ.get("PTOAS_STANDIN_PID"):
        Path(pid).write_text(f"{os.getpid()}\n")
    order = os.environ.get("PTOAS_STANDIN", "")
    if order == "hang":
        time.sleep(600)
    if order == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if order == "garble":
        output.write_bytes(bytes(range(256)) * 4)
        return 0
    if order == "noise":
        sys.stderr.buffer.write(bytes(range(256)) * 1000)
        return 3
    if order == "nothing":
        return 0
    if order == "empty":
        output.write_text("\n")
        return 0
    if order == "foreign":
        output.write_text('extern "C" __global__ AICORE void another(int v1) {}\n')
        return 0
    if order == "slow":
        time.sleep(0.2)
    if order and os.path.isdir(order):
        said = Path(order) / f"{source.stem}.fail"
        if said.exists():
            sys.stderr.write(said.read_text())
            return 1
        shutil.copy(Path(order) / f"{source.stem}.cpp", output)
        return 0
    output.write_text(translated(source.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
