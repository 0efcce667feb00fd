"""Values as other people write them, made into those that an entity has; what cannot be is named."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any

from watersmeet.core.entities import KINDS, TOOL, Entity, Refused, Tool, status_of
from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.limits import DEEPEST

_SLUG = re.compile(r"[^\w.]+")
_VISIBILITY = {"group-restricted": "group", "groups": "group", "group_restricted": "group"}
_KIND = {
    "server": "mcp_server",
    "mcp-server": "mcp_server",
    "agent": "a2a_agent",
    "a2a-agent": "a2a_agent",
    "virtual": "virtual_server",
    "virtual-server": "virtual_server",
}


class Unusable(ValueError):
    """A record that says too little, or something that cannot be; the message says what."""


def attempt(where: str, make: Callable[[], Entity]) -> Entity | Refused:
    """The entity, or why there is none."""
    try:
        return make()
    except Unusable as problem:
        return Refused(where, str(problem))
    except ConfigError as problem:
        return Refused(where, f"{problem}; {problem.hint}" if problem.hint else str(problem))


def text(record: Mapping[str, Any], *keys: str) -> str:
    """The first of these that is there and not empty."""
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
    """A list of texts, a text with commas, or a mapping whose true keys count; each once."""
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
    """True unless it is said to be false."""
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
    """A kind as it is stored; empty if none is said."""
    if value is None or value == "":
        return ""
    name = str(value).strip().casefold()
    name = _KIND.get(name, name)
    if name not in (*KINDS, TOOL):
        raise Unusable(f"unknown kind {str(value)!r}; {nearest(name, (*KINDS, TOOL))}")
    return name


def standing(record: Mapping[str, Any]) -> dict[str, Any]:
    """Lifecycle, and who may see it."""
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
    """A list of tools: their names, or objects."""
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
    """MCP's form of a tool, or the forms that model providers have for functions."""
    if not isinstance(value, Mapping):
        raise Unusable(f"{what} is not an object")
    inner = value.get("function")
    if isinstance(inner, Mapping):
        value = inner
    name = text(value, "name", "tool_name")
    if not name:
        raise Unusable(f"{what} has no name")
    return Tool(name, described(value), schema(value), texts_of(value.get("examples")))


def described(value: Mapping[str, Any]) -> str:
    """A description; one that was taken apart into its sections is put together again."""
    parsed = value.get("parsed_description")
    said = text(value, "description")
    if not said and isinstance(parsed, Mapping):
        said = " ".join(part for part in parsed.values() if isinstance(part, str))
    return said


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
    return {key: said for key, said in about.items() if said}


def texts_of(value: Any) -> tuple[str, ...]:
    """Examples: those that are texts."""
    items = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(item.strip() for item in items if isinstance(item, str) and item.strip()))


def slug(name: str) -> str:
    """A name as part of a path."""
    found = _SLUG.sub("-", name.strip().casefold()).strip("-.")
    if not found:
        raise Unusable(f"the name {name!r} gives no path")
    return found


def others(record: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """What a record says besides."""
    left_out = set(known)
    return {key: value for key, value in record.items() if key not in left_out and value not in (None, "", [], {})}


def plain(value: Any, depth: int = 0) -> Any:
    """Only what JSON and a catalogue can hold: dates become texts, and letters that no file can hold are replaced."""
    if depth > DEEPEST:
        raise Unusable(f"it is nested more than {DEEPEST} deep")
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
