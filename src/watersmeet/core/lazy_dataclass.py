"""Dataclasses whose methods are compiled when they pay for it, not when their module is imported.

The standard decorator compiles up to seven methods for each class: with a hundred classes, a third of the time in
which a command starts. Most of these classes get one instance in a command or none, and hardly any is compared or
printed. So the initialiser is compiled for the third instance; the others need no compiling. What this decorator
returns is a dataclass of the standard library in every other respect: `fields`, `replace`, `asdict` and `match` work.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # as type checkers know it
else:

    def dataclass(
        cls: Any = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True,
        kw_only: bool = False
    ) -> Any:  # fmt: skip
        """As `dataclasses.dataclass`, without its rarer parameters."""

        def made(of: Any) -> Any:
            return _with_methods(of, frozen=frozen, slots=slots, eq=eq, with_repr=repr, kw_only=kw_only)

        return made if cls is None else made(cls)


UNCOMPILED = 2
"""Instances of a class that are initialised field by field: it takes a tenth of what compiling takes."""
_FREE, _FROZEN = "  {2}.{0} = {1}", "  __dataclass_set__({2}, '{0}', {1})"
"""Lines of an initialiser. Its own names are such as no field has."""


def _with_methods(cls: Any, *, frozen: bool, slots: bool, eq: bool, with_repr: bool, kw_only: bool) -> Any:
    written = dict(vars(cls))
    if written.get("__doc__") is None:
        cls.__doc__ = cls.__name__  # else the standard decorator writes one, from a signature that it must find first
    if "__eq__" in written and written.get("__hash__") is None:  # Python sets it to None beside an __eq__
        written.pop("__hash__", None)
    with _unfrozen(cls, frozen):
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    made.__dataclass_params__.frozen = frozen
    methods: dict[str, Any] = {"__init__": _first_initialiser(made, frozen)}
    if with_repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _later(made, "__eq__", _equality)
        methods["__hash__"] = _later(made, "__hash__", _hash) if frozen else None
    if frozen:
        methods |= {
            "__setattr__": _refuse(made, "__setattr__", "assign to"),
            "__delattr__": _refuse(made, "__delattr__", "delete"),
        }
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in written:
            setattr(made, name, method)
    return made


@contextmanager
def _unfrozen(cls: Any, frozen: bool) -> Iterator[None]:
    """Its frozen bases appear as not frozen, else the library would demand methods that it compiles."""
    bases = [base.__dict__.get("__dataclass_params__") for base in cls.__mro__[1:]]
    known = [params for params in bases if params is not None]
    if any(params.frozen is not frozen for params in known):
        raise TypeError("a frozen dataclass inherits only from frozen ones, and another only from others")
    for params in known:
        params.frozen = False
    try:
        yield
    finally:
        for params in known:
            params.frozen = frozen


def _later(cls: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    """A method that replaces itself by the real one when it is first called."""

    def first(self: Any, *args: Any, **named: Any) -> Any:
        method = make(cls)
        setattr(cls, name, method)
        return method(self, *args, **named)

    return first


def _first_initialiser(cls: Any, frozen: bool) -> Callable[..., None]:
    """The initialiser of the first instances, until it replaces itself."""
    instances = 0

    def __init__(self: Any, /, *args: Any, **named: Any) -> None:
        nonlocal instances
        instances += 1
        values = _values(cls, args, named) if instances <= UNCOMPILED else None
        if values is None:
            cls.__init__ = initialiser = _compiled(cls, _FROZEN if frozen else _FREE)
            initialiser(self, *args, **named)
            return
        assign = object.__setattr__ if frozen else setattr
        for name, value in values.items():
            assign(self, name, value)
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    return __init__


def _values(cls: Any, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any] | None:
    """The values of the fields; None for arguments that do not fit, of which the compiled initialiser complains."""
    fields = dataclasses.fields(cls)
    positions = [field.name for field in fields if field.init and not field.kw_only]
    given = dict(zip(positions, args, strict=False)) | named
    if len(given) != len(args) + len(named):  # too many, or one twice
        return None
    values = {}
    for field in fields:
        if field.init and field.name in given:
            values[field.name] = given.pop(field.name)
        elif field.default_factory is not MISSING:
            values[field.name] = field.default_factory()
        elif field.default is not MISSING:
            values[field.name] = field.default
        elif field.init:
            return None
    return None if given else values


def _compiled(cls: Any, line: str) -> Callable[..., None]:
    """The function that sets the fields, with such a line for each."""
    known: dict[str, Any] = {"__dataclass_set__": object.__setattr__, "__dataclass_missing__": MISSING}
    instance = "__dataclass_self__" if "self" in cls.__dataclass_fields__ else "self"
    required: list[str] = []
    optional: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for number, field in enumerate(dataclasses.fields(cls)):
        name, default = field.name, f"__dataclass_{number}__"
        factory = field.default_factory is not MISSING
        given = factory or field.default is not MISSING
        known[default] = field.default_factory if factory else field.default
        if field.init:
            value = f"{default}() if {name} is __dataclass_missing__ else {name}" if factory else name
            parameter = f"{name}={'__dataclass_missing__' if factory else default}" if given else name
            (named if field.kw_only else optional if given else required).append(parameter)
        elif given:
            value = f"{default}()" if factory else default
        else:
            continue  # __post_init__ sets it
        lines.append(line.format(name, value, instance))
    if hasattr(cls, "__post_init__"):
        lines.append(f"  {instance}.__post_init__()")
    parameters = ", ".join([instance, *required, *optional, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n" + ("\n".join(lines) or "  pass"), known)  # noqa: S102 - names of fields only
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _tuple_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function from an instance to the values of these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _equality(cls: Any) -> Callable[[Any, Any], Any]:
    values = _tuple_of([field.name for field in dataclasses.fields(cls) if field.compare])

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(cls: Any) -> Callable[[Any], int]:
    fields = dataclasses.fields(cls)
    values = _tuple_of([field.name for field in fields if (field.compare if field.hash is None else field.hash)])
    return lambda self: hash(values(self))


def _refuse(cls: Any, name: str, what: str) -> Callable[..., None]:
    """`__setattr__` or `__delattr__` of a frozen class."""

    def refuse(self: Any, attribute: str, *value: Any) -> None:
        if type(self) is cls or attribute in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot {what} field {attribute!r}")
        getattr(super(cls, self), name)(attribute, *value)

    return refuse


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _state(self: Any) -> list[Any]:
    """For pickle and copy: a frozen instance with slots has no other way."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
