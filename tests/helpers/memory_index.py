"""An index in memory: every result is computed directly from the stored documents, independent of other stores."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from threading import Lock
from typing import Any

import numpy as np

from bm25 import Postings, rarity
from memory_document import StoredDocument
from watersmeet.core.boosts import boost, singular
from watersmeet.core.documents import Link
from watersmeet.core.entities import TOOL, Entity, entity_of
from watersmeet.core.errors import IndexBusy
from watersmeet.core.facets import with_parents
from watersmeet.core.index import Check, IndexedRoot, Record, Statistics, Tier, Unseen
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage, Row
from watersmeet.core.names import ALIAS, link_key
from watersmeet.core.ports import DocumentHead, Edge, Mention, Term
from watersmeet.core.sparse import Weighted
from watersmeet.core.visibility import Audience, is_restricted
from watersmeet.testing.conditions import Facts, satisfies

MAX_LINKS = 1_000


def of_each(what: Callable[[StoredDocument, int], Any]) -> Callable[..., dict[ChunkId, Any]]:
    """Makes a method that maps existing chunks to a value, computed from the document and the chunk's number."""

    def method(self: MemorySnapshot, ids: Collection[ChunkId]) -> dict[ChunkId, Any]:
        found = {chunk: what(*self.places[chunk]) for chunk in ids if chunk in self.places}
        return {chunk: value for chunk, value in found.items() if value is not None}

    return method


