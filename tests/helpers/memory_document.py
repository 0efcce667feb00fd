"""A document of the in-memory index; everything derived from it is computed when it is put."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bm25 import FIELDS, tokens_of
from watersmeet.core.boosts import mentions
from watersmeet.core.entities import TOOL, entity_of, is_entity, not_embedded
from watersmeet.core.facets import facets_of
from watersmeet.core.model import Passage, Row
from watersmeet.core.names import ALIAS, CREATED, CUSTOM, WORDS_ONLY, link_key, names_of
from watersmeet.core.ports import DocumentHead
from watersmeet.core.text_fields import description
from watersmeet.core.tokens import words
from watersmeet.testing.contracts.corpus import Given


class StoredDocument:
    """A stored document, with a row for each chunk."""

    def __init__(
        self, key: int, given: Given, rows: Sequence[Row], fields_by_chunk: Sequence[Mapping[str, str]]
    ) -> None:
        self.key, self.document, self.chunks, self.rows, self.fields_by_chunk = (
            key,
            given.document,
            given.chunks,
            rows,
            fields_by_chunk,
        )
        self.given, self.collection, self.facets = given, given.collection, frozenset(facets_of(given.document))
        created = {CREATED: given.document.created.isoformat()} if given.document.created else {}
        self.fields: dict[str, Any] = {**given.document.fields, **created}
        self.names = names_of(self.document.id, self.document.aliases)
        self.keys = [link_key(self.document.id, link.target, link.type) for link in self.document.links]
        self.record: dict[str, Any] = self.fields.get("record") or {}
        entity = is_entity(self.document.kind) and self.document.kind != TOOL
        self.mentions = mentions(entity_of(self.record)) if self.record and entity else {}
        names = [name for name, rank in self.names.items() if rank == ALIAS or "/" not in name]
        names += [value for key, value in self.facets if key == "tag"]
        self.name_words = frozenset(word for name in names for word in words(name))
        words_only = self.record.get("metadata", {}).get(WORDS_ONLY.get(self.document.kind, ""))
        if self.document.kind.startswith(CUSTOM):
            words_only = not_embedded(entity_of(self.record))
        else:
            words_only = words_only or description(self.fields)
        self.words_only = frozenset(words(str(words_only))) if words_only else None
        self.counts = [{name: Counter(tokens_of(name, one[name])) for name in FIELDS} for one in fields_by_chunk]

    def passage(self, n: int) -> Passage:
        d, chunk = self.document, self.chunks[n]
        where = (d.kind, d.title, d.path, d.modified, chunk.headings, chunk.place, chunk.text)
        return Passage(chunk.id, d.id, *where, self.fields.get(CREATED, ""))

    def parent(self, n: int) -> Passage | None:
        above = self.chunks[n].headings[:-1] if self.chunks[n].headings else None
        return next((self.passage(m) for m, chunk in enumerate(self.chunks) if chunk.headings == above), None)

    def head(self, n: int) -> DocumentHead:
        server = self.fields.get("server") if self.document.kind == TOOL else None
        return DocumentHead(self.chunks[0].id, self.document.id, self.document.kind, server)
