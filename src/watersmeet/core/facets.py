"""Facets of a document: the lower-case key and value pairs that it can be filtered by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from watersmeet.core.visibility import AUDIENCE_GATE, NOBODY

if TYPE_CHECKING:
    from watersmeet.core.documents import Document


MAX_FACET_LENGTH = 256


def facets_of(document: Document) -> Iterator[tuple[str, str]]:
    """Facets of a document: its tags and its fields; a list gives one facet for each item."""
    for tag in document.tags:
        yield "tag", tag.casefold()
    for key, value in document.fields.items():
        if key.casefold() == AUDIENCE_GATE:
            yield from ((AUDIENCE_GATE, label) for label in audience_labels(value))
            continue
        for item in value if isinstance(value, list) else [value]:
            text = facet_value(item)
            if text is not None:
                yield key.casefold(), text


def audience_labels(value: Any) -> list[str]:
    """Who may see a document, by what its field says. What is not understood is nobody: without a facet it would be
    everybody."""
    items = value if isinstance(value, list) else [value]
    return [facet_value(item) or NOBODY for item in items] or [NOBODY]


def facet_value(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float) and len(str(value)) <= MAX_FACET_LENGTH:
        return str(value).casefold()
    return None


def with_parents(tag: str) -> set[str]:
    """A tag and the tags above it: a document with food/bread has the tag food too."""
    found = {tag}
    while "/" in tag:
        tag = tag[: tag.rindex("/")].rstrip("/")
        found.add(tag)
    return found - {""}


def tag_names(tag: str) -> list[str]:
    """Stored spellings of a tag that may be written `#tag` or `tag/`."""
    low = tag.casefold()
    return sorted({low, low.removeprefix("#").rstrip("/")} - {""})
