"""Visibility conditions that every read applies, by viewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from watersmeet.core.index import Snapshot
from watersmeet.core.model import Condition, Request
from watersmeet.core.visibility import AUDIENCE_GATE, LIFECYCLE_GATE, Viewer, audience_gates, gates, may_see


def search_gates(snapshot: Snapshot, request: Request) -> Condition:
    """The condition of a search: its filters, the viewer's visibility, and neither deprecated nor draft documents.

    Gates of the request replace the default ones, except those of visibility.
    """
    combined = {
        **open_lifecycle(gates(), request.condition),
        **request.condition.gates,
        **audience_gates(request.viewer),
    }
    needed = snapshot.needed(combined)
    return replace(request.condition, gates=needed) if needed or request.condition.gates else request.condition


def open_lifecycle(defaults: Mapping[str, tuple[str, ...]], condition: Condition) -> dict[str, tuple[str, ...]]:
    """The default gates, opened for each status that the condition names."""
    named = [v for key, values in (*condition.fields.items(), *condition.also) if key == "status" for v in values]
    allowed = (*defaults[LIFECYCLE_GATE], *(value.casefold() for value in named))
    return {**defaults, LIFECYCLE_GATE: tuple(dict.fromkeys(allowed))}


def visible_to(viewer: Viewer | None) -> Condition:
    """The visibility of a viewer, whatever the status of the documents."""
    return Condition(gates=audience_gates(viewer))


def audience_only(condition: Condition) -> Condition:
    """A condition reduced to visibility."""
    return Condition(gates={key: allowed for key, allowed in condition.gates.items() if key == AUDIENCE_GATE})


def statistics(snapshot: Snapshot, viewer: Viewer | None) -> dict[str, Any]:
    """Counts for a viewer. A limited viewer gets nothing that reveals how much is hidden: the size is that of visible
    texts."""
    condition = visible_to(viewer)
    found = snapshot.statistics(condition)
    facts = {one.name: getattr(found, one.name) for one in fields(found)} | {"kinds": dict(found.kinds)}
    if not is_limited(viewer):
        return facts | {"collections": dict(found.collections)}
    collections = {name: count for name, count in found.collections.items() if count}
    hidden = hidden_roots(snapshot, viewer)
    roots = [place for place in found.roots if place not in hidden]
    size = snapshot.text_bytes(condition)
    return facts | {"dead": 0, "collections": collections, "roots": roots, "size_bytes": size}


def hidden_collections(snapshot: Snapshot, viewer: Viewer | None) -> set[str]:
    """Names of the collections that a viewer may not see: nothing tells that there are any, nor where their documents
    come from."""
    return {name for name, audience in snapshot.collection_audiences().items() if not may_see(viewer, audience)}


def hidden_roots(snapshot: Snapshot, viewer: Viewer | None) -> frozenset[str]:
    """Places of the roots in these collections."""
    hidden = hidden_collections(snapshot, viewer)
    return frozenset(one.root.path for one in snapshot.indexed_roots() if one.collection in hidden) if hidden else _NONE


_NONE = frozenset[str]()


def is_limited(viewer: Viewer | None) -> bool:
    """Whether documents may be hidden from a viewer."""
    return viewer is not None and not viewer.all
