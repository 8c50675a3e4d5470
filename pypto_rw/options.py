"""What a text is compiled for: the keyword arguments of `lower`, `check` and the others, read once and handed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypto_rw.records import dataclass, replace

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TypedDict, Unpack

    from pypto_rw.inspection import Inspection

    class Given(TypedDict, total=False):
        """The keyword arguments as type checkers see them; `Options` says what they mean and what they are if left out.

        `target` may be a synonym."""

        filename: str
        target: str
        planner: str
        ptoas: str
        reference: bool
        loc: bool
        rules: Sequence[str | Path]
        functions: Sequence[str] | None
        assembler_checks: bool
        emit_tile_addr: bool | None
        inspection: Inspection | None


TARGETS = {"a2a3": "a2a3", "a3": "a2a3", "Ascend910B": "a2a3", "a5": "a5", "Ascend950": "a5"}
PLANNERS = ("pypto", "dsa_rp", "ptoas")
ASSEMBLERS = ("0.57", "0.60")


@dataclass(frozen=True, slots=True)
class Options:
    """What a text is compiled for; `Options.of` makes it of keyword arguments.

    `filename` names the text in diagnostics and locations. `target`: `a2a3` or `a5`. `planner`: `pypto`, `dsa_rp` or
    `ptoas` (no addresses). `ptoas`: the assembler's version. `reference`: as the reference build prints it. `loc`:
    source places on op lines. `rules`: folders searched before the built-in rules. `functions` limits the output to
    these. `assembler_checks`: warnings of what the assembler would refuse. `emit_tile_addr`: whether `pto.alloc_tile`
    carries an address; None: as the planner has it. `inspection` says which rules take part and is shown what they do.
    """

    filename: str = "<string>"
    target: str = "a2a3"
    planner: str = "pypto"
    ptoas: str = "0.57"
    reference: bool = False
    loc: bool = True
    rules: Sequence[str | Path] = ()
    functions: Sequence[str] | None = None
    assembler_checks: bool = True
    emit_tile_addr: bool | None = None
    inspection: Inspection | None = None

    @staticmethod
    def of(**given: Unpack[Given]) -> Options:
        """The options of these keyword arguments. Raises ValueError for one out of range."""
        asked = Options(**given)
        for what, value, known in (
            ("target", asked.target, TARGETS),
            ("planner", asked.planner, PLANNERS),
            ("assembler version", asked.ptoas, ASSEMBLERS),
        ):
            if value not in known:
                raise ValueError(f"unknown {what} {value!r}; known: {', '.join(known)}")
        chip = TARGETS[asked.target]
        return asked if chip == asked.target else replace(asked, target=chip)

    @property
    def addresses(self) -> bool:
        """Whether `pto.alloc_tile` carries an address."""
        return self.planner != "ptoas" if self.emit_tile_addr is None else self.emit_tile_addr

    @property
    def seen_planner(self) -> str:
        """The planner that a reader of the text takes it for: a text without addresses is for `ptoas`."""
        return "pypto" if self.addresses else "ptoas"

    @property
    def told(self) -> tuple[object, ...]:
        """All that the text of a function depends on, but for the rules and what is around the function."""
        return self.filename, self.target, self.planner, self.ptoas, self.reference, self.loc, self.emit_tile_addr

    @property
    def facts(self) -> tuple[str, ...]:
        """What the rules are told of the options."""
        return (
            "(addresses)" if self.addresses else "(no-addresses)",
            "(as-reference)" if self.reference else "(as-specified)",
        )