@dataclass(eq=False)
class MemorySnapshot:
    """The immutable state after one commit."""

    version: int = 0
    number: int = 0  # the generation
    documents: Mapping[DocId, StoredDocument] = field(default_factory=dict)
    collections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    audiences: Mapping[str, Audience] = field(default_factory=dict)
    models: Mapping[str, Tier] = field(default_factory=dict)
    vectors_by_tier: Mapping[str, Mapping[Row, Any]] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)  # facts

    def __post_init__(self) -> None:
        self.generation, self.damaged, self.outdated = str(self.number), dict[str, None](), False
        self.incomplete = dict[str, None]()
        self.stored = dict(sorted(self.documents.items()))
        self.places = {
            chunk.id: (stored, n) for stored in self.stored.values() for n, chunk in enumerate(stored.chunks)
        }
        self.row_of = {chunk: stored.rows[n] for chunk, (stored, n) in self.places.items()}
        self.id_of = {row: chunk for chunk, row in self.row_of.items()}
        self.named_by: defaultdict[str, list[tuple[int, int, DocId]]] = defaultdict(list)
        for name, stored in self.stored.items():
            for key, rank in stored.names.items():
                self.named_by[key].append((rank, len(name), name))
        self._passing: dict[str, frozenset[DocId]] = {}
        self._words: dict[str, MemoryWords] = {}

    def passing(self, condition: Condition) -> frozenset[DocId]:
        if repr(condition) not in self._passing:
            both = [
                (stored, stored.document, self.collections.get(stored.collection, {}))
                for stored in self.stored.values()
            ]
            facts = [Facts(d.id, d.kind, k.collection, metadata, k.facets, d.modified) for k, d, metadata in both]
            found = frozenset(DocId(one.name) for one in facts if satisfies(one, condition))
            self._passing[repr(condition)] = found
        return self._passing[repr(condition)]

    def where(self, condition: Condition) -> list[StoredDocument]:
        return [stored for name, stored in self.stored.items() if name in self.passing(condition)]

    def rows(self, condition: Condition) -> list[Row]:
        return sorted(row for stored in self.where(condition) for row in stored.rows)

    passages = of_each(StoredDocument.passage)
    documents_of = of_each(lambda stored, n: stored.document.id)
    owners_of = of_each(lambda stored, n: stored.key)
    dates_of = of_each(lambda stored, n: stored.document.modified)
    parents = of_each(StoredDocument.parent)

    def around(self, ids: Collection[ChunkId], before: int, after: int) -> dict[ChunkId, list[Passage]]:
        present = [(chunk, *self.places[chunk]) for chunk in ids if chunk in self.places]
        return {one: self.passages_of(k.document.id)[max(0, n - before) : n + after + 1] for one, k, n in present}

    def newest(self, condition: Condition, limit: int) -> list[ChunkId]:
        stored = self.where(condition)
        stored.sort(key=lambda k: k.document.modified.timestamp() if k.document.modified else -math.inf, reverse=True)
        return [one.chunks[0].id for one in stored if one.chunks][:limit]

    def passages_of(self, document: DocId) -> list[Passage]:
        stored = self.stored.get(document)
        return [stored.passage(n) for n in range(len(stored.chunks))] if stored else []

    def record(self, document: DocId, condition: Condition = ANY) -> Record | None:
        return next((one for one in self.records(condition) if one.document == document), None)

    def records(self, condition: Condition = ANY) -> list[Record]:
        both = [(stored, stored.document) for stored in self.where(condition)]
        return [Record(d.id, d.kind, d.title, d.path, d.modified, k.collection, k.fields, len(k.rows)) for k, d in both]

    def only(self, documents: Collection[DocId], condition: Condition) -> set[DocId]:
        return {*documents} & self.passing(condition)

    def links_of(self, document: DocId) -> list[Link]:
        return list(self.stored[document].document.links) if document in self.stored else []

    def named_texts(self) -> list[tuple[DocId, DocId, str]]:
        links = MemoryLinks(self, ANY)
        found = [(one, links.closest(one, key), link.alias) for one, key, link in links.written if link.alias]
        return [(source, target, text) for source, target, text in found if target]

    def names_of(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        return {name: self.stored[name].name_words if name in self.stored else frozenset() for name in documents}

    def aliased(self, key: str, ids: Collection[ChunkId]) -> list[ChunkId]:
        documents = {name for rank, _, name in self.named_by[key] if rank == ALIAS}
        return [chunk for chunk, document in self.documents_of(ids).items() if document in documents]

    def words_only(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        found = {name: self.stored[name].words_only for name in documents if name in self.stored}
        return {name: words for name, words in found.items() if words}

    def collections_of(self, documents: Collection[str]) -> set[str]:
        return {self.stored[DocId(name)].collection for name in documents if name in self.stored}

    def at(self, paths: Collection[str], condition: Condition) -> list[DocId]:
        return [stored.document.id for stored in self.where(condition) if stored.document.path in paths]

    def named(self, key: str, condition: Condition) -> dict[DocId, int]:
        return {name: rank for rank, _, name in sorted(self.named_by[key]) if name in self.passing(condition)}

    def titled(self, key: str, condition: Condition) -> list[DocId]:
        titles = self.titles(condition, len(self.stored)) or ()
        return [name for name, title in titles if link_key(DocId(""), title, "wiki") == key]

    def titles(self, condition: Condition, limit: int) -> list[tuple[DocId, str]] | None:
        found = [(stored.document.id, stored.document.title) for stored in self.where(condition)]
        return found if len(found) <= limit else None

    def fields(self, condition: Condition = ANY) -> set[str]:
        passing = self.where(condition)
        own = {key for stored in passing for key, _ in stored.facets}
        theirs = self.collections if condition == ANY else {stored.collection for stored in passing}
        every = own.union(*({key.casefold() for key in self.collections.get(one, ())} for one in theirs))
        return {key for key in every if not key.startswith("@")}

    def values_of(self, key: str, condition: Condition) -> list[str]:
        found: Counter[str] = Counter()
        for stored in self.where(condition):
            metadata = [(k.casefold(), v.casefold()) for k, v in self.collections.get(stored.collection, {}).items()]
            values = [value for name, value in (*stored.facets, *metadata) if name == key]
            found.update({"kind": [stored.document.kind], "collection": [stored.collection]}.get(key, values))
        return sorted(found, key=lambda value: (-found[value], value))

    def count_values(self, documents: Collection[DocId], key: str) -> dict[str, int]:
        found: Counter[str] = Counter()
        for stored in (self.stored[name] for name in {*documents} if name in self.stored):
            own = {"kind": [stored.document.kind], "collection": [stored.collection]}
            found.update(own.get(key, {value for name, value in stored.facets if name == key}))
        return found

    def tags(self, condition: Condition, without: Collection[str]) -> dict[str, int]:
        found: Counter[str] = Counter()
        for stored in self.where(condition):
            metadata = [(k.casefold(), v.casefold()) for k, v in self.collections.get(stored.collection, {}).items()]
            tags = [value for key, value in (*stored.facets, *metadata) if key == "tag"]
            if stored.document.kind not in without:
                found.update(set().union(*map(with_parents, tags)))
        return found

    def facts(self) -> Mapping[str, str]:
        return self.meta

    def collection_audiences(self) -> Mapping[str, Audience]:
        return self.audiences

    def tiers(self) -> Mapping[str, Tier]:
        return self.models

    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        return {k: v for k, v in gates.items() if len(self.passing(Condition(gates={k: v}))) < len(self.stored)}

    def words(self, visible: Condition) -> MemoryWords | None:
        if repr(visible) not in self._words and self.version:
            self._words[repr(visible)] = MemoryWords(self, visible)
        return self._words.get(repr(visible))

    def vectors(self, tier: Tier, visible: Condition) -> MemoryVectors:
        return MemoryVectors(self, self.vectors_by_tier[tier.name], visible)

    def links(self, visible: Condition) -> MemoryLinks:
        return MemoryLinks(self, visible)

    def entities(self, visible: Condition) -> MemoryEntities:
        return MemoryEntities(self, visible)

    def kinds(self, visible: Condition = ANY) -> Mapping[str, int]:
        return Counter(stored.document.kind for stored in self.where(visible))

    def former_collections(self) -> Mapping[str, str]:
        return {}

    def indexed_roots(self, visible: Condition = ANY) -> list[IndexedRoot]:
        return []

    def statistics(self, visible: Condition = ANY) -> Statistics:
        stored = self.where(visible)
        collections = dict.fromkeys(self.collections, 0) | Counter(one.collection for one in stored)
        return Statistics(len(stored), len(self.rows(visible)), kinds=self.kinds(visible), collections=collections)

    def text_bytes(self, visible: Condition = ANY) -> int:
        return sum(len(chunk.text.encode()) for stored in self.where(visible) for chunk in stored.chunks)

    def sample(self, limit: int, visible: Condition = ANY, *, outside: bool = False, since: int = 0) -> list[ChunkId]:
        rows = {*self.rows(ANY)} - {*self.rows(visible)} if outside else self.rows(visible)
        return sorted(self.id_of[row] for row in rows if row > since)[:limit]

    def last_row(self) -> int:
        return max(self.rows(ANY), default=0)

    def added_since(self, row: int, visible: Condition = ANY) -> int:
        return sum(one > row for one in self.rows(visible))

    def coverage(self, tier: Tier, visible: Condition = ANY) -> float:
        rows, embedded = self.rows(visible), self.vectors_by_tier.get(tier.name, {})
        return sum(row in embedded for row in rows) / len(rows) if rows else 1.0

    def left(self, tier: Tier, after: int = 0) -> int:
        return len(self.unseen(tier, len(self.id_of), after=after))

    def unseen(self, tier: Tier, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        embedded = self.vectors_by_tier.get(tier.name, {})
        order = dict.fromkeys([*(self.row_of[one] for one in first if one in self.row_of), *self.rows(ANY)])
        rows = [row for row in order if row not in embedded and row > after][:limit]
        found = [(row, stored.passage(n)) for row in rows for stored, n in [self.places[self.id_of[row]]]]
        return [Unseen(row, passage.title, passage.headings, passage.text) for row, passage in found]


class _Scored:
    """Base of words and vectors: ranking by the `scores(query)` of all visible chunks."""

    def __init__(self, snapshot: MemorySnapshot, visible: Condition) -> None:
        self._snapshot = snapshot
        self._ids = [snapshot.id_of[row] for row in snapshot.rows(visible)]

    def scores(self, query: Any) -> dict[ChunkId, float]:
        raise NotImplementedError

    def match(self, query: Any, condition: Condition, limit: int) -> list[tuple[ChunkId, float]]:
        passing, scores = self._snapshot.passing(condition), self.scores(query)
        owners = self._snapshot.documents_of(scores)
        found = [hit for hit in scores.items() if owners[hit[0]] in passing]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:limit]

    def scored(self, query: Any, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        scores = self.scores(query)
        return {chunk: scores[chunk] for chunk in ids if chunk in scores}


class MemoryWords(_Scored):
    score = _Scored.scored

    def __init__(self, snapshot: MemorySnapshot, visible: Condition) -> None:
        super().__init__(snapshot, visible)
        placed = [snapshot.places[chunk] for chunk in self._ids]
        public = [not is_restricted(stored.document.fields) for stored, _ in placed]
        self._postings = Postings([stored.counts[n] for stored, n in placed], public)
        self.size, self.frequency = self._postings.size, self._postings.frequency

    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]:
        return [self.frequency(field, text) for text in texts]

    def scores(self, query: Sequence[Term]) -> dict[ChunkId, float]:
        return {self._ids[n]: score for n, score in self._postings.scores(query).items()}


class MemoryVectors(_Scored):
    def __init__(self, snapshot: MemorySnapshot, vectors: Mapping[Row, Any], visible: Condition) -> None:
        super().__init__(snapshot, visible)
        self._vectors = {
            chunk: vectors[snapshot.row_of[chunk]] for chunk in self._ids if snapshot.row_of[chunk] in vectors
        }

    def nearest(self, queries: Sequence[Any], condition: Condition, limit: int) -> list[dict[ChunkId, float]]:
        found = [dict(self.match(query, condition, limit)) for query in queries]
        every = self.score(queries, set[ChunkId]().union(*found))
        return [ranked | scored for ranked, scored in zip(found, every, strict=True)]

    def score(self, queries: Sequence[Any], ids: Collection[ChunkId]) -> list[dict[ChunkId, float]]:
        return [self.scored(query, ids) for query in queries]

    def scores(self, query: Any) -> dict[ChunkId, float]:
        if isinstance(query, Weighted):
            return self._sums(query)
        matrix = np.array([*self._vectors.values()] or [0 * query]).astype(np.float16).astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix)) * np.sqrt(query @ query)
        products = zip(self._vectors, np.einsum("ij,j->i", matrix, query).tolist(), lengths.tolist(), strict=False)
        return {chunk: product / length for chunk, product, length in products if length}

    def _sums(self, query: Weighted) -> dict[ChunkId, float]:
        weights_by_chunk = {
            one: dict(zip(w.terms.tolist(), w.weights.tolist(), strict=True)) for one, w in self._vectors.items()
        }
        counts = Counter(term for one in weights_by_chunk.values() for term in one)
        query_weights = dict(zip(query.terms.tolist(), query.weights.tolist(), strict=True))
        if query.rarely:
            query_weights = {
                term: weight * rarity(counts[term], len(weights_by_chunk)) for term, weight in query_weights.items()
            }
        sums = {
            chunk: sum(query_weights[term] * one[term] for term in query_weights.keys() & one)
            for chunk, one in weights_by_chunk.items()
        }
        return {chunk: total for chunk, total in sums.items() if total}

    def read(self, ids: Sequence[ChunkId]) -> Any:
        return np.array([self._vectors[chunk] for chunk in ids if chunk in self._vectors])


