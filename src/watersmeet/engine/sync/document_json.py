"""Documents as JSON, for the pipe between a sync and the child process that parses. What comes back is checked."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from watersmeet.core.documents import Block, Document, Link, Section
from watersmeet.core.indexing import Skipped
from watersmeet.core.model import DocId
from watersmeet.core.place import NOWHERE, Place


class NotADocument(ValueError):
    """JSON that is not what `encode` makes."""


def encode(item: Document | Skipped) -> bytes:
    """One document, or the reason why there is none."""
    value = [item.path, item.reason] if isinstance(item, Skipped) else _document(item)
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")


def decode(payload: bytes) -> Document | Skipped:
    """The inverse of `encode`; `NotADocument` for anything else."""
    try:
        value = json.loads(payload)
        return _read_document(value) if isinstance(value, dict) else Skipped(_text(value[0]), _text(value[1]))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise NotADocument(f"the reader's answer is not valid: {error}") from error


def _document(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "kind": document.kind,
        "title": document.title,
        "path": document.path,
        "sections": [
            [s.headings, s.level, _place(s.place), [[b.text, _place(b.place)] for b in s.blocks]]
            for s in document.sections
        ],
        "modified": document.modified and document.modified.isoformat(),
        "created": document.created and document.created.isoformat(),
        "aliases": document.aliases,
        "tags": document.tags,
        "fields": document.fields,
        "links": [[link.target, link.type, link.heading, link.alias] for link in document.links],
        "warnings": document.warnings,
    }


def _read_document(value: dict[str, Any]) -> Document:
    fields = value["fields"]
    if not isinstance(fields, dict):
        raise TypeError("fields are not a mapping")
    return Document(
        id=DocId(_text(value["id"])),
        kind=_text(value["kind"]),
        title=_text(value["title"]),
        path=_text(value["path"]),
        sections=tuple(
            Section(_texts(headings), int(level), _read_place(place), _read_blocks(blocks))
            for headings, level, place, blocks in value["sections"]
        ),
        modified=_date(value["modified"]),
        created=_date(value["created"]),
        aliases=_texts(value["aliases"]),
        tags=_texts(value["tags"]),
        fields=fields,
        links=tuple(Link(*map(_text, link)) for link in value["links"]),
        warnings=_texts(value["warnings"]),
    )


def _read_blocks(blocks: list[Any]) -> tuple[Block, ...]:
    return tuple(Block(_text(text), _read_place(place)) for text, place in blocks)


def _place(place: Place) -> list[Any] | None:
    if place == NOWHERE:
        return None
    return [place.lines, place.pages, place.slides, place.sheet, place.anchor]


def _read_place(value: list[Any] | None) -> Place:
    if value is None:
        return NOWHERE
    lines, pages, slides, sheet, anchor = value
    return Place(_range(lines), _range(pages), _range(slides), _text(sheet), _text(anchor))


def _range(value: Any) -> tuple[int, int] | None:
    return (int(value[0]), int(value[1])) if value else None


def _texts(value: list[Any]) -> tuple[str, ...]:
    return tuple(map(_text, value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value.replace("\0", "\ufffd") if "\0" in value else value


def _date(value: Any) -> datetime | None:
    return datetime.fromisoformat(_text(value)) if value else None
