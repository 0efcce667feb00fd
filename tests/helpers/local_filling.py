"""Filling an index in a folder as the engine's writers do, without sources and parsers."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from watersmeet.core.index import Tier
from watersmeet.core.model import ChunkId, DocId, Row
from watersmeet.core.sparse import Weighted
from watersmeet.engine.batch import Batch
from watersmeet.engine.entries import document_hash, prepare
from watersmeet.engine.mending import rewrite
from watersmeet.engine.place import open_index
from watersmeet.engine.settings import Settings
from watersmeet.engine.tiers import open_store, tiers_of, with_tier
from watersmeet.engine.writing import writing
from watersmeet.testing.contracts.corpus import Given


class LocalFilling:
    def __init__(self, folder: str, settings: Settings) -> None:
        self.index, self._folder, self._settings = open_index(folder), folder, settings

    def collect(self, name: str, metadata: Mapping[str, str]) -> None:
        with writing(self._folder, self._settings) as opened:
            opened.catalogue.collection(name, metadata)

    def put(self, given: Sequence[Given]) -> None:
        with writing(self._folder, self._settings) as opened:
            batch = Batch(opened.catalogue, opened.text, 1 << 30, 1e9)
            collections = {name: opened.catalogue.collection(name) for name in {one.collection for one in given}}
            for one in given:
                prepared = prepare(one.document, one.chunks, one.also)
                hash = document_hash(one.document, prepared)
                batch.put(one.document, prepared, hash, collections[one.collection], None)
            batch.commit()

    def remove(self, documents: Collection[DocId]) -> None:
        with writing(self._folder, self._settings) as opened:
            batch = Batch(opened.catalogue, opened.text, 1 << 30, 1e9)
            for document in documents:
                batch.remove(document)
            batch.commit()

    def embed(self, tier: Tier, vectors: Mapping[ChunkId, Any]) -> None:
        with writing(self._folder, self._settings) as opened:
            catalogue = opened.catalogue
            found = catalogue.db.execute(
                "SELECT c.row, c.id FROM json_each(?) j JOIN chunks c ON c.id = j.value", (json.dumps(list(vectors)),)
            ).fetchall()
            rows, made = [Row(row) for row, _ in found], [vectors[ChunkId(chunk)] for _, chunk in found]
            meta = catalogue.meta()
            known = tiers_of(meta).get(tier.name, tier)
            with closing(open_store(known, self._folder, self._settings)) as store:
                writer = store.writer()
                writer.add(rows, made if isinstance(made[0], Weighted) else np.array(made))
                writer.commit()
                known = replace(known, rows=store.reader().size)
            catalogue.note_vectors(with_tier(meta, known), known.folder, rows)

    def rebuild(self) -> None:
        with writing(self._folder, self._settings) as opened:
            opened.text.close()
            meta = opened.catalogue.meta()
            rewrite(opened.catalogue, self._settings, json.loads(meta["fingerprint"])["text"], meta)
