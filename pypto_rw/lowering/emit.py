"""The printer: fills templates in for one function. Names, constants and places; no decision about meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto_rw import mlir
from pypto_rw.diagnostics import InternalError
from pypto_rw.lowering.printed import Distinct, Place
from pypto_rw.records import dataclass, field
from pypto_rw.shaping.operands import Const, Instance, Operand, Var

if TYPE_CHECKING:
    from typing import TypeGuard


_OFTEN = 3  # times that a template is printed step by step before it is compiled


class Emitter:
    """Text of one function.

    `bound` maps variables to SSA names, `types` SSA names to the type last printed for them, `constant_names` constants
    to SSA names. `compiles`: whether templates that are printed often are compiled."""

    compiles = True

    def __init__(self, *, reference: bool) -> None:
        self.reference = reference
        self.names: set[str] = set()
        self.wishes: dict[str, str] = {}  # names to ask for instead
        self.bound: dict[str, str] = {}
        self.owned: dict[str, str] = {}
        self.types: dict[str, str] = {}
        self.pointers: dict[str, str] = {}
        self.contexts: dict[str, str] = {}  # a window's pointer -> its communication context
        self.windows: dict[str, tuple[str, str, str]] = {}
        self.constants: list[str] = []
        self.lines: list[str] = []
        self.indent = "  "
        self.location = Place()
        self.distinct = Distinct()
        self.numbers: dict[str, tuple[int, object]] = {}  # integers that rules read, with what tells lines apart
        self.constant_names: dict[Any, str] = {}
        self._next = 0

    # -------------------------------------------------------------------------------- names

    def number(self) -> str:
        """The next free numbered name."""
        while str(self._next) in self.names:
            self._next += 1
        name = str(self._next)
        self._next += 1
        self.names.add(name)
        return f"%{name}"

    def named(self, wish: str) -> str:
        """`wish` as an SSA name, or a numbered one where it is taken."""
        wish = mlir.sanitized(self.wishes.get(wish, wish))
        if not wish or wish in self.names:
            return self.number()
        self.names.add(wish)
        return f"%{wish}"

    def fresh(self, wish: str) -> str:
        """A name for a value that no variable stands for."""
        return self.number() if not wish or wish[0] == "." else self.named(wish)

    def like(self, operand: Operand, wish: str) -> str:
        """A name for a value that is named after a variable."""
        return self.fresh(operand.name + wish) if isinstance(operand, Var) else self.number()

    def result(self, instance: Instance) -> str:
        """SSA name that the result of an instance has, or will have."""
        if instance.result is None:
            raise InternalError(f"{instance.shape} has no result to name")
        return self.bound.get(instance.result) or self.owned[instance.result]

    # ---------------------------------------------------------------------------- constants

    def constant(self, value: int | float, dtype: str) -> str:
        """SSA name of a constant, declared once per (value, dtype) at the function's head."""
        if type(value) is int and (known := self.constant_names.get((dtype, value))) is not None:
            return known
        is_float = dtype in mlir.FLOATS or isinstance(value, float)
        key = (dtype, value.hex() if isinstance(value, float) else float(value).hex() if is_float else value)
        name = self.constant_names.get(key)
        if name is not None:
            return name
        if dtype == "BOOL":
            name = self.number()
            self.line(f"{name} = arith.constant {int(value)} : i1")
            self.types[name] = "i1"
            return name
        element = mlir.element(dtype)
        if is_float:
            count = len(self.constant_names)
            name = self.named("cst" if count == 0 else f"cst_{count}")
            real = float(value)
            finite = real - real == 0 or self.reference
            text = mlir.float_text(real) if finite else mlir.float_bits(real, dtype)
            self.constants.append(f"  {name} = arith.constant {text} : {element}")
            if real - real != 0:
                self.distinct.constant(f"{name} = arith.constant {text} : {element}", self.location, name, element)
        else:
            sign = "n" if value < 0 else ""
            name = self.named(f"c{sign}{abs(int(value))}_{element}")
            if dtype == "INT64":  # an address matters up to its alignment
                if value < 0 or value % 512:
                    self.numbers[name] = (int(value), (value % 512, value < 0))
            elif dtype != "INDEX":
                self.numbers[name] = (int(value), value)
            signless = mlir.signless(dtype)
            if signless is None:
                self.constants.append(f"  {name} = arith.constant {value} : {element}")
            else:
                plain = self.number()
                bare = mlir.element(signless)
                self.constants.append(f"  {plain} = arith.constant {value} : {bare}")
                self.constants.append(f"  {name} = builtin.unrealized_conversion_cast {plain} : {bare} to {element}")
        self.constant_names[key] = name
        self.types[name] = element
        return name

    # ---------------------------------------------------------------------------- templates

    def line(self, text: str) -> None:
        """One op line at the present indentation and place."""
        self.lines.append(f"{self.indent}{text}{self.location.text}")

    def open(self, text: str) -> None:
        """A structural line that opens a region."""
        self.lines.append(f"{self.indent}{text}")
        self.indent += "  "

    def middle(self, text: str) -> None:
        """`} else {` and its like."""
        self.lines.append(f"{self.indent[:-2]}{text}")

    def close(self) -> None:
        """The end of a region."""
        self.indent = self.indent[:-2]
        self.lines.append(f"{self.indent}}}")

    def run(self, instance: Instance) -> str | None:
        """Print an instance; the SSA name its result is bound to, if any."""
        template = instance.template
        if template is None:
            raise InternalError(f"no template for {instance.shape}")
        ready = template.ready
        if ready is None and self.compiles:
            template.used += 1
            if template.used > _OFTEN:
                from pypto_rw.lowering.compiled import compiled  # a small kernel does without

                ready = template.ready = compiled(template)
        if ready is not None and self.compiles:
            try:
                name: str | None = ready[0](self, instance, ready[1])
                return name
            except KeyError as error:
                raise InternalError(f"a value of {instance.shape} is missing: {error}") from None
        frame = _Frame(instance, [None] * template.slots)
        self._steps(template.steps, frame)
        return frame.result if instance.result is None else self.bound.get(instance.result, frame.result)

    def operand(self, operand: Operand) -> str:
        """SSA name of an operand; an instance is printed now."""
        if isinstance(operand, Var):
            try:
                return self.bound[operand.name]
            except KeyError:
                raise InternalError(f"the variable {operand.name} has no value") from None
        if isinstance(operand, Const):
            return self.constant(operand.value, operand.dtype)
        name = self.run(operand)
        if name is None:
            raise InternalError(f"the expression {operand.shape} has no value")
        return name

    def uncast(self, operand: Operand) -> str:
        """SSA name of an operand as it was before it was brought to the type index."""
        return self.operand(operand.operands[0] if is_index_cast(operand) else operand)

    def _steps(self, steps: tuple[Any, ...], frame: _Frame) -> None:
        for step in steps:
            kind = step[0]
            if kind == "line":
                self._line(step, frame)
            elif kind == "eval":
                self._value(step[1], frame)
            elif kind == "hold":
                frame.held[step[1]] = [self._value(s, frame) for s in step[2]]
            elif kind == "reserve":
                frame.reserved[step[1][1]] = self._define(step[1], frame)
            elif kind == "becomes":
                self._becomes(step[1], self._value(step[2], frame), frame)
            elif kind == "retype":
                self.types[self._value(step[1], frame)] = step[2]
            elif kind == "looks-at":
                name, source, row, col = (self._value(s, frame) for s in step[1:])
                self.windows[name] = (source, row, col)
            elif kind == "pointer-of":
                self.pointers[self._value(step[1], frame)] = self._value(step[2], frame)
            else:
                self._region(step, frame)

    def _region(self, step: Any, frame: _Frame) -> None:
        self.open(f"scf.if {self._value(step[1], frame)} {{")
        self._steps(step[2], frame)
        if len(step) > 3:
            self.middle("} else {")
            self._steps(step[3], frame)
        self.close()

    def _becomes(self, target: Any, name: str, frame: _Frame) -> None:
        if target[0] == "res":
            frame.result = name
            if frame.instance.result is not None:
                self.bound[frame.instance.result] = name
        else:
            operand = frame.instance.operands[target[1]]
            assert isinstance(operand, Var)
            self.bound[operand.name] = name
            frame.values.pop(target[1], None)

    def _line(self, line: Any, frame: _Frame) -> None:
        _, target, wanted, pieces, holes, _ = line
        values = [self._group(v, frame) if v[0] == "group" else self._value(v, frame) for v in wanted]
        dest = self._define(target, frame) if target is not None else ""
        types = self.types
        out = [*pieces]
        place = 1
        for at, typed in holes:
            v = dest if at < 0 else values[at]
            if isinstance(v, str):
                out[place] = types.get(v, "") if typed else v
            else:
                out[place] = ", ".join([types[n] for n in v] if typed else v)
            place += 2
        text = "".join(out)
        self.lines.append(f"{self.indent}{text}{self.location.text}")
        if id(line) not in self.distinct.settled:
            self._note(line, dest, values, text)

    def _note(self, line: Any, dest: str, values: list[Any], text: str) -> None:
        """Show a line to those who look at what is printed."""
        names = [dest] if dest else []
        for v in values:
            if isinstance(v, str):
                names.append(v)
            else:
                names += v
        self.distinct.note(line, names, text, self.location, self.types, self.numbers)

    def _group(self, spec: Any, frame: _Frame) -> list[str]:
        out = []
        for s in spec[1]:
            out += frame.held[s[1]] if s[0] == "held" else [self._value(s, frame)]
        return out

    def _define(self, spec: Any, frame: _Frame) -> str:
        if spec[0] == "res":
            instance = frame.instance
            owned = self.owned.get(instance.result) if instance.result is not None else None
            if owned is None:
                owned = self.named(instance.result or "")
                self.types[owned] = spec[1]
            if instance.result is not None:
                self.bound[instance.result] = owned
            frame.result = owned
            return owned
        _, slot, like, wish, type_ = spec
        if (reserved := frame.reserved.pop(slot, None)) is not None:
            frame.slots[slot] = reserved
            return reserved
        if like is None:
            name = self.fresh(wish)
        elif like[0] == "res":
            name = self.fresh((frame.instance.result or "") + wish)
        else:
            name = self.like(frame.instance.operands[like[1]], wish)
        self.types[name] = type_
        frame.slots[slot] = name
        return name

    def _value(self, spec: Any, frame: _Frame) -> str:
        kind = spec[0]
        if kind == "arg":
            name = frame.values.get(spec[1])
            if name is None:
                name = frame.values[spec[1]] = self.operand(frame.instance.operands[spec[1]])
            return name
        if kind == "const":
            operand = frame.instance.operands[spec[1]]
            assert isinstance(operand, Const)
            return self.constant(operand.value, spec[2])
        if kind == "int":
            return self.constant(spec[1], spec[2])
        if kind == "res":
            return self.result(frame.instance)
        if kind == "tmp":
            fresh: str | None = frame.slots[spec[1]]
            if fresh is None:
                raise InternalError(f"a fresh value is used before it is defined in {frame.instance.shape}")
            return fresh
        if kind == "do":
            self._steps(spec[1], frame)
            return self._value(spec[2], frame)
        if kind == "extent":
            name = frame.extents.get(spec[1])
            if name is None:
                name = frame.extents[spec[1]] = self.operand(frame.instance.extents[spec[1]])
            return name
        if kind == "anew":
            name = frame.extents[spec[1]] = self.operand(frame.instance.extents[spec[1]])
            return name
        if kind == "uncast":
            return self.uncast(frame.instance.extents[spec[1]])
        if kind == "held":
            (name,) = frame.held[spec[1]]
            return name
        if kind == "context":
            return self.contexts[self.pointers[self._value(spec[1], frame)]]
        if kind == "own":
            operand = frame.instance.operands[spec[1][1]]
            assert isinstance(operand, Var)
            return self.owned[operand.name]
        if kind == "pointer":
            return self.pointers[self._value(spec[1], frame)]
        window: tuple[str, ...] = self.windows[self._value(spec[1], frame)]
        return window[("window-source", "window-row", "window-col").index(kind)]


def is_index_cast(operand: Operand) -> TypeGuard[Instance]:
    """Whether the value only brings another one to the type index."""
    return isinstance(operand, Instance) and operand.shape.startswith('(call "scalar.index" ')


@dataclass(slots=True)
class _Frame:
    instance: Instance
    slots: list[str | None]
    values: dict[int, str] = field(default_factory=dict)
    extents: dict[int, str] = field(default_factory=dict)
    reserved: dict[int, str] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    result: str | None = None
