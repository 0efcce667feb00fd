"""Filling an index in memory: each call makes the next snapshot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from memory_index import MemoryIndex
from memory_kept import Kept
from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, DocId, Row
from watersmeet.testing.contracts.corpus import Given


class MemoryFilling:
    def __init__(self) -> None:
        self.index, self._numbers = MemoryIndex(), count(1)

    def commit(self, **changes: Any) -> None:
        latest = self.index.latest
        self.index.latest = replace(latest, version=latest.version + 1, **changes)

    def collect(self, name: str, metadata: Mapping[str, str]) -> None:
        self.commit(collections={**self.index.latest.collections, name: metadata})

    def put(self, given: Sequence[Given]) -> None:
        """A chunk that says what it said keeps its row, and its vectors."""
        documents = dict(self.index.latest.documents)
        for one in given:
            said, old = one.words(), documents.get(one.document.id)
            before = {repr(text): row for text, row in zip(old.said, old.rows, strict=True)} if old else {}
            rows = [before.get(repr(text)) or Row(next(self._numbers)) for text in said]
            documents[one.document.id] = Kept(next(self._numbers), one, rows, said)
        self.commit(documents=documents)

    def remove(self, documents: Collection[DocId]) -> None:
        kept = self.index.latest.documents.items()
        self.commit(documents={name: one for name, one in kept if name not in documents})

    def embed(self, tier: Tier, vectors: Mapping[ChunkId, Any]) -> None:
        latest = self.index.latest
        made = {latest.row_of[chunk]: one for chunk, one in vectors.items()}
        every = {**latest.made, tier.name: {**latest.made.get(tier.name, {}), **made}}
        self.commit(models={**latest.models, tier.name: tier}, made=every)

    def rebuild(self) -> None:
        self.commit(number=self.index.latest.number + 1)
