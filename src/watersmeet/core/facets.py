"""What a document can be filtered by: facets, which are pairs of a key and a value in lower case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from watersmeet.core.documents import Document

LONGEST_VALUE = 256


def facets_of(document: Document) -> Iterator[tuple[str, str]]:
    """Its tags, and what its fields say; lists give one each."""
    for tag in document.tags:
        yield "tag", tag.casefold()
    for key, value in document.fields.items():
        for item in value if isinstance(value, list) else [value]:
            text = facet_value(item)
            if text is not None:
                yield key.casefold(), text


def facet_value(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float) and len(str(value)) <= LONGEST_VALUE:
        return str(value).casefold()
    return None


def tag_names(tag: str) -> list[str]:
    """A tag as it is kept, also where it is written `#tag` or `tag/`."""
    low = tag.casefold()
    return sorted({low, low.removeprefix("#").rstrip("/")} - {""})
