"""Data classes from the JSON of a server: the inverse of how present/answer.py and `to_json` write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Any, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from watersmeet.core.errors import NoReply
from watersmeet.core.model import DocId, RouteMatch
from watersmeet.core.place import Place
from watersmeet.core.writing import Planned
from watersmeet.engine.sync.report import SyncReport

T = TypeVar("T")
PLACE = ("where", "lines")
"""Keys of a place, beside those of what is there."""


def decoded(kind: type[T], value: Any) -> T:
    """A data class from its JSON. Keys that it does not have are ignored; `NoReply` if one is missing or wrong."""
    try:
        made: T = _object(kind, value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise NoReply(
            f"the answer is not a valid {kind.__name__}: {error}", "are client and server of the same version?"
        ) from error
    return made


def decoded_report(value: Any) -> SyncReport:
    """The report of a sync; JSON has what a dry run planned by action."""
    planned = value.get("planned") if isinstance(value, Mapping) else None
    report = decoded(SyncReport, {**value, "planned": None} if planned else value)
    if planned:
        report.planned = [Planned(action, DocId(one)) for action, documents in planned.items() for one in documents]
    return report


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _object(kind: Any, value: Mapping[str, Any]) -> Any:
    if kind is RouteMatch:  # what a rule added is one level deeper, without what is empty
        value = {"filters": {}, "weights": {}, "only": [], **value["added"], **value}
    hints, rest = _hints(kind), dict(value)
    names, optional = _members(kind)
    made: dict[str, Any] = {}
    flattened = ""
    for name in names:
        if hints[name] is Place:
            made[name] = _place(*(rest.pop(key) for key in PLACE))
        elif name in optional and optional[name] is Mapping:
            flattened = name
        elif name in rest:
            made[name] = _value(hints[name], rest.pop(name))
        elif name not in optional:
            raise KeyError(name)
    return kind(**made, **({flattened: rest} if flattened else {}))


@cache
def _members(kind: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names of the fields, and of those that may be missing; a flattened one is marked as a mapping."""
    if not is_dataclass(kind):
        return kind._fields, dict.fromkeys(kind._field_defaults)  # a named tuple
    optional = {
        one.name: Mapping if one.metadata.get("flattened") else None
        for one in fields(kind)
        if one.default is not MISSING or one.default_factory is not MISSING
    }
    return tuple(one.name for one in fields(kind)), optional


def _value(hint: Any, value: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if isinstance(hint, NewType):
        return _value(hint.__supertype__, value)
    if origin in (Union, UnionType):
        return None if value is None else _value(next(part for part in parts if part is not type(None)), value)
    if origin is tuple:
        items = value.split(" ") if isinstance(value, str) else value
        kinds = parts[:1] * len(items) if parts[-1] is Ellipsis else parts
        return tuple(_value(part, item) for part, item in zip(kinds, items, strict=True))
    if isinstance(origin, type) and issubclass(origin, list):
        return [_value(parts[0], item) for item in value]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _value(parts[1], item) for key, item in value.items()}
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        return _object(hint, value)
    if hint is float and isinstance(value, int):
        return float(value)
    if not isinstance(value, hint):
        raise TypeError(f"{type(value).__name__} in place of {hint.__name__}")
    return value


def _place(where: str, lines: list[int] | None) -> Place:
    return replace(Place.read(where), lines=(lines[0], lines[1]) if lines else None)
