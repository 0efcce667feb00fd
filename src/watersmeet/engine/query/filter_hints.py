"""Hints about filters that match no document, for searches without results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from watersmeet.core.errors import nearest
from watersmeet.core.index import Snapshot
from watersmeet.core.model import Condition, Plan, Request
from watersmeet.engine.query.visibility import visible_to

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer

ALWAYS = frozenset({"kind", "path", "document", "collection", "tag", "tags", "status"})
"""Filter keys that exist in every index."""
OPEN = frozenset({"kind", "tag"})
"""Fields whose values are shown to every viewer, from visible documents; others only to the owner of the index."""
MAX_SHOWN = 5
MAX_COMPARED = 5_000


def requested_condition(request: Request, understand: Sequence[str]) -> Condition:
    """The condition of a request, with the `#tags` of its query if the recipe reads them."""
    if "tags" not in understand or "#" not in request.query:
        return request.condition
    from watersmeet.query.tags import Tags

    return Tags().apply(Plan(request.query, condition=request.condition)).condition


def filter_hints(snapshot: Snapshot, condition: Condition, viewer: Viewer | None = None) -> list[str]:
    """A hint for each filter that matches nothing: no document has the field, or the value."""
    fields = snapshot.fields(visible_to(viewer)) | ALWAYS
    hints = []
    for key, values in (*condition.fields.items(), *condition.also):
        if key.casefold() not in fields:
            hints.append(f"no document has the field {key!r}; {nearest(key, fields)}")
        else:
            hints += _value_hints(snapshot, "tag" if key.casefold() == "tags" else key, values, viewer)
    return list(dict.fromkeys(hints))


def _value_hints(snapshot: Snapshot, key: str, values: Sequence[str], viewer: Viewer | None) -> Iterator[str]:
    for value in values:
        if not _exists(snapshot, key, value, viewer):
            yield f"no document has {_description(key, value)}{_suggestion(snapshot, key, value, viewer)}"


def _exists(snapshot: Snapshot, key: str, value: str, viewer: Viewer | None) -> bool:
    return bool(snapshot.newest(Condition({key: (value,)}, gates=visible_to(viewer).gates), 1))


def _description(key: str, value: str) -> str:
    if key in ("kind", "tag"):
        return f"the {key} {value!r}"
    if key == "path":
        return f"a path that the glob {value!r} matches"
    return f"{key}={value}"


def _suggestion(snapshot: Snapshot, key: str, value: str, viewer: Viewer | None) -> str:
    if key == "path":
        below = f"{value.rstrip('/')}/**"
        return (
            f"; did you mean {below!r}?"
            if _exists(snapshot, key, below, viewer)
            else "; for example '*.md' or 'guides/**'"
        )
    if key.casefold() not in OPEN and viewer is not None and not viewer.all:
        return ""
    existing = snapshot.values_of(key.casefold(), visible_to(viewer))
    if not existing:
        return "; no document has one"
    shown = _nearest(value.casefold(), existing)
    return f"; there are: {', '.join(shown)}{', ...' if len(existing) > len(shown) else ''}"


def _nearest(value: str, values: Sequence[str]) -> list[str]:
    """Similarly spelled values first, then the most frequent."""
    from difflib import get_close_matches

    close = get_close_matches(value, values[:MAX_COMPARED], MAX_SHOWN)
    return list(dict.fromkeys([*close, *values]))[:MAX_SHOWN]
