"""Why do the filters of a search leave nothing? Said for whoever found nothing."""

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
"""What can be filtered by in every index."""
OPEN = frozenset({"kind", "tag"})
"""Fields whose values anyone may be told, as far as they see the documents; others are for the index's owner."""
SHOWN = 5
COMPARABLE = 5_000


def requested_condition(request: Request, understand: Sequence[str]) -> Condition:
    """What a request filters by, also by the `#tags` in its query where the recipe reads them."""
    if "tags" not in understand or "#" not in request.query:
        return request.condition
    from watersmeet.query.tags import Tags

    return Tags().apply(Plan(request.query, condition=request.condition)).condition


def filter_hints(snapshot: Snapshot, condition: Condition, viewer: Viewer | None = None) -> list[str]:
    """A sentence for each filter that can only ever find nothing: no document has the field, or the value."""
    known = snapshot.fields(visible_to(viewer)) | ALWAYS
    said = []
    for key, values in (*condition.fields.items(), *condition.also):
        if key.casefold() not in known:
            said.append(f"no document has the field {key!r}; {nearest(key, known)}")
        else:
            said += _values(snapshot, "tag" if key.casefold() == "tags" else key, values, viewer)
    return list(dict.fromkeys(said))


def _values(snapshot: Snapshot, key: str, values: Sequence[str], viewer: Viewer | None) -> Iterator[str]:
    for value in values:
        if not _any(snapshot, key, value, viewer):
            yield f"no document has {_told(key, value)}{_instead(snapshot, key, value, viewer)}"


def _any(snapshot: Snapshot, key: str, value: str, viewer: Viewer | None) -> bool:
    return bool(snapshot.newest(Condition({key: (value,)}, gates=visible_to(viewer).gates), 1))


def _told(key: str, value: str) -> str:
    if key in ("kind", "tag"):
        return f"the {key} {value!r}"
    if key == "path":
        return f"a path that the glob {value!r} matches"
    return f"{key}={value}"


def _instead(snapshot: Snapshot, key: str, value: str, viewer: Viewer | None) -> str:
    if key == "path":
        below = f"{value.rstrip('/')}/**"
        return (
            f"; did you mean {below!r}?"
            if _any(snapshot, key, below, viewer)
            else "; for example '*.md' or 'guides/**'"
        )
    if key.casefold() not in OPEN and viewer is not None and not viewer.all:
        return ""
    there = snapshot.values_of(key.casefold(), visible_to(viewer))
    if not there:
        return "; there are none"
    shown = _nearest(value.casefold(), there)
    return f"; there are: {', '.join(shown)}{', ...' if len(there) > len(shown) else ''}"


def _nearest(value: str, there: Sequence[str]) -> list[str]:
    """Those that are written most alike first, then the commonest."""
    from difflib import get_close_matches

    close = get_close_matches(value, there[:COMPARABLE], SHOWN)
    return list(dict.fromkeys([*close, *there]))[:SHOWN]
