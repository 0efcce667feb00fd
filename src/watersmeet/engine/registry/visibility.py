"""What stands behind a virtual server: a viewer is told of what is theirs to see, and of nothing else.

It is applied to values, before anything is rendered: an entity, a document's fields, a passage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from watersmeet.core.entities import VIRTUAL, Entity, embedding_text, entity_of, record
from watersmeet.core.index import Snapshot
from watersmeet.core.model import DocId, Passage
from watersmeet.core.ports import Entities
from watersmeet.core.visibility import Viewer
from watersmeet.engine.query.visibility import is_limited, visible_to

PATHS, MAPPINGS, COUNT, PATH = "backend_paths", "tool_mappings", "backend_count", "backend_server_path"
_ALIASES = ("alias", "tool_name", "name")
_COUNTS = ("num_tools", "tool_count")


def visible(snapshot: Snapshot, entities: Sequence[Entity], viewer: Viewer | None) -> list[Entity]:
    """The entities without the backends that the viewer cannot see, and without their tools: those of others look like
    those that are not there."""
    if not is_limited(viewer):
        return list(entities)
    named = {path for entity in entities for path in _named([entity.metadata, entity.extra])}
    known = snapshot.only(named, visible_to(viewer)) if named else ()
    return [_shown(entity, known) for entity in entities]


def visible_record(snapshot: Snapshot, found: Mapping[str, Any], viewer: Viewer | None) -> dict[str, Any]:
    """The record of an entity; that of a tool has nothing behind it."""
    if not is_limited(viewer) or "path" not in found:
        return dict(found)
    before = entity_of(found)
    after = visible(snapshot, [before], viewer)[0]
    return dict(found) if after == before else record(after)


def visible_fields(snapshot: Snapshot, fields: Mapping[str, Any], viewer: Viewer | None) -> dict[str, Any]:
    """What a document says of itself; what is registered says its metadata there too."""
    found = fields.get("record")
    if not is_limited(viewer) or not isinstance(found, dict) or "path" not in found:
        return dict(fields)
    shown, said = visible_record(snapshot, found, viewer), found.get("metadata") or {}
    changed = {key: value for key, value in shown["metadata"].items() if value != said.get(key)}
    return {
        **fields,
        **{key: value for key, value in changed.items() if fields.get(key) == said.get(key)},
        "record": shown,
    }


def visible_text(snapshot: Snapshot, fields: Mapping[str, Any], text: str, viewer: Viewer | None) -> str:
    """The text of a document: of a virtual server, without the tools that are not shown."""
    found = fields.get("record")
    if not isinstance(found, dict) or found.get("kind") != VIRTUAL:
        return text
    before = entity_of(found)
    after = visible(snapshot, [before], viewer)[0]
    return text if after.tools == before.tools else embedding_text(after)


def visible_passages(
    snapshot: Snapshot, entities: Entities, passages: Iterable[Passage], viewer: Viewer | None
) -> list[Passage]:
    """The passages of virtual servers without what the viewer cannot see behind them; all others as they are."""
    if not is_limited(viewer):
        return list(passages)
    found = list(passages)
    virtual = entities.entities({passage.document for passage in found if passage.kind == VIRTUAL})
    shown = dict(zip(virtual, visible(snapshot, list(virtual.values()), viewer), strict=True))
    texts = {name: embedding_text(shown[name]) for name in virtual if shown[name].tools != virtual[name].tools}
    return [replace(one, text=texts[one.document]) if one.document in texts else one for one in found]


def _named(explain: Any) -> Iterator[DocId]:
    """Every backend that is named anywhere in it."""
    if isinstance(explain, list | tuple):
        for one in explain:
            yield from _named(one)
    elif isinstance(explain, Mapping):
        for key, value in explain.items():
            if key == PATHS and isinstance(value, list | tuple):
                yield from (DocId(path) for path in value if isinstance(path, str))
            elif key == PATH and isinstance(value, str):
                yield DocId(value)
            else:
                yield from _named(value)


def _shown(entity: Entity, known: Collection[str]) -> Entity:
    metadata, extra = _trimmed(entity.metadata, known), _trimmed(entity.extra, known)
    tools = _tools(entity, known) if entity.kind == VIRTUAL else entity.tools
    if len(tools) < len(entity.tools):
        for said in (metadata, extra):
            said.update((key, len(tools)) for key in _COUNTS if key in said)
    return replace(entity, metadata=metadata, extra=extra, tools=tools)


def _tools(entity: Entity, known: Collection[str]) -> tuple[Any, ...]:
    """Those of a virtual server whose backend is known, or that have none."""
    behind: dict[str, Any] = {}
    for said in (entity.extra, entity.metadata):
        mappings = said.get(MAPPINGS)
        for mapping in mappings if isinstance(mappings, list) else ():
            if isinstance(mapping, dict):
                name = next((str(mapping[key]).strip() for key in _ALIASES if mapping.get(key)), "")
                behind.setdefault(name, mapping.get(PATH))
    return tuple(tool for tool in entity.tools if not behind.get(tool.name) or behind[tool.name] in known)


def _trimmed(explain: Any, known: Collection[str]) -> Any:
    if isinstance(explain, list | tuple):
        return [_trimmed(one, known) for one in explain]
    if not isinstance(explain, Mapping):
        return explain
    left = {key: _trimmed(value, known) for key, value in explain.items()}
    if isinstance(explain.get(PATHS), list | tuple):
        left[PATHS] = [path for path in explain[PATHS] if path in known]
        if COUNT in left:
            left[COUNT] = len(left[PATHS])
    if isinstance(explain.get(MAPPINGS), list | tuple):
        left[MAPPINGS] = [one for one in explain[MAPPINGS] if isinstance(one, dict) and one.get(PATH) in known]
    return left
