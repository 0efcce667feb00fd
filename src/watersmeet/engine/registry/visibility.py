"""Visibility of the backends of virtual servers: a viewer sees only those that they may see.

Applied to values before they are rendered: an entity, a document's fields, a passage.
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
BACKENDS, EXTERNAL = "backends", "external"
"""A virtual server's own word that its backends are not registered here."""
_ALIASES = ("alias", "tool_name", "name")
_COUNTS = ("num_tools", "tool_count")


def visible(snapshot: Snapshot, entities: Sequence[Entity], viewer: Viewer | None) -> list[Entity]:
    """Entities without the backends that the viewer may not see, and without their tools. Hidden backends look the same
    as missing ones."""
    if not is_limited(viewer):
        return list(entities)
    backends = {path for entity in entities for path in _backend_paths([entity.metadata, entity.extra])}
    visible_paths = snapshot.only(backends, visible_to(viewer)) if backends else ()
    return [entity if is_external(entity) else _without_hidden(entity, visible_paths) for entity in entities]


def is_external(entity: Entity) -> bool:
    """Whether a virtual server says that its backends are elsewhere. What it lists is then shown as it is, whether or
    not something is registered under these paths: so it tells nothing about what is."""
    return entity.kind == VIRTUAL and EXTERNAL in (entity.extra.get(BACKENDS), entity.metadata.get(BACKENDS))


def visible_record(snapshot: Snapshot, found: Mapping[str, Any], viewer: Viewer | None) -> dict[str, Any]:
    """The record of an entity, without hidden backends; records of tools have none."""
    if not is_limited(viewer) or "path" not in found:
        return dict(found)
    before = entity_of(found)
    after = visible(snapshot, [before], viewer)[0]
    return dict(found) if after == before else record(after)


def visible_fields(snapshot: Snapshot, fields: Mapping[str, Any], viewer: Viewer | None) -> dict[str, Any]:
    """The fields of a document, without hidden backends. For entities they include the metadata."""
    found = fields.get("record")
    if not is_limited(viewer) or not isinstance(found, dict) or "path" not in found:
        return dict(fields)
    shown, metadata = visible_record(snapshot, found, viewer), found.get("metadata") or {}
    changed = {key: value for key, value in shown["metadata"].items() if value != metadata.get(key)}
    return {
        **fields,
        **{key: value for key, value in changed.items() if fields.get(key) == metadata.get(key)},
        "record": shown,
    }


def visible_text(snapshot: Snapshot, fields: Mapping[str, Any], text: str, viewer: Viewer | None) -> str:
    """The text of a document, without hidden tools if it is a virtual server."""
    found = fields.get("record")
    if not isinstance(found, dict) or found.get("kind") != VIRTUAL:
        return text
    before = entity_of(found)
    after = visible(snapshot, [before], viewer)[0]
    return text if after.tools == before.tools else embedding_text(after)


def visible_passages(
    snapshot: Snapshot, entities: Entities, passages: Iterable[Passage], viewer: Viewer | None
) -> list[Passage]:
    """Passages, without hidden tools if they are of virtual servers."""
    if not is_limited(viewer):
        return list(passages)
    found = list(passages)
    virtual = entities.entities({passage.document for passage in found if passage.kind == VIRTUAL})
    shown = dict(zip(virtual, visible(snapshot, list(virtual.values()), viewer), strict=True))
    texts = {name: embedding_text(shown[name]) for name in virtual if shown[name].tools != virtual[name].tools}
    return [replace(one, text=texts[one.document]) if one.document in texts else one for one in found]


def _backend_paths(value: Any) -> Iterator[DocId]:
    """All backend paths anywhere in a nested value."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _backend_paths(one)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key == PATHS and isinstance(inner, list | tuple):
                yield from (DocId(path) for path in inner if isinstance(path, str))
            elif key == PATH and isinstance(inner, str):
                yield DocId(inner)
            else:
                yield from _backend_paths(inner)


def _without_hidden(entity: Entity, visible_paths: Collection[str]) -> Entity:
    metadata, extra = _trimmed(entity.metadata, visible_paths), _trimmed(entity.extra, visible_paths)
    tools = _tools(entity, visible_paths) if entity.kind == VIRTUAL else entity.tools
    if len(tools) < len(entity.tools):
        for values in (metadata, extra):
            values.update((key, len(tools)) for key in _COUNTS if key in values)
    return replace(entity, metadata=metadata, extra=extra, tools=tools)


def _tools(entity: Entity, visible_paths: Collection[str]) -> tuple[Any, ...]:
    """Tools of a virtual server whose backend is visible, or that have none."""
    backends: dict[str, Any] = {}
    for values in (entity.extra, entity.metadata):
        mappings = values.get(MAPPINGS)
        for mapping in mappings if isinstance(mappings, list) else ():
            if isinstance(mapping, dict):
                name = next((str(mapping[key]).strip() for key in _ALIASES if mapping.get(key)), "")
                backends.setdefault(name, mapping.get(PATH))
    return tuple(tool for tool in entity.tools if not backends.get(tool.name) or backends[tool.name] in visible_paths)


def _trimmed(value: Any, visible_paths: Collection[str]) -> Any:
    if isinstance(value, list | tuple):
        return [_trimmed(one, visible_paths) for one in value]
    if not isinstance(value, Mapping):
        return value
    left = {key: _trimmed(inner, visible_paths) for key, inner in value.items()}
    if isinstance(value.get(PATHS), list | tuple):
        left[PATHS] = [path for path in value[PATHS] if path in visible_paths]
        if COUNT in left:
            left[COUNT] = len(left[PATHS])
    if isinstance(value.get(MAPPINGS), list | tuple):
        left[MAPPINGS] = [one for one in value[MAPPINGS] if isinstance(one, dict) and one.get(PATH) in visible_paths]
    return left
