"""Registry entities in a snapshot of the catalogue, for one viewer."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from watersmeet.core.boosts import boost, singular
from watersmeet.core.entities import TOOL, Entity, entity_kinds, entity_of
from watersmeet.core.model import ANY, ChunkId, Condition, DocId
from watersmeet.core.ports import DocumentHead, Mention
from watersmeet.store.local._checksums import fields_are_sound
from watersmeet.store.local._mentions import decoded
from watersmeet.store.local.documents import DocumentsView

MAX_CACHED_CHUNKS = 100_000
MAX_CACHED_QUERIES = 32
FIRST_CHUNKS = 2
"""Chunks of an entity that are scored if another signal found it: its text and its examples."""
MAX_CACHED_WORDS = 2_000
MAX_CACHED_ENTITIES = 500

_Mentions = dict[int, tuple[int, int]]
"""By document: the places where it mentions any of the words, and how many words."""


class LiveEntities:
    """The `Entities` port of a snapshot; reads are cached until something is committed."""

    def __init__(self, snapshot: DocumentsView, visible: Condition = ANY) -> None:
        self._snapshot, self._visible = snapshot, visible
        self._lock = Lock()
        self._version: object = None
        self._clear()

    def _clear(self) -> None:
        self._has_mentions: bool | None = None
        self._postings_cache: dict[tuple[str, str], list[tuple[int, int]]] = {}
        self._query_cache: dict[tuple[tuple[str, ...] | str, ...], tuple[_Mentions, list[int]]] = {}
        self._kinds_cache: Mapping[str, int] | None = None
        self._heads_cache: dict[ChunkId, DocumentHead] = {}
        self._chunks_cache: dict[ChunkId, tuple[ChunkId, ...]] = {}
        self._entities_cache: dict[DocId, Entity] = {}

    def _renew(self) -> None:
        """Clears the caches if something was committed."""
        if self._version != self._snapshot.version:
            with self._lock:
                if self._version != self._snapshot.version:
                    self._clear()
                    self._version = self._snapshot.version

    def mentioning(self, words: Sequence[str], condition: Condition, limit: int) -> list[Mention]:
        """Mentions in ranking order. They are ranked before filtering, so that only as many as needed are looked up."""
        mentions, order = self._mentions_of(words, kinds_of(condition, self.kinds()))
        found: list[Mention] = []
        start, size = 0, 2 * limit
        while start < len(order) and len(found) < limit:
            batch = order[start : start + size]
            allowed = self._allowed(batch, condition)
            found += [Mention(allowed[key], *mentions[key]) for key in batch if key in allowed]
            start, size = start + size, 4 * size
        return found[:limit]

    def kinds(self) -> Mapping[str, int]:
        """The number of documents of each kind."""
        self._renew()
        version, kinds = self._version, self._kinds_cache
        if kinds is None:
            kinds = self._snapshot.kinds(self._visible)
            if self._version == version:  # else the snapshot has changed meanwhile
                self._kinds_cache = kinds
        return kinds

    def mentions(self, words: Sequence[str], ids: Collection[ChunkId]) -> list[Mention]:
        mentions, _ = self._mentions_of(words, entity_kinds(self.kinds()))
        if not mentions:
            return []
        rows = self._snapshot.query(
            "SELECT c.id, c.document FROM json_each(?) j JOIN chunks c ON c.id = j.value", [json.dumps(list(ids))]
        )
        return [Mention(chunk, *mentions[key]) for chunk, key in rows if key in mentions]

    def heads(self, ids: Collection[ChunkId]) -> Mapping[ChunkId, DocumentHead]:
        self._renew()
        cached = self._heads_cache
        missing = [chunk for chunk in ids if chunk not in cached]
        if missing:
            rows = self._snapshot.query(
                "SELECT c.id, f.id, d.name, d.kind,"
                f" CASE d.kind WHEN '{TOOL}' THEN json_extract(d.fields, '$.server') END"
                " FROM json_each(?) j JOIN chunks c ON c.id = j.value JOIN documents d ON d.id = c.document"
                " JOIN chunks f ON f.document = d.id AND f.ordinal = 0",
                [json.dumps(missing)],
            )
            if len(cached) > MAX_CACHED_CHUNKS:
                cached = self._heads_cache = {chunk: cached[chunk] for chunk in ids if chunk in cached}
            cached.update((chunk, DocumentHead(*rest)) for chunk, *rest in rows)
        return cached

    def chunks(self, heads: Collection[ChunkId]) -> dict[ChunkId, ChunkId]:
        self._renew()
        cached = self._chunks_cache
        missing = [head for head in heads if head not in cached]
        if missing:
            rows = self._snapshot.query(
                "SELECT c.id, f.id FROM json_each(?) j JOIN chunks f ON f.id = j.value"
                f" JOIN chunks c ON c.document = f.document AND c.ordinal < {FIRST_CHUNKS}",
                [json.dumps(missing)],
            )
            if len(cached) > MAX_CACHED_CHUNKS:
                cached = self._chunks_cache = {head: cached[head] for head in heads if head in cached}
            found: dict[ChunkId, tuple[ChunkId, ...]] = {}
            for chunk, head in rows:
                found[head] = (*found.get(head, ()), chunk)
            cached.update(found)
        return {chunk: head for head in heads for chunk in cached.get(head, ())}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        return self._snapshot.first_chunks(documents, condition)

    def tools(self, names: Collection[str], condition: Condition) -> list[tuple[DocId, str]]:
        if not names:
            return []
        where, values = self._snapshot.where(condition)
        listed = json.dumps(list(names))
        return self._snapshot.query(
            "SELECT d.name, d.title FROM documents d WHERE d.kind = ? AND (d.name IN (SELECT value FROM json_each(?))"
            f" OR d.title IN (SELECT value FROM json_each(?))) AND {where or 'true'} ORDER BY d.name",
            [TOOL, listed, listed, *values],
        )

    def records(self, documents: Collection[DocId]) -> dict[DocId, dict[str, Any]]:
        if not documents:
            return {}
        rows = self._snapshot.query(
            "SELECT d.name, d.hash, CAST(d.fields AS BLOB) FROM json_each(?) j JOIN documents d ON d.name = j.value",
            [json.dumps(list(documents))],
        )
        self._snapshot.damaged.update((name, None) for name, hash, fields in rows if not fields_are_sound(hash, fields))
        self._snapshot.sound()
        found = {name: json.loads(fields).get("record") for name, _, fields in rows}
        return {name: record for name, record in found.items() if record}

    def entities(self, documents: Collection[DocId]) -> dict[DocId, Entity]:
        """Entities by document, cached: a result needs its entity twice, for its tools and for display."""
        self._renew()
        cached = self._entities_cache
        missing = [name for name in documents if name not in cached]
        if len(cached) + len(missing) > MAX_CACHED_ENTITIES:
            cached = self._entities_cache = {name: cached[name] for name in documents if name in cached}
        for name, record in self.records(missing).items():
            if record["kind"] != TOOL:
                cached[name] = entity_of(record)
        return {name: cached[name] for name in documents if name in cached}

    def _allowed(self, keys: Sequence[int], condition: Condition) -> dict[int, ChunkId]:
        where, values = self._snapshot.where(condition)
        return dict(
            self._snapshot.query(
                "SELECT d.id, c.id FROM json_each(?) j JOIN documents d ON d.id = j.value"
                f" JOIN chunks c ON c.document = d.id AND c.ordinal = 0 WHERE {where or 'true'}",
                [json.dumps(keys), *values],
            )
        )

    def _mentions_of(self, words: Sequence[str], kinds: Sequence[str]) -> tuple[_Mentions, list[int]]:
        """Documents of these kinds that mention any of the words, and their order: highest boost, then most words."""
        self._renew()
        singulars = tuple(sorted({singular(word) for word in words}))
        result = self._query_cache.get((singulars, *kinds))
        if result is None:
            mentions: _Mentions = {}
            if self._has_mentions is None:
                self._has_mentions = bool(self._snapshot.query("SELECT 1 FROM sqlite_master WHERE name = 'mentions'"))
            for kind in kinds if self._has_mentions else ():
                for word in singulars:
                    for document, places in self._postings(word, kind):
                        old, count = mentions.get(document, (0, 0))
                        mentions[document] = old | places, count + 1
            order = sorted((-boost(places), -count, document) for document, (places, count) in mentions.items())
            result = mentions, [document for _, _, document in order]
            with self._lock:
                if len(self._query_cache) >= MAX_CACHED_QUERIES:
                    self._query_cache = {}
                self._query_cache[singulars, *kinds] = result
        return result

    def _postings(self, word: str, kind: str) -> list[tuple[int, int]]:
        found = self._postings_cache.get((word, kind))
        if found is None:
            rows = self._snapshot.query(
                "SELECT document, places FROM mentions WHERE word = ? AND kind = ?", [word, kind]
            )
            found = [(document, decoded(places)) for document, places in rows]
            with self._lock:
                if len(self._postings_cache) >= MAX_CACHED_WORDS:
                    self._postings_cache = {}
                self._postings_cache[word, kind] = found
        return found


def kinds_of(condition: Condition, stored: Iterable[str] = ()) -> tuple[str, ...]:
    """The entity kinds that a condition allows, in a catalogue with these kinds."""
    kinds = entity_kinds(stored)
    for key, wanted in (*condition.fields.items(), *condition.also):
        if key == "kind":
            kinds = tuple(kind for kind in kinds if kind in wanted)
    return kinds
