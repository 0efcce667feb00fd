"""Filling an index as the engine's writers do, without sources and parsers: whatever its store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, DocId
from watersmeet.core.sparse import Weighted
from watersmeet.core.text_fields import document_hash, prepare
from watersmeet.core.visibility import Audience
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.tiers import tiers_of, with_tier
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import Settings
from watersmeet.testing.contracts.corpus import Given


class EngineFilling:
    def __init__(self, place: str, settings: Settings) -> None:
        self.index: Any = open_index(place, settings)
        self.place, self._settings = place, settings

    def collect(self, name: str, metadata: Mapping[str, str]) -> None:
        with open_for_writing(self.index, self._settings) as opened:
            opened.catalogue.collection(name, metadata)

    def restrict(self, name: str, audience: Audience) -> None:
        with open_for_writing(self.index, self._settings) as opened:
            opened.catalogue.set_audience(opened.catalogue.collection(name), audience)

    def put(self, given: Sequence[Given]) -> None:
        with open_for_writing(self.index, self._settings) as opened:
            writer = opened.catalogue
            collections = {name: writer.collection(name) for name in {one.collection for one in given}}
            changes = Changes()
            for one in given:
                prepared = tuple(prepare(one.document, one.chunks, one.also))
                hash = document_hash(one.document, prepared)
                changes.put.append(Put(one.document, prepared, hash, collections[one.collection]))
            writer.commit(changes, last=True)

    def remove(self, documents: Collection[DocId]) -> None:
        with open_for_writing(self.index, self._settings) as opened:
            opened.catalogue.commit(Changes(removed=list(documents)), last=True)

    def embed(self, tier: Tier, vectors: Mapping[ChunkId, Any]) -> None:
        with open_for_writing(self.index, self._settings) as opened:
            writer = opened.catalogue
            known = tiers_of(writer.meta()).get(tier.name, tier)
            with self.index.snapshot() as snapshot:
                rows = self.rows(snapshot, vectors)
            made = [vectors[chunk] for chunk in rows]
            with closing(self.index.vector_store(known)) as store:
                adding = store.writer()
                adding.add(list(rows.values()), made if isinstance(made[0], Weighted) else np.array(made))
                adding.commit()
                known = replace(known, rows=store.reader().size)
            writer.note_vectors(with_tier(writer.meta(), known), known.folder, list(rows.values()))

    def rows(self, snapshot: Any, ids: Collection[ChunkId]) -> dict[ChunkId, Any]:
        """Which row each chunk has: the stores name it differently."""
        found: dict[ChunkId, Any] = (snapshot.rows if callable(snapshot.rows) else snapshot.row_numbers)(ids)
        return found

    def rebuild(self) -> None:
        with open_for_writing(self.index, self._settings) as opened:
            writer: Any = opened.catalogue
            writer.rewrite()

    def facts(self, facts: Mapping[str, str]) -> None:
        with open_for_writing(self.index, self._settings) as opened:
            opened.catalogue.set_meta(facts)
