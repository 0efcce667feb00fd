"""Pydantic models made from dataclasses: REST and MCP validate requests with them and describe answers by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AliasChoices, BaseModel, ConfigDict, create_model
from pydantic import Field as Described

from watersmeet.core.place import Place
from watersmeet.engine.query.filters import filter_value

T = TypeVar("T")
Name = Annotated[str, Described(max_length=200)]
Value = Annotated[str, Described(min_length=1, max_length=200)] | bool | int | float
Values = Annotated[dict[Name, Value | Annotated[list[Value], Described(max_length=20)]], Described(max_length=20)]
OPTIONAL_FIELDS = frozenset(
    "created index timings counts expansion routed spelling operators facets notes title headings path tokens".split()
)
"""Fields that an answer leaves out where it has none, or where it is brief."""
MAX_LENGTH, MAX_ITEMS = 200, 50
"""The length of a text for which no other limit is declared, and the number of items in a list."""
PLACE_FIELDS: dict[str, Any] = {
    "where": (str, Described(description="the place to display: `:12`, `p. 3`, `slide 4`, `sheet A`, `#anchor`")),
    "lines": (list[int] | None, Described(description="first and last, from 1; null where there are none")),
}
"""The JSON fields of a `Place`."""


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    briefs: ClassVar[Mapping[str, str] | None] = None
    """The meaning of each field in a few words; none: the descriptions are short enough."""


# ---------------------------------------------------------------- requests


def body(cls: type[Any], name: str, *, strict: bool = True, examples: list[Any] | None = None, **more: Any) -> Any:
    """A request model whose fields are the options of a dataclass; `more` are fields that only this interface has.

    Unknown fields are refused. Without `strict`, "5" is accepted for 5, as language models sometimes write it.
    """
    hints = get_type_hints(cls)
    own: dict[str, Any] = {
        one.name: (_request_type(hints[one.name], one), _field(one)) for one in fields(cls) if "meaning" in one.metadata
    }
    about: dict[str, Any] = {"examples": examples} if examples else {}
    briefs = {one.name: one.metadata["brief"] for one in fields(cls) if "meaning" in one.metadata}
    config = ConfigDict(strict=strict, json_schema_extra=about)
    base = type(f"{name}Base", (Body,), {"model_config": config, "briefs": briefs})
    return create_model(name, __base__=base, __doc__=cls.__doc__, **own, **more)


def brief_schema(model: type[Body]) -> dict[str, Any]:
    """The JSON schema of a request in few words: names and types, and what is not clear from them. The limits that it
    leaves out are checked all the same."""
    full = model.model_json_schema()
    briefs = model.briefs or {}
    found: dict[str, Any] = {}
    for name, about in full.get("properties", {}).items():
        says = briefs.get(name, about.get("description", ""))
        found[name] = _brief_type(about) | ({"description": says} if says else {})
        if not says:
            found[name].pop("enum", None)
    needs = {"required": full["required"]} if "required" in full else {}
    return {"type": "object", "properties": found, **needs, "additionalProperties": False}


def _brief_type(about: Mapping[str, Any]) -> dict[str, Any]:
    """The type of a field, without null, limits and nested properties."""
    chosen = next((one for one in about.get("anyOf", ()) if one.get("type") != "null"), about)
    made: dict[str, Any] = {"type": chosen["type"]}
    if values := [one for one in chosen.get("enum", ()) if one]:
        made["enum"] = values
    if "items" in chosen:
        made["items"] = _brief_type(chosen["items"])
    return made


def from_body(cls: type[T], sent: BaseModel, **more: Any) -> T:
    """The dataclass filled from a request; `more` is what the server sets itself, such as the viewer."""
    values = {one.name: getattr(sent, one.name) for one in fields(cls) if "meaning" in one.metadata}  # type: ignore[arg-type]
    return cls(**{name: _plain(value) for name, value in values.items()}, **more)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return {key: [filter_value(one) for one in (v if isinstance(v, list) else [v])] for key, v in value.items()}
    return value


def _request_type(hint: Any, one: Field[Any]) -> Any:
    """The JSON type of a parameter."""
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        (inner,) = (part for part in get_args(hint) if part is not NoneType)
        return _request_type(inner, one) | None
    if hint is str:
        least = int(one.metadata["least"] or 0) or None
        return Annotated[
            str, Described(min_length=least, max_length=one.metadata["longest"] or MAX_LENGTH, **_choices(one))
        ]
    if hint in (int, float):
        return Annotated[hint, Described(ge=one.metadata["least"], le=one.metadata["most"])]
    if get_origin(hint) is tuple:
        choices = one.metadata["choices"]
        item: Any = Annotated[str, Described(min_length=1, max_length=1000)]
        item = Literal[tuple(choices())] if choices else item
        return Annotated[list[item], Described(max_length=MAX_ITEMS)]
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
    """An answer model that describes the JSON of a dataclass; further fields are allowed."""
    hints = get_type_hints(cls)
    rendered = [one for one in fields(cls) if not one.metadata.get("flattened")]
    own: dict[str, Any] = {}
    for one in rendered:
        own |= (
            PLACE_FIELDS
            if hints[one.name] is Place
            else {one.name: (_answer_type(hints[one.name]), _answer_field(one))}
        )
    base = type("AnswerBase", (BaseModel,), {"model_config": ConfigDict(extra="allow"), "__doc__": cls.__doc__})
    made: type[BaseModel] = create_model(name or cls.__name__, __base__=base, __doc__=cls.__doc__, **own, **more)
    return made


def _answer_field(one: Field[Any]) -> Any:
    about: dict[str, Any] = {}
    if "meaning" in one.metadata:
        about = {"description": one.metadata["meaning"], "ge": one.metadata["least"], "le": one.metadata["most"]}
    if one.name not in OPTIONAL_FIELDS:
        return Described(**about)
    if one.default is not MISSING:
        about["default"] = list(one.default) if isinstance(one.default, tuple) else one.default
    elif one.default_factory is not MISSING:
        about["default_factory"] = one.default_factory
    return Described(**about)


def _answer_type(hint: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if isinstance(hint, NewType):
        return _answer_type(hint.__supertype__)
    if isinstance(hint, type) and is_dataclass(hint):
        return answer(hint)
    if isinstance(hint, type) and hasattr(hint, "_fields"):  # a named tuple, rendered as an object
        return dict[str, Any]
    if hint is datetime:
        return str
    if origin in (Union, UnionType):
        return Union[tuple(_answer_type(part) for part in parts)]  # noqa: UP007 - made of a tuple
    if origin is tuple:
        return list[_answer_type(parts[0])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, list):
        return list[_answer_type(parts[0])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _answer_type(parts[1])]  # type: ignore[misc]
    return hint
