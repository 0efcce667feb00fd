"""Who asks, and what is kept from them: known to every search, whether or not there is a registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STATUSES = ("active", "beta", "deprecated", "draft")

LIFECYCLE_GATE, ENABLED_GATE, AUDIENCE_GATE = "@lifecycle", "@enabled", "@audience"
"""Facets that no front matter can set by accident: a note that says `enabled: false` stays findable."""
NOBODY = "nobody"
PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks. `all`: whoever owns the index."""

    user: str = ""
    groups: tuple[str, ...] = ()
    all: bool = False


EVERYONE = Viewer()
OWNER = Viewer(all=True)


def audience_gates(viewer: Viewer | None) -> dict[str, tuple[str, ...]]:
    """The gate that keeps from a viewer what is not for them; none for the owner of the index."""
    if viewer is None or viewer.all:
        return {}
    user = (facet_of("user", viewer.user),) if viewer.user else ()
    return {AUDIENCE_GATE: (PUBLIC, *user, *(facet_of("group", group) for group in viewer.groups))}


def is_restricted(fields: Mapping[str, Any]) -> bool:
    """Whether what a document says of itself keeps it from anyone."""
    values = [value for key, value in fields.items() if key.casefold() == AUDIENCE_GATE]
    allowed = [str(one).casefold() for value in values for one in (value if isinstance(value, list) else [value])]
    return bool(values) and PUBLIC not in allowed


def gates(
    viewer: Viewer | None = None,
    include_deprecated: bool = False,
    include_draft: bool = False,
    include_disabled: bool = False,
) -> dict[str, tuple[str, ...]]:
    """What a search may offer to a viewer: for `Condition.gates`. An open gate is there too, so that it is known."""
    left_out = {"deprecated": not include_deprecated, "draft": not include_draft}
    return {
        **audience_gates(viewer),
        LIFECYCLE_GATE: tuple(status for status in STATUSES if not left_out.get(status)),
        ENABLED_GATE: ("true", "false") if include_disabled else ("true",),
    }


def facet_of(sort: str, name: str) -> str:
    """A user or group as a facet value, which knows no capitals and no great length; the name stays exact."""
    if name == name.casefold() and len(name) <= 200:
        return f"{sort}:{name}"
    import hashlib  # a plain search has no need of it

    return f"{sort}#{hashlib.blake2b(name.encode('utf8', 'surrogatepass'), digest_size=16).hexdigest()}"