class MemoryLinks:
    def __init__(self, snapshot: MemorySnapshot, visible: Condition) -> None:
        self._snapshot, self._visible = snapshot, snapshot.passing(visible)
        stored = [(stored.document.id, stored) for stored in snapshot.where(visible)]
        self.written = [(name, *link) for name, k in stored for link in zip(k.keys, k.document.links, strict=True)]

    def closest(self, source: DocId, key: str) -> DocId | None:
        """The target of a link: same folder first, then the closest name, then the shortest."""
        folder = source.rpartition("/")[0]
        named = [one for one in self._snapshot.named_by[key] if one[2] in self._visible and one[2] != source]
        return min(named, key=lambda one: (one[2].rpartition("/")[0] != folder, one))[2] if named else None

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        stored, link_counts = self._snapshot.stored, Counter(key for _, key, _ in self.written)
        present = [name for name in documents if name in stored]
        return {name: len(stored[name].keys) + sum(link_counts[key] for key in stored[name].names) for name in present}

    def edges(self, documents: Collection[DocId], *, whole: bool = False) -> dict[DocId, Sequence[Edge] | None]:
        found: dict[DocId, set[Edge]] = {name: set() for name in documents}
        for source, key, link in self.written:
            if target := self.closest(source, key):
                for end in found.keys() & {source, target}:
                    found[end].add(Edge(source, target, link.type))
        many = {name for name, degree in self.degrees(documents).items() if degree > MAX_LINKS and not whole}
        return {name: None if name in many else tuple(sorted(one)) for name, one in found.items()}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        found = self._snapshot.only(documents, condition)
        return {name: self._snapshot.stored[name].chunks[0].id for name in found if self._snapshot.stored[name].chunks}


