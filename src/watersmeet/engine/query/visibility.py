"""Who asks decides what there is: the conditions that every reading call obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from watersmeet.core.index import Snapshot
from watersmeet.core.model import Condition, Request
from watersmeet.core.visibility import AUDIENCE_GATE, LIFECYCLE_GATE, Viewer, audience_gates, gates


def search_gates(snapshot: Snapshot, request: Request) -> Condition:
    """What a search may offer: what it asks for, of what is for its viewer and neither retired nor unfinished.

    Gates that the request has itself go before the usual ones; only who sees what is not for it to say.
    """
    wanted = {**open_lifecycle(gates(), request.condition), **request.condition.gates, **audience_gates(request.viewer)}
    needed = snapshot.needed(wanted)
    return replace(request.condition, gates=needed) if needed or request.condition.gates else request.condition


def open_lifecycle(usual: Mapping[str, tuple[str, ...]], condition: Condition) -> dict[str, tuple[str, ...]]:
    """The usual gates; a status that is asked for by its name is not left out as retired or unfinished."""
    named = [v for key, values in (*condition.fields.items(), *condition.also) if key == "status" for v in values]
    allowed = (*usual[LIFECYCLE_GATE], *(value.casefold() for value in named))
    return {**usual, LIFECYCLE_GATE: tuple(dict.fromkeys(allowed))}


def visible_to(viewer: Viewer | None) -> Condition:
    """What is there for a viewer, whatever its status."""
    return Condition(gates=audience_gates(viewer))


def audience_only(condition: Condition) -> Condition:
    """Of a condition only who sees what."""
    return Condition(gates={key: allowed for key, allowed in condition.gates.items() if key == AUDIENCE_GATE})


def statistics(snapshot: Snapshot, viewer: Viewer | None) -> dict[str, Any]:
    """How much there is for a viewer; for one from whom something may be withheld, nothing that would tell how much:
    its size is that of the texts."""
    condition = visible_to(viewer)
    found = snapshot.statistics(condition)
    facts = {one.name: getattr(found, one.name) for one in fields(found)} | {"kinds": dict(found.kinds)}
    if not is_limited(viewer):
        return facts | {"collections": dict(found.collections)}
    collections = {name: count for name, count in found.collections.items() if count}
    return facts | {"dead": 0, "collections": collections, "size_bytes": snapshot.text_bytes(condition)}


def is_limited(viewer: Viewer | None) -> bool:
    """Whether there may be something that a viewer may not see."""
    return viewer is not None and not viewer.all
