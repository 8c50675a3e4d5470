"""A strict reader of `.pto` text: what the compiler prints, checked without the compiler.

`verify` reads the text with its own tokens, types and line forms (`forms.py`, one form per op) and checks:

* `reader`: the module and function skeleton, balanced braces, one op of a known form per line, well-formed types;
* here: the target printed, function names once, calls of declared functions with their argument types;
* `values`: every SSA name defined once, before and dominating its uses; one type per value; constants once (value and
  type), at the head of the function, but for the inline ones (bool, 0 of `not` and `-x`, -1 of `~`);
* `regions`: terminators, yields, conditions and block arguments: their number and types;
* `extents`: `?` where a valid operand is given and numbers in views, ranks, windows and partitions inside their source;
* `storage`: addresses present as the planner says, on 32 bytes, inside the memory space of the target;
* `contents`: no tile read before it was written, none overwritten through another while it is still to be read.

Sources: types-and-memory.md, control-and-scalars.md, cross-core.md, memory-planning.md."""

from __future__ import annotations

from pypto_rw.diagnostics import Diagnostic
from pypto_rw.verifier.contents import check_contents
from pypto_rw.verifier.extents import check_extents
from pypto_rw.verifier.findings import Findings, listed
from pypto_rw.verifier.reader import Module, read
from pypto_rw.verifier.regions import check_regions
from pypto_rw.verifier.storage import check_storage
from pypto_rw.verifier.values import check_values

__all__ = ["verify"]


def verify(
    text: str, *, target: str = "a2a3", planner: str = "pypto", ptoas: str = "0.57", filename: str = "<string>"
) -> list[Diagnostic]:
    """Everything wrong with the `.pto` `text`, in its order; empty for a text as the compiler prints it.

    `planner`: `pypto` and `dsa_rp` print addresses, `ptoas` leaves them to the assembler. `ptoas` is the assembler
    version; all forms read here are those of every version known. Checks that build on a line's form are made only
    where the text has the form: syntax first, the rest once that is right."""
    findings = Findings(filename)
    module = read(text, findings)
    if findings:
        return findings.sorted()
    _check_module(module, target, findings)
    for function in module.functions:
        findings.function = function.name[1:]
        check_values(function, findings)
        check_regions(function, findings)
        check_extents(function, findings)
        storage = check_storage(function, target, planner, findings)
        check_contents(function, storage, findings)
    return findings.sorted()


def _check_module(module: Module, target: str, findings: Findings) -> None:
    if module.arch is not None and module.arch.text != f'"{target}"':
        findings.report(
            "wrong-target",
            module.arch,
            f"the module is for {module.arch.text}, not for {target}",
            f'print `pto.target_arch = "{target}"`',
        )
    signatures: dict[str, list[str]] = {}
    headers = [*(f.operations[0] for f in module.functions), *module.declared]
    for header in sorted(headers, key=lambda h: h.token.line):
        name = next(x for x in header.literals if x.startswith("@"))
        if name in signatures:
            findings.report(
                "duplicate-function", header.token, f"{name} is there a second time", "functions have different names"
            )
        signatures.setdefault(name, header.declared or [text for _, text in header.bound])
    for function in module.functions:
        for operation in function.operations:
            if operation.name != "func.call":
                continue
            got, wanted = [u.type for u in operation.uses], signatures.get(operation.literals[0])
            if wanted is None:
                findings.report(
                    "unknown-function",
                    operation.token,
                    f"{operation.literals[0]} is nowhere in the module",
                    "declare it with `func.func private`",
                )
            elif got != wanted:
                findings.report(
                    "call-signature",
                    operation.token,
                    f"{operation.literals[0]} takes {listed(wanted)}, the call gives {listed(got)}",
                    "call it with the types it takes",
                )