class MemoryEntities:
    def __init__(self, snapshot: MemorySnapshot, visible: Condition) -> None:
        self._snapshot, self.first_chunks = snapshot, MemoryLinks(snapshot, visible).first_chunks
        self.kinds = partial(snapshot.kinds, visible)

    def _mentions(self, words: Sequence[str], stored: StoredDocument) -> Mention | None:
        found = [stored.mentions[word] for word in {*map(singular, words)} if word in stored.mentions]
        return Mention(stored.chunks[0].id, reduce(or_, found), len(found)) if found else None

    def mentioning(self, words: Sequence[str], condition: Condition, limit: int) -> list[Mention]:
        found = [(m, k.key) for k in self._snapshot.where(condition) if (m := self._mentions(words, k))]
        return [m for m, _ in sorted(found, key=lambda one: (-boost(one[0].places), -one[0].words, one[1]))][:limit]

    def mentions(self, words: Sequence[str], ids: Collection[ChunkId]) -> list[Mention]:
        found = of_each(lambda stored, _: self._mentions(words, stored))(self._snapshot, ids)
        return [mention._replace(chunk=chunk) for chunk, mention in found.items()]

    def heads(self, ids: Collection[ChunkId]) -> Mapping[ChunkId, DocumentHead]:
        return of_each(StoredDocument.head)(self._snapshot, ids)

    def chunks(self, heads: Collection[ChunkId]) -> dict[ChunkId, ChunkId]:
        first = of_each(lambda stored, _: stored.chunks[:2])(self._snapshot, heads)
        return {chunk.id: lead for lead, chunks in first.items() for chunk in chunks}

    def entities(self, documents: Collection[DocId]) -> dict[DocId, Entity]:
        return {name: entity_of(one) for name, one in self.records(documents).items() if one["kind"] != TOOL}

    def tools(self, names: Collection[str], condition: Condition) -> list[tuple[DocId, str]]:
        tools = [k.document for k in self._snapshot.where(condition) if k.document.kind == TOOL]
        return [(tool.id, tool.title) for tool in tools if tool.id in names or tool.title in names]

    def records(self, documents: Collection[DocId]) -> dict[DocId, dict[str, Any]]:
        stored = self._snapshot.stored
        return {name: stored[name].record for name in documents if name in stored and stored[name].record}


class MemoryState:
    """A named state with its lock; it is its own `StateChange`."""

    def __init__(self) -> None:
        self._lock, self._version = Lock(), 0
        self._content: bytes | None = None

    def version(self) -> object:
        return None if self._content is None else self._version

    def read(self) -> bytes | None:
        return self._content

    def write(self, content: bytes | None) -> None:
        self._content, self._version = content, self._version + 1

    @contextmanager
    def changing(self, wait: float) -> Iterator[MemoryState]:
        if not self._lock.acquire(timeout=wait):
            raise IndexBusy("another thread is changing it", "wait until it is done")
        try:
            yield self
        finally:
            self._lock.release()


class MemoryIndex:
    place, remote = "memory", False

    def __init__(self) -> None:
        self.latest, self.state = MemorySnapshot(), defaultdict[str, MemoryState](MemoryState).__getitem__

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        yield self.latest

    def check(self) -> list[Check]:
        return []

    def size_bytes(self) -> int:
        return self.latest.text_bytes()

    def close(self) -> None:
        pass
