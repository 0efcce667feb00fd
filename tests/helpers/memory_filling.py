"""Fills the in-memory index: each call makes the next snapshot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from memory_document import StoredDocument
from memory_index import MemoryIndex
from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, DocId, Row
from watersmeet.core.visibility import Audience, restricted_to
from watersmeet.testing.contracts.corpus import Given


def restricted(given: Given, audiences: Mapping[str, Audience]) -> Given:
    """A document as it is stored, with the audience of its collection."""
    fields = restricted_to(given.document.fields, audiences.get(given.collection, ()))
    return replace(given, document=replace(given.document, fields=fields))


class MemoryFilling:
    def __init__(self) -> None:
        self.index, self._numbers = MemoryIndex(), count(1)

    def commit(self, **changes: Any) -> None:
        latest = self.index.latest
        self.index.latest = replace(latest, version=latest.version + 1, **changes)

    def collect(self, name: str, metadata: Mapping[str, str]) -> None:
        self.commit(collections={**self.index.latest.collections, name: metadata})

    def restrict(self, name: str, audience: Audience) -> None:
        latest = self.index.latest
        others = {key: value for key, value in latest.audiences.items() if key != name}
        self.commit(audiences={**others, **({name: audience} if audience else {})})
        self.put([one.given for one in latest.documents.values() if one.collection == name])

    def put(self, given: Sequence[Given]) -> None:
        """Puts documents. A chunk with unchanged text keeps its row and vectors."""
        documents = dict(self.index.latest.documents)
        for one in (restricted(one, self.index.latest.audiences) for one in given):
            fields, old = one.words(), documents.get(one.document.id)
            before = {repr(text): row for text, row in zip(old.fields_by_chunk, old.rows, strict=True)} if old else {}
            rows = [before.get(repr(text)) or Row(next(self._numbers)) for text in fields]
            documents[one.document.id] = StoredDocument(next(self._numbers), one, rows, fields)
        self.commit(documents=documents)

    def remove(self, documents: Collection[DocId]) -> None:
        stored = self.index.latest.documents.items()
        self.commit(documents={name: one for name, one in stored if name not in documents})

    def embed(self, tier: Tier, vectors: Mapping[ChunkId, Any]) -> None:
        latest = self.index.latest
        vectors_by_row = {latest.row_of[chunk]: one for chunk, one in vectors.items()}
        every = {**latest.vectors_by_tier, tier.name: {**latest.vectors_by_tier.get(tier.name, {}), **vectors_by_row}}
        self.commit(models={**latest.models, tier.name: tier}, vectors_by_tier=every)

    def rebuild(self) -> None:
        self.commit(number=self.index.latest.number + 1)
