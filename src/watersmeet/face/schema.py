"""From dataclasses to the models that REST and MCP check requests with and describe answers by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AliasChoices, BaseModel, ConfigDict, create_model
from pydantic import Field as Described

from watersmeet.core.place import Place
from watersmeet.engine.query.filters import filter_value

T = TypeVar("T")
Name = Annotated[str, Described(max_length=200)]
Value = Annotated[str, Described(min_length=1, max_length=200)] | bool | int | float
Values = Annotated[dict[Name, Value | Annotated[list[Value], Described(max_length=20)]], Described(max_length=20)]
SOMETIMES = frozenset(
    {"created", "index", "timings", "expansion", "routed", "notes", "title", "headings", "path", "tokens"}
)
"""Fields that an answer leaves out where it has none, or does not say in brief."""
SHORT, FEW = 200, 50
"""How long a text may be that is not said to be longer, and how many of them a list may hold."""
PLACED: dict[str, Any] = {
    "where": (str, Described(description="the place for showing: `:12`, `p. 3`, `slide 4`, `sheet A`, `#anchor`")),
    "lines": (list[int] | None, Described(description="first and last, from 1; null where there are none")),
}
"""What JSON has for a place."""


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


# ---------------------------------------------------------------- requests


def body(cls: type[Any], name: str, *, strict: bool = True, examples: list[Any] | None = None, **more: Any) -> Any:
    """A model whose fields are the options of a dataclass; `more` are fields that only this surface has.

    What is sent besides is refused. Not `strict`: a model that writes "5" for 5 is understood.
    """
    hints = get_type_hints(cls)
    own: dict[str, Any] = {
        one.name: (_taken(hints[one.name], one), _field(one)) for one in fields(cls) if "meaning" in one.metadata
    }
    about: dict[str, Any] = {"examples": examples} if examples else {}
    base = type(f"{name}Base", (Body,), {"model_config": ConfigDict(strict=strict, json_schema_extra=about)})
    return create_model(name, __base__=base, __doc__=cls.__doc__, **own, **more)


def given(cls: type[T], sent: BaseModel, **more: Any) -> T:
    """The dataclass of what was sent; `more` is what no request may say itself, such as who asks."""
    values = {one.name: getattr(sent, one.name) for one in fields(cls) if "meaning" in one.metadata}  # type: ignore[arg-type]
    return cls(**{name: _plain(value) for name, value in values.items()}, **more)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return {key: [filter_value(one) for one in (v if isinstance(v, list) else [v])] for key, v in value.items()}
    return value


def _taken(hint: Any, one: Field[Any]) -> Any:
    """What JSON has for a parameter."""
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        (inner,) = (part for part in get_args(hint) if part is not NoneType)
        return _taken(inner, one) | None
    if hint is str:
        least = int(one.metadata["least"] or 0) or None
        return Annotated[str, Described(min_length=least, max_length=one.metadata["longest"] or SHORT, **_choices(one))]
    if hint in (int, float):
        return Annotated[hint, Described(ge=one.metadata["least"], le=one.metadata["most"])]
    if get_origin(hint) is tuple:
        choices = one.metadata["choices"]
        item: Any = Annotated[str, Described(min_length=1, max_length=1000)]
        item = Literal[tuple(choices())] if choices else item
        return Annotated[list[item], Described(max_length=FEW)]
    return Values if isinstance(get_origin(hint), type) and issubclass(get_origin(hint), Mapping) else hint


def _choices(one: Field[Any]) -> dict[str, Any]:
    choices = one.metadata["choices"]
    return {"json_schema_extra": {"enum": ["", *choices()]}} if choices else {}


def _field(one: Field[Any]) -> Any:
    aliases = [one.name, *(name for name in one.metadata["aliases"] if name != one.name)]
    about: dict[str, Any] = {"description": one.metadata["meaning"]}
    if one.metadata["example"]:
        about["examples"] = [one.metadata["example"]]
    if len(aliases) > 1:
        about["validation_alias"] = AliasChoices(*aliases)
    if one.default is not MISSING:
        about["default"] = list(one.default) if isinstance(one.default, tuple) else one.default
    elif one.default_factory is not MISSING:
        about["default_factory"] = one.default_factory
    return Described(**about)


# ---------------------------------------------------------------- answers


@cache
def answer(cls: type[Any], name: str = "", **more: Any) -> type[BaseModel]:
    """A model that describes a dataclass as JSON has it; fields that it does not name may be there too."""
    hints = get_type_hints(cls)
    rendered = [one for one in fields(cls) if not one.metadata.get("flattened")]
    own: dict[str, Any] = {}
    for one in rendered:
        own |= PLACED if hints[one.name] is Place else {one.name: (_given(hints[one.name]), _told(one))}
    base = type("Told", (BaseModel,), {"model_config": ConfigDict(extra="allow"), "__doc__": cls.__doc__})
    made: type[BaseModel] = create_model(name or cls.__name__, __base__=base, __doc__=cls.__doc__, **own, **more)
    return made


def _told(one: Field[Any]) -> Any:
    about: dict[str, Any] = {}
    if "meaning" in one.metadata:
        about = {"description": one.metadata["meaning"], "ge": one.metadata["least"], "le": one.metadata["most"]}
    if one.name not in SOMETIMES:
        return Described(**about)
    if one.default is not MISSING:
        about["default"] = list(one.default) if isinstance(one.default, tuple) else one.default
    elif one.default_factory is not MISSING:
        about["default_factory"] = one.default_factory
    return Described(**about)


def _given(hint: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if isinstance(hint, NewType):
        return _given(hint.__supertype__)
    if isinstance(hint, type) and is_dataclass(hint):
        return answer(hint)
    if isinstance(hint, type) and hasattr(hint, "_fields"):  # a named tuple, rendered as an object
        return dict[str, Any]
    if hint is datetime:
        return str
    if origin in (Union, UnionType):
        return Union[tuple(_given(part) for part in parts)]  # noqa: UP007 - made of a tuple
    if origin is tuple:
        return list[_given(parts[0])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, list):
        return list[_given(parts[0])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _given(parts[1])]  # type: ignore[misc]
    return hint
