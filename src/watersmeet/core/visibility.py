"""Visibility: who asks, the gates that hide documents from them in every search, and audiences of collections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.core.lazy_dataclass import dataclass

STATUSES = ("active", "beta", "deprecated", "draft")

LIFECYCLE_GATE, ENABLED_GATE, AUDIENCE_GATE = "@lifecycle", "@enabled", "@audience"
"""Gate facets. Front matter cannot set them by accident: a note with `enabled: false` stays visible."""
NOBODY = "nobody"
PUBLIC = "public"
OWN_AUDIENCE = "@own_audience"
"""The field of a document whose collection has an audience: what the document itself says, in a list, if anything."""

Audience = tuple[str, ...]
"""Who may see the documents of a collection, as it is written: `private`, `group:NAME`, `owner:NAME`; empty: everyone.
The owner of the index sees everything."""


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
    stated = _stated(fields)
    return stated is not None and PUBLIC not in stated


def audience_named(text: str) -> Audience:
    """The audience that a user writes: `public`, `private`, or groups and owners, separated by commas."""
    names = [name.strip() for name in text.split(",")]
    if names in ([PUBLIC], [_PRIVATE]):
        return () if names == [PUBLIC] else (_PRIVATE,)
    for name in names:
        sort, _, who = name.partition(":")
        if sort not in _SORTS or not who.strip() or not who.isprintable():
            raise ConfigError(
                f"{name!r} is no audience", "write public, private, group:NAME[,group:NAME] or owner:NAME"
            )
    return tuple(dict.fromkeys(names))


def audience_text(audience: Audience) -> str:
    """An audience as a user writes it."""
    return ",".join(audience) or PUBLIC


def may_see(viewer: Viewer | None, audience: Audience) -> bool:
    """Whether a viewer belongs to an audience."""
    allowed = audience_gates(viewer).get(AUDIENCE_GATE)
    return not audience or allowed is None or not set(allowed).isdisjoint(_labels(audience))


def restricted_to(fields: Mapping[str, Any], audience: Audience) -> dict[str, Any]:
    """The fields of a document in a collection with this audience. What the document itself says can narrow the
    audience, never widen it; it is kept, for the day when the collection has another."""
    kept = {key: value for key, value in fields.items() if key.casefold() != AUDIENCE_GATE and key != OWN_AUDIENCE}
    stated = [value for key, value in fields.items() if key.casefold() == AUDIENCE_GATE]
    own_values = list(fields.get(OWN_AUDIENCE, stated)[:1])
    own = {AUDIENCE_GATE: own_values[0]} if own_values else {}
    if not audience:
        return {**kept, **own}
    allowed = _labels(audience)
    if is_restricted(own):
        names = _stated(own) or []
        allowed = [label for label in allowed if label in names] or [NOBODY]
    return {**kept, AUDIENCE_GATE: allowed, OWN_AUDIENCE: own_values}


_PRIVATE, _SORTS = "private", {"group": "group", "owner": "user", "user": "user"}
"""What an audience can name, with the facet that stands for it."""


def _labels(audience: Audience) -> list[str]:
    """An audience as facet values."""
    named = [(_SORTS[sort], who.strip()) for sort, colon, who in (one.partition(":") for one in audience) if colon]
    return [facet_of(sort, who) for sort, who in named] or [NOBODY]


def _stated(fields: Mapping[str, Any]) -> list[str] | None:
    """The facet values that the fields of a document name; None if they name none."""
    values = [value for key, value in fields.items() if key.casefold() == AUDIENCE_GATE]
    allowed = [str(one).casefold() for value in values for one in (value if isinstance(value, list) else [value])]
    return allowed if values else None


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
