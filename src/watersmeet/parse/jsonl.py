"""Corpora in BEIR format: one JSON record a line, with `_id`, `title`, `text` and `metadata`."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO, ClassVar

from watersmeet.core.documents import Block, Document, Link, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.limits import MAX_LINKS, MAX_TAGS
from watersmeet.core.model import DocId
from watersmeet.core.place import Place
from watersmeet.core.spill import Spill
from watersmeet.parse._blocks import paragraphs
from watersmeet.parse._decode import decode_lines
from watersmeet.parse._inline import distinct, limited, listed_tags
from watersmeet.parse._outline import outline
from watersmeet.parse._values import clean, created, modified, plain

_LOOKS_LIKE_MARKDOWN = re.compile(r"^(?:#{1,6} |```|~~~)", re.MULTILINE)
_GIVE_UP_LINES = 100
_MAX_REASONS = 100
"""Unusable lines that are reported one by one; the others are counted."""


class _Unusable(ValueError):
    """A line that is not a record; the message says why."""


@dataclass(frozen=True, slots=True)
class Jsonl(ParserOptions):
    """One document a line. Tags and links come from the metadata only."""

    reads: ClassVar[tuple[str, ...]] = ("application/jsonl", "application/x-ndjson", ".jsonl")
    size: ClassVar[str] = "records"

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        return self.parse_stream(found, io.BytesIO(content))

    def parse_stream(self, found: Found, stream: BinaryIO) -> Iterator[Document | Skipped]:
        lines, warnings, refusal = decode_lines(stream)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        lines_by_id: Spill[int] = Spill()
        bad = 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = _record(line)
                identity = _id(record)
                earlier = lines_by_id.get(identity)
                if earlier is not None:
                    raise _Unusable(f"the id {identity[:200]!r} is already used in line {earlier}")
                yield _document(found.uri, number, identity, record, warnings)
                lines_by_id[identity] = number
            except _Unusable as problem:
                bad += 1
                if bad <= _MAX_REASONS:
                    yield Skipped(f"{found.uri}:{number}", str(problem))
                if bad == _GIVE_UP_LINES and not lines_by_id:
                    yield Skipped(found.uri, f"no record in the first {bad} lines; the rest was not read")
                    return
        if bad > _MAX_REASONS:
            yield Skipped(found.uri, f"{bad - _MAX_REASONS:,} more lines hold no record that can be used")


def _document(path: str, number: int, id_: str, record: dict[str, Any], warnings: tuple[str, ...]) -> Document:
    title, text = _text(record, "title"), _text(record, "text")
    if not title.strip() and not text.strip():
        raise _Unusable("neither a title nor a text")
    metadata = record.get("metadata")
    try:
        fields: dict[str, Any] = plain(metadata) if isinstance(metadata, dict) else {}
    except RecursionError:
        raise _Unusable("its metadata is nested too deeply") from None
    kind = fields.get("kind")
    tags, links = fields.get("tags"), fields.get("links")
    unique_tags, too_many_tags = limited(
        distinct(listed_tags(tags)) if isinstance(tags, list) else (), MAX_TAGS, "tags"
    )
    edges, too_many_links = limited(_links(links) if isinstance(links, list) else (), MAX_LINKS, "links")
    sections, text_warnings = _sections(text, number)
    return Document(
        id=DocId(id_),
        kind=kind if isinstance(kind, str) and kind else "document",
        title=title.strip() or id_,
        path=path,
        sections=sections,
        modified=modified(fields),
        created=created(fields),
        tags=unique_tags,
        fields=fields,
        links=edges,
        warnings=(
            *warnings,
            *(f"line {number}: {warning}" for warning in (*text_warnings, *too_many_tags, *too_many_links)),
        ),
    )


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as problem:
        raise _Unusable(f"not JSON: {problem.msg} (column {problem.colno})") from problem
    except (ValueError, RecursionError) as problem:
        raise _Unusable(f"not JSON: {problem}") from problem
    if not isinstance(record, dict):
        raise _Unusable("not a JSON object")
    return record


def _id(record: dict[str, Any]) -> str:
    value = record.get("_id")
    if isinstance(value, str) and value.strip():
        return clean(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(plain(value))
    raise _Unusable("no `_id`")


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Unusable(f"`{name}` is not a text")
    return clean(value)


def _sections(text: str, number: int) -> tuple[tuple[Section, ...], tuple[str, ...]]:
    """Sections of a text, by headings if it looks like Markdown, with the line of its record; and warnings."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _LOOKS_LIKE_MARKDOWN.search(text):
        sections, _, _, warnings = outline(text)
    else:
        sections, warnings = (Section((), 0, blocks=tuple(paragraphs(text))),), ()
    line = Place((number, number))
    placed = (
        replace(section, place=line, blocks=tuple(Block(block.text, line) for block in section.blocks))
        for section in sections
        if section.level or section.blocks
    )
    return tuple(placed), warnings


def _links(targets: list[Any]) -> tuple[Link, ...]:
    names = (target.strip() for target in targets if isinstance(target, str))
    return tuple(dict.fromkeys(Link(name, "related") for name in names if name))
