"""What stands behind a virtual server: a viewer is told of what is theirs to see, and of nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import VIRTUAL, embedding_text
from watersmeet.core.model import DocId, Passage
from watersmeet.engine.viewing import seen

if TYPE_CHECKING:
    from watersmeet.core.entities import Entity
    from watersmeet.core.viewers import Viewer
    from watersmeet.engine.engine import Engine

PATHS, MAPPINGS, COUNT, PATH = "backend_paths", "tool_mappings", "backend_count", "backend_server_path"
_ALIASES = ("alias", "tool_name", "name")
_TOOLS = {"tools": "name", "matching_tools": "tool_name"}
_COUNTS = ("num_tools", "tool_count")


def visible(engine: Engine, told: Any, viewer: Viewer | None) -> Any:
    """The same JSON without the backends that the viewer cannot see, and without their tools: those of others look
    like those not there."""
    if viewer is None or viewer.all:
        return told
    paths = {path for part in _objects(told) if (path := _virtual(part))}
    named = set(_named(told))
    if not paths and not named:
        return told
    with engine._session() as session, session.moment() as view:
        virtual = session.entities.entities(paths)
        named.update(path for entity in virtual.values() for path in _named(entity.extra))
        known = view.only(named, seen(viewer))
    shown = {path: _open(entity, known) for path, entity in virtual.items()}
    return _without(told, known, {path: entity for path, entity in shown.items() if entity != virtual[path]})


def readable(engine: Engine, passages: Iterable[Passage], viewer: Viewer | None) -> list[Passage]:
    """The passages of virtual servers without what the viewer cannot see behind them; all others as they are."""
    if viewer is None or viewer.all:
        return list(passages)
    return [_readable(engine, passage, viewer) if passage.kind == VIRTUAL else passage for passage in passages]


def _readable(engine: Engine, passage: Passage, viewer: Viewer) -> Passage:
    told = {"document": passage.document, "kind": passage.kind, "text": passage.text}
    return replace(passage, text=visible(engine, told, viewer)["text"])


def _objects(told: Any) -> Iterator[Mapping[str, Any]]:
    left = [told]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left += [one for one in part if isinstance(one, dict | list)]
        elif isinstance(part, dict):
            left += [one for one in part.values() if isinstance(one, dict | list)]
            yield part


def _virtual(told: Mapping[str, Any]) -> DocId:
    """The virtual server that an object is about; empty if it is not about one."""
    path = told.get("document", told.get("path"))
    return (
        DocId(path) if VIRTUAL in (told.get("kind"), told.get("entity_type")) and isinstance(path, str) else DocId("")
    )


def _named(told: Any) -> Iterator[DocId]:
    """Every backend that is named anywhere in it."""
    for part in _objects(told):
        yield from (DocId(path) for path in _list(part, PATHS) if isinstance(path, str))
        for mapping in _list(part, MAPPINGS):
            if isinstance(mapping, dict) and isinstance(mapping.get(PATH), str):
                yield DocId(mapping[PATH])


def _open(entity: Entity, known: Collection[str]) -> Entity:
    """A virtual server without the tools whose backend is unknown."""
    behind: dict[str, Any] = {}
    for mapping in _list(entity.extra, MAPPINGS):
        if isinstance(mapping, dict):
            name = next((str(mapping[key]).strip() for key in _ALIASES if mapping.get(key)), "")
            behind.setdefault(name, mapping.get(PATH))
    tools = [tool for tool in entity.tools if not behind.get(tool.name) or behind[tool.name] in known]
    return replace(entity, tools=tuple(tools))


def _without(told: Any, known: Collection[str], virtual: Mapping[DocId, Entity]) -> Any:
    if isinstance(told, list):
        return [_without(part, known, virtual) for part in told]
    if not isinstance(told, dict):
        return told
    left = {key: _without(part, known, virtual) for key, part in told.items()}
    if isinstance(told.get(PATHS), list):
        left[PATHS] = [path for path in told[PATHS] if path in known]
        if COUNT in left:
            left[COUNT] = len(left[PATHS])
    if isinstance(told.get(MAPPINGS), list):
        left[MAPPINGS] = [one for one in told[MAPPINGS] if isinstance(one, dict) and one.get(PATH) in known]
    entity = virtual.get(_virtual(told))
    if entity is not None:
        _tell(left, entity)
    return left


def _tell(told: dict[str, Any], entity: Entity) -> None:
    """Only of the tools that this virtual server has, wherever tools are shown or counted."""
    names = {tool.name for tool in entity.tools}
    for key, name in _TOOLS.items():
        if key in told:
            told[key] = [tool for tool in told[key] if tool[name] in names]
    for part in (told, told.get("metadata"), told.get("fields")):
        if isinstance(part, dict):
            part.update((key, len(names)) for key in _COUNTS if key in part)
    if "text" in told:
        told["text"] = embedding_text(entity)


def _list(told: Mapping[str, Any], key: str) -> list[Any]:
    found = told.get(key)
    return found if isinstance(found, list) else []
