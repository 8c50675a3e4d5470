"""What the rule files say that a memory planner needs: of an op, and of a target.

Nothing is known here that a rule file does not state; rules/core/families.egg lists the facts.
"""

from __future__ import annotations

from pypto_rw import ir
from pypto_rw.records import dataclass
from pypto_rw.rewriting.declared import Signature
from pypto_rw.rewriting.rulebook import Rulebook

ALIGNMENT = 32  # bytes, in every memory space (memory-planning.md §6)
_ROWS = 16
_L0 = frozenset({ir.Space.Left, ir.Space.Right, ir.Space.Acc, ir.Space.Bias, ir.Space.LeftScale, ir.Space.RightScale})


def aligned(size: int) -> int:
    """`size` bytes, up to the next allowed address."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True, slots=True)
class OpFacts:
    """One op. `inherits`: the operand its result is a view of; `updates`: the operand it writes in place;
    `apart`: operands (by position) whose memory the result may not take, None for all of them; `narrower`: the same
    for operands with narrower elements; `access`: `functional`, `none` or "" (unknown); `popped`: its result comes
    from the other core and has no memory of its own; `window`: (operand, offsets) of a window;
    `reserves`: (size, base) parameters of a reserved buffer."""

    signature: Signature
    inherits: str | None = None
    updates: str | None = None
    apart: tuple[int, ...] | None = ()
    narrower: tuple[int, ...] = ()
    writes: str | None = None
    access: str = ""
    popped: str | None = None
    window: tuple[str, str] | None = None
    from_global: bool = False
    passes_load: bool = False
    reserves: tuple[str, str] | None = None

    @property
    def unsafe_in_place(self) -> bool:
        """Whether the op can never write over an operand (of those in `apart`)."""
        return self.signature.trait("never-in-place") is not None


class Facts:
    """The facts of one rulebook and target; sizes in bytes."""

    def __init__(self, rulebook: Rulebook, target: str) -> None:
        self.target = target
        self._rulebook = rulebook
        self._ops: dict[str, OpFacts | None] = {}
        file = rulebook.file(f"target/{target}")
        stated = file.facts if file is not None else ()
        self.capacity = {ir.Space[f[1]]: int(f[2]) for f in stated if f[0] == "capacity"}
        self._routes = {(ir.Space[f[1]], ir.Space[f[2]]): f[3] for f in stated if f[0] == "route"}
        self._rows = {f[1]: int(f[2]) for f in stated if f[0] == "accumulator-rows"}
        self.load_pop_hazard = any(f[0] == "load-pop-hazard" for f in stated)

    def op(self, name: str) -> OpFacts | None:
        """Facts of the op `name`; None for one without a rule file."""
        if name not in self._ops:
            signature = self._rulebook.signature(name)
            self._ops[name] = self._read(signature) if signature is not None else None
        return self._ops[name]

    def accumulator_rows(self, dtype: ir.DType) -> int:
        """Rows of an accumulator are stored in multiples of this."""
        return self._rows.get(dtype.value, _ROWS)

    def route(self, source: ir.Space, target: ir.Space) -> str | None:
        """The pipe that moves data from one space to another; None where the chip has no such transfer."""
        return self._routes.get((source, target))

    def _read(self, s: Signature) -> OpFacts:
        def first(name: str) -> str | None:
            trait = s.trait(name)
            return trait[0] if trait else None

        inherits, in_place, makes = first("inherits"), first("in-place"), first("makes") or ""
        apart: tuple[int, ...] | None = tuple(map(int, (first("not-over") or "").split()))
        if s.trait("never-in-place") is not None:
            some = s.trait("never-in-place-first")
            apart = tuple(range(int(some[1]))) if some and some[0] == self.target else None
        window = s.trait("makes-window")
        reserves = s.trait("reserves")
        return OpFacts(
            signature=s,
            inherits=inherits,
            updates=in_place if inherits is None else None,
            apart=apart,
            narrower=tuple(map(int, (first("not-over-narrower") or "").split())),
            writes=first("writes"),
            access=first("access") or "",
            popped=makes if makes.startswith("popped") else None,
            window=(window[0], window[1]) if window else None,
            from_global=s.trait("from-global") is not None,
            passes_load=s.trait("passes-load") is not None,
            reserves=(reserves[0], reserves[1]) if reserves else None,
        )


def facts_of(rulebook: Rulebook, target: str) -> Facts:
    """The facts of a rulebook and target, read out once."""
    key = ("memory", target)
    found = rulebook.read_out.get(key)
    if not isinstance(found, Facts):
        found = rulebook.read_out[key] = Facts(rulebook, target)
    return found


def in_l0(space: ir.Space | None) -> bool:
    """Whether a space is one of the cube's operand memories."""
    return space in _L0
