"""Calls of one kind, decided once: what a stage made of a call is made of the next one like it without a question."""

from __future__ import annotations

from typing import NamedTuple

from pypto_rw import ir
from pypto_rw.front.asking import Asker
from pypto_rw.front.names import reads
from pypto_rw.rewriting.declared import CONTEXT_KINDS
from pypto_rw.shaping.kinds import Key, Keys, Kinds, limits
from pypto_rw.shaping.values import Value

_CONSTANTS = (ir.Int, ir.Float, ir.Str, ir.Symbol, ir.Bool)


class Made(NamedTuple):
    """What calls of a kind become. `args`, `kwargs`: None where they stay, else for each the position of the argument
    that it was, or a new constant. `value` of the result: the same for all of them, or None for one whose place is
    its own (`place` -1) or that of an argument. `most`: up to where the left out offsets may go; `known`: what the keys
    of calls have of the result."""

    callee: str
    args: tuple[int | ir.Expr, ...] | None
    kwargs: tuple[tuple[str, int | ir.Expr], ...] | None
    type: ir.Type | None
    origin: str
    value: Value | None
    place: int
    most: tuple[int, ...]
    known: tuple[int | None, tuple[str, ...]]


class Replay:
    """The calls of one function in one stage."""

    def __init__(self, asker: Asker, stage: str) -> None:
        self.kinds = Kinds.of(asker.engine, stage)
        self.keys = Keys(self.kinds, asker.values)
        self.asker, self.values = asker, asker.values
        self.watched = asker.engine.watch is not None
        self.key: Key | None = None
        self.offsets: list[int] = []

    def find(self, stmt: ir.Assign | ir.Evaluate) -> Made | None:
        """What a call becomes; None where that has to be asked (then `key` tells whether it may be learned)."""
        self.key = None
        call = stmt.value
        if not isinstance(call, ir.Call) or self.watched:
            return None
        key = self.keys.of(call, self.kinds.type(stmt.type) if isinstance(stmt, ir.Assign) else -1)
        if key is None:
            return None
        offsets = self.offsets = self.keys.offsets
        made: Made | None = self.kinds.made.get(key)
        if made is None:
            self.key = key
            return None
        for value, most in zip(offsets, made.most, strict=True):
            if value > most:
                return None
        return made

    def call(self, call: ir.Call, made: Made) -> ir.Call:
        """The call that stands for `call`."""
        args, kwargs = call.args, call.kwargs
        if made.args is not None or made.kwargs is not None:
            every = (*args, *[a for _, a in kwargs])
            if made.args is not None:
                args = tuple([every[a] if type(a) is int else a for a in made.args])  # type: ignore[misc]
            if made.kwargs is not None:
                kwargs = tuple([(n, every[a] if type(a) is int else a) for n, a in made.kwargs])  # type: ignore[misc]
        elif made.callee == call.callee:
            return call
        return ir.Call(made.callee, args, kwargs, (), call.span)

    def result(self, name: str, call: ir.Call, made: Made) -> None:
        """Notes what is known of the result `name` of the call that `made` is about."""
        value = made.value
        if value is None:
            assert made.type is not None
            place: tuple[object, object, object] | None = (name, name, name)
            if made.place >= 0:
                source = (*call.args, *[a for _, a in call.kwargs])[made.place]
                assert isinstance(source, ir.Name)
                place = self.values[source.id].place
            value = Value(made.type, place, made.origin)
        self.values[name] = value
        self.keys.numbers[name] = (value, *made.known)

    def learn(self, key: Key, offsets: list[int], old: ir.Assign | ir.Evaluate, new: ir.Stmt) -> None:
        """Remember that `old`, which has that key and these left out offsets, became `new` alone."""
        call = old.value
        if type(new) is not type(old) or not isinstance(new, ir.Assign | ir.Evaluate) or not isinstance(call, ir.Call):
            return
        if isinstance(old, ir.Assign) and not set(old.targets).isdisjoint(reads(call)):
            return  # the operand of that name is no longer known
        made_of, type_ = new.value, new.type if isinstance(new, ir.Assign) else None
        if not isinstance(made_of, ir.Call) or made_of.attrs or made_of.span != call.span or new.span != old.span:
            return
        signature = self.asker.engine.rulebook.signature(made_of.callee)
        if signature is None or any(p.kind in CONTEXT_KINDS for p in signature.parameters):
            return
        if signature.trait("as-popped") is not None or (isinstance(new, ir.Assign) and old.targets != new.targets):  # type: ignore[union-attr]
            return
        most = limits(self.kinds, call, made_of, signature, self.asker.shaper)
        if most is None or len(most) != len(offsets) or any(v > m for v, m in zip(offsets, most, strict=True)):
            return
        before = (*call.args, *[a for _, a in call.kwargs])
        args = [_source(a, before, offsets) for a in made_of.args]
        kwargs = [(n, _source(a, before, offsets)) for n, a in made_of.kwargs]
        if None in args or any(a is None for _, a in kwargs):
            return
        count = len(call.args)
        names = [n for n, _ in call.kwargs]
        same = args == list(range(count))
        same_keywords = kwargs == list(zip(names, range(count, len(before)), strict=True))
        value, place, origin = None, -1, "plain"
        known: tuple[int | None, tuple[str, ...]] = (None, ())
        if isinstance(new, ir.Assign):
            name = new.targets[0]
            found = self.values.get(name)
            if found is None or found.constant is not None:
                return
            known = self.kinds.known(found)
            if known[0] is None:
                return
            if found != Value(found.type, found.place, found.origin):
                return
            origin = found.origin
            if found.place is None:
                value = found
            elif found.place != (name, name, name):
                sources = [k for k, a in enumerate(made_of.args) if self._place(a) == found.place]
                if not sources:
                    return
                place = sources[0]
            if found.type is not type_ or not self._the_same(made_of, type_, key[1], offsets):
                return
        new_args = None if same else tuple(a for a in args if a is not None)
        new_kwargs = None if same_keywords else tuple((n, a) for n, a in kwargs if a is not None)
        made = Made(made_of.callee, new_args, new_kwargs, type_, origin, value, place, most, known)
        self.kinds.put(key, made)

    def _the_same(self, call: ir.Call, t: ir.Type | None, written: int, offsets: list[int]) -> bool:
        """Whether a type is that of every call of the kind: it names no variable and is not computed of an offset."""
        if self.kinds.type(t) == written:
            return True
        return next(reads(t), None) is None and (not offsets or self.asker.ask(call).fixed)

    def _place(self, a: ir.Expr) -> object:
        found = self.values.get(a.id) if isinstance(a, ir.Name) else None
        return found.place if found is not None else None


def _source(new: ir.Expr, before: tuple[ir.Expr, ...], offsets: list[int]) -> int | ir.Expr | None:
    """Where an argument comes from: its position before, or itself if it is a constant; None for another."""
    for k, old in enumerate(before):
        if new is old:
            return k
    for k, old in enumerate(before):
        if type(new) is type(old) is ir.Binary and new == old:
            return k
    if isinstance(new, ir.Tuple):
        fixed = all(isinstance(e, _CONSTANTS) for e in new.items) and not offsets
        return next((k for k, old in enumerate(before) if new == old), new if fixed else None)
    if not isinstance(new, _CONSTANTS) or (isinstance(new, ir.Int) and new.value in offsets):
        return None
    return new
