"""Records in BEIR format: `_id`, `title`, `text` and `metadata`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watersmeet.core.entities import SERVER, TOOL, VIRTUAL, Entity, Refused, Tool
from watersmeet.core.record_format import Origin
from watersmeet.record._values import (
    Unusable,
    attempt,
    kind_of,
    mapping,
    needed,
    others,
    plain,
    schema,
    standing,
    text,
    texts,
    texts_of,
    tools,
)

_KNOWN = frozenset(
    "kind tags body tools examples status enabled is_enabled visibility groups allowed_groups owner registered_by repo"
    " url inputSchema parameters".split()
)
_NAMED = re.compile(r"(?:^|; )([A-Za-z][\w./-]*): ")
_LIST = " Tools: "


@dataclass(frozen=True, slots=True)
class Beir:
    """A BEIR record; `_id` is the path. A text may end with the tools of a server: `Tools: NAME: WHAT; NAME: WHAT`."""

    def knows(self, value: Any) -> bool:
        return isinstance(value, Mapping) and "_id" in value and ("title" in value or "text" in value)

    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]:
        where = f"{origin.where} ({value['_id']})"
        try:
            clean = plain(value)
            metadata = mapping(clean, "metadata")
            kind = kind_of(metadata.get("kind")) or kind_of(origin.kind) or SERVER
            if kind == TOOL:
                yield _tool(clean, metadata)
                return
        except Unusable as problem:
            yield Refused(where, str(problem))
            return
        yield attempt(where, lambda: _entity(clean, metadata, kind))


def _tool(value: dict[str, Any], metadata: dict[str, Any]) -> Tool:
    return Tool(needed(value, "_id"), text(value, "text"), schema(metadata), texts_of(metadata.get("examples")))


def _entity(value: dict[str, Any], metadata: dict[str, Any], kind: str) -> Entity:
    path = needed(value, "_id")
    description = text(value, "text")
    listed_tools = tools(metadata.get("tools"))
    if kind == SERVER and not listed_tools:
        description, listed_tools = _split_tools(description)
    location = text(metadata, "repo", "url") or (path if path.startswith(("https://", "http://")) else "")
    common = standing(metadata)
    return Entity(
        kind=kind,
        path=path,
        name=text(value, "title") or path,
        description=description,
        tags=texts(metadata, "tags"),
        tools=listed_tools,
        metadata=others(metadata, _KNOWN),
        examples=texts_of(metadata.get("examples")),
        body=text(metadata, "body"),
        extra={"location": location} if location else {},
        **(common | {"status": "active"} if kind == VIRTUAL else common),
    )


def _split_tools(description: str) -> tuple[str, tuple[Tool, ...]]:
    """Description without the tools listed at its end, and these tools."""
    if description.endswith(_LIST.rstrip()):
        return description.removesuffix(_LIST.rstrip()).rstrip(), ()
    before, mark, listed = description.rpartition(_LIST)
    names = list(_NAMED.finditer(listed)) if mark else []
    if not names or names[0].start() != 0:
        return description, ()
    ends = [found.start() for found in names[1:]] + [len(listed)]
    found = {m[1]: Tool(m[1], listed[m.end() : end].strip()) for m, end in zip(names, ends, strict=True)}
    return before.rstrip(), tuple(found.values())
