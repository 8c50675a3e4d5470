"""Plain data classes: the part of `dataclasses` this package uses, at a fraction of its import time.

`dataclasses` compiles every method of every class when the module is imported, which took a third of a cold start.
Here a class costs one `type()`, and a method is compiled when it is first called. Meaning and
spelling are those of the standard library, which type checkers are shown.
"""

from __future__ import annotations

__all__ = ["dataclass", "field", "fields", "is_dataclass", "replace"]

TYPE_CHECKING = False  # importing `typing` for it would cost what this module saves

if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, is_dataclass, replace
else:

    class field:
        """A field's default, and whether it takes part in equality."""

        __slots__ = ("compare", "default", "factory", "name")

        def __init__(self, *, default=..., default_factory=None, compare=True):
            self.default, self.factory, self.compare = default, default_factory, compare

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """Class decorator: `__init__`, `__eq__`, `__repr__` and, when `frozen`, `__hash__` from the annotations."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, slots=slots, eq=eq, repr=repr)
        own = {n: a for n, a in vars(cls).get("__annotations__", {}).items() if not a.startswith("ClassVar")}
        described = dict(getattr(cls, "__fields__", {}))
        namespace = dict(cls.__dict__)
        for name in own:
            given = namespace.pop(name, ...) if slots else namespace.get(name, ...)
            described[name] = given if isinstance(given, field) else field(default=given)
            described[name].name = name
        namespace["__fields__"] = described
        namespace["__match_args__"] = tuple(described)
        if slots:
            namespace["__slots__"] = tuple(own)
            namespace.pop("__dict__", None)
            namespace.pop("__weakref__", None)
        namespace["__init__"] = _first_init
        if repr:
            namespace.setdefault("__repr__", _repr)
        if eq and "__eq__" not in namespace:
            namespace["__eq__"] = _first_eq
            namespace["__hash__"] = _first_hash if frozen else None
        if frozen:
            if not slots:
                raise TypeError(f"{cls.__name__}: a frozen class needs slots")
            namespace["__setattr__"] = namespace["__delattr__"] = _frozen
            namespace["__reduce__"] = _reduced
        made = type(cls)(cls.__name__, cls.__bases__, namespace)
        made.__qualname__ = cls.__qualname__
        return made

    def fields(value):
        """The fields of a data class or of an object of one, in order."""
        return tuple(value.__fields__.values())

    def is_dataclass(value):
        """Whether `value` is a data class or an object of one."""
        return hasattr(value, "__fields__")

    def replace(value, /, **changes):
        """A copy of `value` with these fields changed."""
        for name in value.__fields__:
            if name not in changes:
                changes[name] = getattr(value, name)
        return type(value)(**changes)

    # Each stands for a method until its first call, which compiles it for the class it was called on.

    def _first_init(self, *args, **kwargs):
        if cls := _owner(self, "__init__", _first_init):
            made = _made[cls] = _made.get(cls, 0) + 1
            if made <= _FEW and _filled(self, cls.__fields__, args, kwargs):
                return
            cls.__init__ = _compiled("__init__", *_init(cls))
        self.__init__(*args, **kwargs)

    _made = {}  # objects of a class that were filled field by field
    _FEW = 8  # to compile a method takes as long

    def _filled(new, described, args, kwargs):
        """Fill the fields of an object one by one; False, with nothing told, where the arguments are wrong."""
        if len(args) > len(described) or not kwargs.keys() <= described.keys():
            return False
        given = dict(zip(described, args, strict=False))
        if not given.keys().isdisjoint(kwargs):
            return False
        given |= kwargs
        for name, f in described.items():
            if name not in given:
                if f.factory is None and f.default is ...:
                    return False
                given[name] = f.default if f.factory is None else f.factory()
            object.__setattr__(new, name, given[name])
        return True

    def _first_eq(self, other):
        if cls := _owner(self, "__eq__", _first_eq):
            mine, theirs = _listed(cls, "self"), _listed(cls, "other")
            cls.__eq__ = _compiled(
                "__eq__",
                "self, other",
                ["if other.__class__ is not self.__class__: return NotImplemented", f"return {mine} == {theirs}"],
            )
        return type(self).__eq__(self, other)

    def _first_hash(self):
        if cls := _owner(self, "__hash__", _first_hash):
            cls.__hash__ = _compiled("__hash__", "self", [f"return hash({_listed(cls, 'self')})"])
        return type(self).__hash__(self)

    def _owner(value, method, stand_in):
        """The class that still has the stand-in; None when another thread has compiled it meanwhile."""
        return next((c for c in type(value).__mro__ if c.__dict__.get(method) is stand_in), None)

    def _compiled(name, parameters, body, names=None):
        names = dict(names or {})
        exec(f"def {name}({parameters}):\n " + "\n ".join(body), names)
        return names[name]

    def _listed(cls, value):
        compared = [f"{value}.{f.name}," for f in cls.__fields__.values() if f.compare]
        return f"({' '.join(compared)})"

    def _init(cls):
        names, parameters, body = {"unset": field}, [], []
        for name, f in cls.__fields__.items():
            if f.factory is not None:
                names[f"make_{name}"] = f.factory
                parameters.append(f"{name}=unset")
                body.append(f"if {name} is unset: {name} = make_{name}()")
            elif f.default is not ...:
                names[f"default_{name}"] = f.default
                parameters.append(f"{name}=default_{name}")
            else:
                parameters.append(name)
            if cls.__setattr__ is _frozen:
                names[f"set_{name}"] = getattr(cls, name).__set__
                body.append(f"set_{name}(self, {name})")
            else:
                body.append(f"self.{name} = {name}")
        return ", ".join(["self", *parameters]), body or ["pass"], names

    def _repr(self):
        shown = ", ".join(f"{n}={getattr(self, n)!r}" for n in self.__fields__)
        return f"{type(self).__qualname__}({shown})"

    def _frozen(self, name, value=None):
        raise AttributeError(f"{type(self).__qualname__} is immutable; use replace() to change {name}")

    def _reduced(self):
        return type(self), tuple(getattr(self, n) for n in self.__fields__)
