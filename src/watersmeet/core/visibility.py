"""Visibility: who asks, and the gates that hide documents from them, in every search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STATUSES = ("active", "beta", "deprecated", "draft")

LIFECYCLE_GATE, ENABLED_GATE, AUDIENCE_GATE = "@lifecycle", "@enabled", "@audience"
"""Gate facets. Front matter cannot set them by accident: a note with `enabled: false` stays visible."""
NOBODY = "nobody"
PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Viewer:
    """The user who asks, with their groups. `all`: the owner of the index."""

    user: str = ""
    groups: tuple[str, ...] = ()
    all: bool = False


EVERYONE = Viewer()
OWNER = Viewer(all=True)


def audience_gates(viewer: Viewer | None) -> dict[str, tuple[str, ...]]:
    """Audience gate of a viewer; empty for the owner of the index."""
    if viewer is None or viewer.all:
        return {}
    user = (facet_of("user", viewer.user),) if viewer.user else ()
    return {AUDIENCE_GATE: (PUBLIC, *user, *(facet_of("group", group) for group in viewer.groups))}


def is_restricted(fields: Mapping[str, Any]) -> bool:
    """Whether the fields of a document restrict its audience."""
    values = [value for key, value in fields.items() if key.casefold() == AUDIENCE_GATE]
    allowed = [str(one).casefold() for value in values for one in (value if isinstance(value, list) else [value])]
    return bool(values) and PUBLIC not in allowed


def gates(
    viewer: Viewer | None = None,
    include_deprecated: bool = False,
    include_draft: bool = False,
    include_disabled: bool = False,
) -> dict[str, tuple[str, ...]]:
    """Visibility gates of a viewer, for `Condition.gates`. Gates that let everything through are included."""
    left_out = {"deprecated": not include_deprecated, "draft": not include_draft}
    return {
        **audience_gates(viewer),
        LIFECYCLE_GATE: tuple(status for status in STATUSES if not left_out.get(status)),
        ENABLED_GATE: ("true", "false") if include_disabled else ("true",),
    }


def facet_of(sort: str, name: str) -> str:
    """Facet value of a user or group. Facets ignore case and are short, so other names are hashed to stay exact."""
    if name == name.casefold() and len(name) <= 200:
        return f"{sort}:{name}"
    import hashlib  # not needed by a plain search

    return f"{sort}#{hashlib.blake2b(name.encode('utf8', 'surrogatepass'), digest_size=16).hexdigest()}"
