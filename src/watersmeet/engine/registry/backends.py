"""What stands behind a virtual server: a viewer is told of what is theirs to see, and of nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from watersmeet.core.model import DocId
from watersmeet.engine.viewing import seen

if TYPE_CHECKING:
    from watersmeet.core.entities import Viewer
    from watersmeet.engine.engine import Engine

PATHS, MAPPINGS, COUNT, PATH = "backend_paths", "tool_mappings", "backend_count", "backend_server_path"


def visible(engine: Engine, told: Any, viewer: Viewer | None) -> Any:
    """The same JSON without the backends that the viewer cannot see: those of others look like those not there."""
    if viewer is None or viewer.all:
        return told
    named = set(_named(told))
    if not named:
        return told
    with engine._session() as session, session.moment() as view:
        return _without(told, view.only(named, seen(viewer)))


def _named(told: Any) -> Iterator[DocId]:
    """Every backend that is named anywhere in it."""
    left = [told]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left += [one for one in part if isinstance(one, dict | list)]
        elif isinstance(part, dict):
            left += [one for one in part.values() if isinstance(one, dict | list)]
            yield from (DocId(path) for path in _list(part, PATHS) if isinstance(path, str))
            for mapping in _list(part, MAPPINGS):
                if isinstance(mapping, dict) and isinstance(mapping.get(PATH), str):
                    yield DocId(mapping[PATH])


def _without(told: Any, known: Collection[str]) -> Any:
    if isinstance(told, list):
        return [_without(part, known) for part in told]
    if not isinstance(told, dict):
        return told
    left = {key: _without(part, known) for key, part in told.items()}
    if isinstance(told.get(PATHS), list):
        left[PATHS] = [path for path in told[PATHS] if path in known]
        if COUNT in left:
            left[COUNT] = len(left[PATHS])
    if isinstance(told.get(MAPPINGS), list):
        left[MAPPINGS] = [one for one in told[MAPPINGS] if isinstance(one, dict) and one.get(PATH) in known]
    return left


def _list(told: dict[str, Any], key: str) -> list[Any]:
    found = told.get(key)
    return found if isinstance(found, list) else []
