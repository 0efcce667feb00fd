"""Who asks decides what there is: the conditions that every reading call obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from watersmeet.core.index import Snapshot
from watersmeet.core.model import Condition, Request
from watersmeet.core.viewers import AUDIENCE_GATE, LIFECYCLE_GATE, Viewer, gates, seen_by


def gated(view: Snapshot, request: Request) -> Condition:
    """What a search may offer: what it asks for, of what is for its viewer and neither retired nor unfinished.

    Gates that the request has itself go before the usual ones; only who sees what is not for it to say.
    """
    wanted = {**opened(gates(), request.condition), **request.condition.gates, **seen_by(request.viewer)}
    needed = view.needed(wanted)
    return replace(request.condition, gates=needed) if needed or request.condition.gates else request.condition


def opened(usual: Mapping[str, tuple[str, ...]], condition: Condition) -> dict[str, tuple[str, ...]]:
    """The usual gates; a status that is asked for by its name is not left out as retired or unfinished."""
    named = [v for key, values in (*condition.fields.items(), *condition.also) if key == "status" for v in values]
    allowed = (*usual[LIFECYCLE_GATE], *(value.casefold() for value in named))
    return {**usual, LIFECYCLE_GATE: tuple(dict.fromkeys(allowed))}


def seen(viewer: Viewer | None) -> Condition:
    """What is there for a viewer, whatever its status."""
    return Condition(gates=seen_by(viewer))


def there(condition: Condition) -> Condition:
    """Of a condition only who sees what."""
    return Condition(gates={key: allowed for key, allowed in condition.gates.items() if key == AUDIENCE_GATE})


def statistics(view: Snapshot, viewer: Viewer | None) -> dict[str, Any]:
    """How much there is for a viewer; for one from whom something may be withheld, nothing that would tell how much:
    its size is that of the texts."""
    condition = seen(viewer)
    found = view.statistics(condition)
    facts = {one.name: getattr(found, one.name) for one in fields(found)} | {"kinds": dict(found.kinds)}
    if not limited(viewer):
        return facts | {"collections": dict(found.collections)}
    collections = {name: count for name, count in found.collections.items() if count}
    return facts | {"dead": 0, "collections": collections, "size_bytes": view.text_bytes(condition)}


def limited(viewer: Viewer | None) -> bool:
    """Whether there may be something that a viewer may not see."""
    return viewer is not None and not viewer.all
