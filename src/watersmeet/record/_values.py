"""Conversion of external record values to those of an entity; invalid values raise `Unusable`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any

from watersmeet.core.entities import BUILT_IN, Entity, Refused, Tool, status_of
from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.limits import MAX_DEPTH

_SLUG = re.compile(r"[^\w.]+")
_VISIBILITY = {"group-restricted": "group", "groups": "group", "group_restricted": "group"}
KIND_NAMES = {
    "server": "mcp_server",
    "mcp-server": "mcp_server",
    "agent": "a2a_agent",
    "a2a-agent": "a2a_agent",
    "virtual": "virtual_server",
    "virtual-server": "virtual_server",
}


class Unusable(ValueError):
    """A record with missing or invalid values; the message says which."""


def attempt(where: str, make: Callable[[], Entity]) -> Entity | Refused:
    """The entity, or the reason why it was refused."""
    try:
        return make()
    except Unusable as problem:
        return Refused(where, str(problem))
    except ConfigError as problem:
        return Refused(where, f"{problem}; {problem.hint}" if problem.hint else str(problem))


def text(record: Mapping[str, Any], *keys: str) -> str:
    """First non-empty text under one of these keys."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str):
            if value.strip():
                return value.strip()
        elif isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        elif value is not None:
            raise Unusable(f"`{key}` is not a text")
    return ""


def needed(record: Mapping[str, Any], *keys: str) -> str:
    found = text(record, *keys)
    if not found:
        raise Unusable(f"no `{keys[0]}`")
    return found


def texts(record: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    """Distinct texts of a list, of a comma-separated text, or of the true keys of a mapping."""
    for key in keys:
        value = record.get(key)
        if value is None:
            continue
        if isinstance(value, str):
            items: Iterable[Any] = value.split(",")
        elif isinstance(value, Mapping):
            items = (name for name, on in value.items() if on)
        elif isinstance(value, list):
            items = value
        else:
            raise Unusable(f"`{key}` is not a list")
        return tuple(dict.fromkeys(str(item).strip() for item in items if item is not None and str(item).strip()))
    return ()


def mapping(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = record.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Unusable(f"`{key}` is not an object")
    return dict(value)


def flag(record: Mapping[str, Any], *keys: str) -> bool:
    """Boolean under one of these keys; true by default."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.strip().casefold() in ("true", "false", "yes", "no", "1", "0"):
            return value.strip().casefold() in ("true", "yes", "1")
        if value is not None:
            raise Unusable(f"`{key}` is neither true nor false")
    return True


def kind_of(value: Any) -> str:
    """Entity kind in its stored spelling; empty if there is none."""
    if value is None or value == "":
        return ""
    name = str(value).strip().casefold()
    name = KIND_NAMES.get(name, name)
    if name not in BUILT_IN:
        raise Unusable(f"unknown kind {str(value)!r}; {nearest(name, BUILT_IN)}")
    return name


def standing(record: Mapping[str, Any]) -> dict[str, Any]:
    """Lifecycle and visibility fields of a record."""
    groups = texts(record, "allowed_groups", "groups")
    visibility = text(record, "visibility").casefold() or ("group" if groups else "public")
    return {
        "status": status_of(record.get("status")),
        "enabled": flag(record, "is_enabled", "enabled"),
        "visibility": _VISIBILITY.get(visibility, visibility),
        "groups": groups,
        "owner": text(record, "owner", "registered_by"),
    }


def tools(value: Any) -> tuple[Tool, ...]:
    """Tools of a list of names or objects."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Unusable("`tools` is not a list")
    found: dict[str, Tool] = {}
    for number, item in enumerate(value, 1):
        tool = Tool(item.strip()) if isinstance(item, str) else tool_of(item, f"tool {number}")
        if not tool.name:
            raise Unusable(f"tool {number} has no name")
        found.setdefault(tool.name, tool)
    return tuple(found.values())


def tool_of(value: Any, what: str = "it") -> Tool:
    """A tool in MCP's format, or in a model provider's function format."""
    if not isinstance(value, Mapping):
        raise Unusable(f"{what} is not an object")
    inner = value.get("function")
    if isinstance(inner, Mapping):
        value = inner
    name = text(value, "name", "tool_name")
    if not name:
        raise Unusable(f"{what} has no name")
    groups = texts(value, "allowed_groups", "groups")
    visibility = text(value, "visibility").casefold() or ("group" if groups else "public")
    visibility = _VISIBILITY.get(visibility, visibility)
    return Tool(name, described(value), schema(value), texts_of(value.get("examples")), visibility, groups)


def described(value: Mapping[str, Any]) -> str:
    """Description of a record, or the joined sections of its `parsed_description`."""
    parsed = value.get("parsed_description")
    description = text(value, "description")
    if not description and isinstance(parsed, Mapping):
        description = " ".join(part for part in parsed.values() if isinstance(part, str))
    return description


def schema(value: Mapping[str, Any]) -> dict[str, Any]:
    for key in ("inputSchema", "input_schema", "parameters", "schema"):
        found = value.get(key)
        if isinstance(found, Mapping):
            return dict(found)
    arguments = value.get("arguments")
    if isinstance(arguments, list):
        named = [a for a in arguments if isinstance(a, Mapping) and isinstance(a.get("name"), str)]
        return {"type": "object", "properties": {a["name"]: _argument(a) for a in named}} if named else {}
    return {}


def _argument(value: Mapping[str, Any]) -> dict[str, Any]:
    about = {"type": value.get("type"), "description": value.get("desc") or value.get("description")}
    return {key: item for key, item in about.items() if item}


def texts_of(value: Any) -> tuple[str, ...]:
    """Distinct texts of a value or list, other items left out."""
    items = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(item.strip() for item in items if isinstance(item, str) and item.strip()))


def slug(name: str) -> str:
    """Path segment of a name."""
    found = _SLUG.sub("-", name.strip().casefold()).strip("-.")
    if not found:
        raise Unusable(f"no path can be made from the name {name!r}")
    return found


def others(record: Mapping[str, Any], read_keys: Iterable[str]) -> dict[str, Any]:
    """Other non-empty fields of a record."""
    left_out = set(read_keys)
    return {key: value for key, value in record.items() if key not in left_out and value not in (None, "", [], {})}


def plain(value: Any, depth: int = 0) -> Any:
    """JSON value: dates become texts, and characters that cannot be stored are replaced."""
    if depth > MAX_DEPTH:
        raise Unusable(f"it is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return value.encode("utf8", "replace").decode("utf8").replace("\0", "")
    if isinstance(value, Mapping):
        return {
            str(plain(key if isinstance(key, str) else str(key))): plain(item, depth + 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple | set):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)
