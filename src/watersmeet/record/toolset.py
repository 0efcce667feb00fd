"""Tool lists: the answer of a server to `tools/list`, or the bare list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watersmeet.core.entities import SERVER, Entity, Refused, Tool
from watersmeet.core.record_format import Origin
from watersmeet.record._values import Unusable, attempt, mapping, needed, plain, slug, text, tool_of, tools

_SCHEMAS = ("inputSchema", "input_schema", "parameters", "arguments")


@dataclass(frozen=True, slots=True)
class Toolset:
    """A tool list. With `serverInfo` it is a server; otherwise the tools belong to their file."""

    def knows(self, value: Any) -> bool:
        return isinstance(value, Mapping) and "path" not in value and (_answer(value) is not None or _is_tool(value))

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        answer = _answer(value)
        if answer is None:
            yield from _loose([value], origin)
        elif isinstance(answer.get("serverInfo"), Mapping):
            yield attempt(origin.where, lambda: _server(plain(answer)))
        else:
            yield from _loose(answer["tools"], origin)


def _answer(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The object with the list of tools, if the value is only that."""
    result = value.get("result")
    if isinstance(result, Mapping) and isinstance(result.get("tools"), list):
        return result
    return value if isinstance(value.get("tools"), list) and "name" not in value else None


def _is_tool(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("function"), Mapping) or ("name" in value and any(key in value for key in _SCHEMAS))


def _server(value: dict[str, Any]) -> Entity:
    info = mapping(value, "serverInfo")
    name = needed(info, "name")
    return Entity(
        kind=SERVER,
        path=f"/{slug(name)}",
        name=text(info, "title") or name,
        description=text(value, "instructions"),
        tools=tools(value["tools"]),
        extra={"version": text(info, "version")} if text(info, "version") else {},
    )


def _loose(values: list[Any], origin: Origin) -> Iterator[Tool | Refused]:
    for number, value in enumerate(values, 1):
        where = origin.where if len(values) == 1 else f"{origin.where}, tool {number}"
        try:
            yield tool_of(plain(value))
        except Unusable as problem:
            yield Refused(where, str(problem))
