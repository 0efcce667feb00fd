"""An index in memory: every answer computed the plain way, from what was put. It knows the port and no other store."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
import tantivy

from watersmeet.common.conditions import Facts, satisfies
from watersmeet.core.boosts import boost, mentions, singular
from watersmeet.core.entities import KINDS, TOOL, Entity, entity_of
from watersmeet.core.errors import ConfigError, IndexBusy
from watersmeet.core.facets import facets_of
from watersmeet.core.index import Record, Statistics, Tier, Unseen
from watersmeet.core.model import ANY, ChunkId, Condition, DocId, Passage, Row
from watersmeet.core.names import ALIAS, WORDS_ONLY, link_key, names_of
from watersmeet.core.pages import CREATED, Link
from watersmeet.core.ports import Edge, Lead, Mention, Term
from watersmeet.core.sparse import Weighted
from watersmeet.core.tokens import STOPWORDS, words
from watersmeet.core.viewers import kept_from_some
from watersmeet.testing.contracts.corpus import Given

FIELDS = ("body", "title", "headings", "names", "tags", "forms")
K1, B = 1.2, 0.75
UNREADABLE = 1_000
LENGTHS = [n if n < 32 else 24 + ((n & 7 | 8) << (n - 32 >> 3)) for n in range(256)]
"""The lengths that a field can have, of which the next lower one counts: a length is kept in one byte."""
_STOPS = tantivy.Filter.custom_stopword(sorted(STOPWORDS))
_ANALYZER = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(_STOPS)
_STEMMER = _ANALYZER.filter(tantivy.Filter.stemmer("english")).build()


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Empty for a stop word."""
    return (_STEMMER.analyze(word) or [""])[0]


def rarity(frequency: int, size: int) -> float:
    return math.log1p((size - frequency + 0.5) / (frequency + 0.5))


def best(scored: Mapping[ChunkId, float], limit: int) -> list[tuple[ChunkId, float]]:
    return sorted(scored.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]


class Kept:
    """A document as it is kept, with a row for each chunk."""

    def __init__(self, key: int, given: Given, rows: Sequence[Row], said: Sequence[Mapping[str, str]]) -> None:
        self.key, self.document, self.chunks, self.rows, self.said = key, given.document, given.chunks, rows, said
        self.collection, self.facets = given.collection, frozenset(facets_of(given.document))
        created = {CREATED: given.document.created.isoformat()} if given.document.created else {}
        self.fields: dict[str, Any] = {**given.document.fields, **created}
        self.names = names_of(self.document.id, self.document.aliases)
        self.keys = [link_key(self.document.id, link.target, link.type) for link in self.document.links]
        self.record: dict[str, Any] = self.fields.get("record") or {}
        self.mentions = mentions(entity_of(self.record)) if self.record and self.document.kind in KINDS else {}
        self.counts = [
            {f: Counter(t.split() if f == "forms" else filter(None, map(stem, t.split()))) for f, t in said.items()}
            for said in self.said
        ]

    def facts(self, metadata: Mapping[str, str]) -> Facts:
        d = self.document
        return Facts(d.id, d.kind, self.collection, metadata, self.facets, d.modified)

    def passage(self, n: int) -> Passage:
        d, chunk = self.document, self.chunks[n]
        where = (d.kind, d.title, d.path, d.modified, chunk.headings, chunk.lines, chunk.text)
        return Passage(chunk.id, d.id, *where, self.fields.get(CREATED, ""))


@dataclass(frozen=True)
class Moment:
    """All that there is after one commit; never changed."""

    version: int = 0
    generation: int = 0
    documents: Mapping[DocId, Kept] = field(default_factory=dict)
    collections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tiers: Mapping[str, Tier] = field(default_factory=dict)
    made: Mapping[str, Mapping[Row, Any]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


class MemorySnapshot:
    def __init__(self, moment: Moment) -> None:
        self.moment, self.version, self.generation = moment, moment.version, str(moment.generation)
        self.damaged: dict[str, None] = {}
        self.outdated = False
        self._passing: dict[str, frozenset[DocId]] = {}
        self.kept = dict(sorted(moment.documents.items()))
        self.places = {chunk.id: (kept, n) for kept in self.kept.values() for n, chunk in enumerate(kept.chunks)}
        self.row_of = {chunk: kept.rows[n] for chunk, (kept, n) in self.places.items()}
        self.id_of = {row: chunk for chunk, row in self.row_of.items()}
        self.named_by: defaultdict[str, list[tuple[int, int, DocId]]] = defaultdict(list)
        for name, kept in self.kept.items():
            for key, rank in kept.names.items():
                self.named_by[key].append((rank, len(name), name))

    def passing(self, condition: Condition) -> frozenset[DocId]:
        known, collections = self._passing.get(repr(condition)), self.moment.collections
        if known is None:
            kept = self.kept.values()
            facts = [k.facts(collections.get(k.collection, {})) for k in kept]
            known = frozenset(DocId(one.name) for one in facts if satisfies(one, condition))
            self._passing[repr(condition)] = known
        return known

    def where(self, condition: Condition) -> list[Kept]:
        passing = self.passing(condition)
        return [kept for name, kept in self.kept.items() if name in passing]

    def rows(self, condition: Condition) -> list[Row]:
        return sorted(row for kept in self.where(condition) for row in kept.rows)

    def each(self, ids: Collection[ChunkId], what: Callable[[Kept, int], Any]) -> dict[ChunkId, Any]:
        found = {chunk: what(*self.places[chunk]) for chunk in ids if chunk in self.places}
        return {chunk: value for chunk, value in found.items() if value is not None}

    # ------------------------------------------------------------ documents

    def passages(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        return self.each(ids, Kept.passage)

    def documents_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, DocId]:
        return self.each(ids, lambda kept, _: kept.document.id)

    def owners_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, int]:
        return self.each(ids, lambda kept, _: kept.key)

    def dates_of(self, ids: Collection[ChunkId]) -> dict[ChunkId, datetime]:
        return self.each(ids, lambda kept, _: kept.document.modified)

    def around(self, ids: Collection[ChunkId], before: int, after: int) -> dict[ChunkId, list[Passage]]:
        return self.each(ids, lambda k, n: self.passages_of(k.document.id)[max(0, n - before) : n + after + 1])

    def parents(self, ids: Collection[ChunkId]) -> dict[ChunkId, Passage]:
        def parent(kept: Kept, n: int) -> Passage | None:
            above = kept.chunks[n].headings[:-1] if kept.chunks[n].headings else None
            return next((kept.passage(m) for m, chunk in enumerate(kept.chunks) if chunk.headings == above), None)

        return self.each(ids, parent)

    def newest(self, condition: Condition, limit: int) -> list[ChunkId]:
        kept = self.where(condition)
        kept.sort(key=lambda k: k.document.modified.timestamp() if k.document.modified else -math.inf, reverse=True)
        return [one.chunks[0].id for one in kept if one.chunks][:limit]

    def passages_of(self, document: DocId) -> list[Passage]:
        kept = self.kept.get(document)
        return [kept.passage(n) for n in range(len(kept.chunks))] if kept else []

    def record(self, document: DocId, condition: Condition = ANY) -> Record | None:
        return next((one for one in self.records(condition) if one.document == document), None)

    def records(self, condition: Condition = ANY) -> list[Record]:
        both = [(kept, kept.document) for kept in self.where(condition)]
        return [Record(d.id, d.kind, d.title, d.path, d.modified, k.collection, k.fields, len(k.rows)) for k, d in both]

    def only(self, documents: Collection[DocId], condition: Condition) -> set[DocId]:
        return {*documents} & self.passing(condition)

    def links_of(self, document: DocId) -> list[Link]:
        return list(self.kept[document].document.links) if document in self.kept else []

    def named_texts(self) -> list[tuple[DocId, DocId, str]]:
        links = MemoryLinks(self, ANY)
        found = [(one, links.closest(one, key), link.alias) for one, key, link in links.written if link.alias]
        return [(source, target, text) for source, target, text in found if target]

    def names_of(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        def called(kept: Kept) -> Iterator[str]:
            yield from (key for key, rank in kept.names.items() if rank == ALIAS or "/" not in key)
            yield from (value for key, value in kept.facets if key == "tag")

        found = {name: called(self.kept[name]) if name in self.kept else () for name in documents}
        return {name: frozenset(word for said in names for word in words(said)) for name, names in found.items()}

    def words_only(self, documents: Collection[DocId]) -> dict[DocId, frozenset[str]]:
        records = {name: self.kept[name].record for name in documents if name in self.kept}
        said = {n: r.get("metadata", {}).get(WORDS_ONLY.get(r.get("kind", ""), "")) for n, r in records.items()}
        return {name: frozenset(words(str(text))) for name, text in said.items() if text}

    def collections_of(self, documents: Collection[str]) -> set[str]:
        return {self.kept[DocId(name)].collection for name in documents if name in self.kept}

    def at(self, paths: Collection[str], condition: Condition) -> list[DocId]:
        return [kept.document.id for kept in self.where(condition) if kept.document.path in paths]

    def named(self, key: str, condition: Condition) -> dict[DocId, int]:
        return {name: rank for rank, _, name in sorted(self.named_by[key]) if name in self.passing(condition)}

    def titled(self, key: str, condition: Condition) -> list[DocId]:
        titles = [(kept.document.id, kept.document.title) for kept in self.where(condition)]
        return [name for name, title in titles if link_key(DocId(""), title, "wiki") == key]

    def titles(self, condition: Condition, limit: int) -> list[tuple[DocId, str]] | None:
        found = [(kept.document.id, kept.document.title) for kept in self.where(condition)]
        return found if len(found) <= limit else None

    def fields(self, condition: Condition = ANY) -> set[str]:
        own = {key for kept in self.where(condition) for key, _ in kept.facets}
        every = own.union(*({key.casefold() for key in one} for one in self.moment.collections.values()))
        return {key for key in every if not key.startswith("@")}

    def values_of(self, key: str, condition: Condition) -> list[str]:
        found: Counter[str] = Counter()
        for kept in self.where(condition):
            metadata = {k.casefold(): v.casefold() for k, v in self.moment.collections.get(kept.collection, {}).items()}
            special = {"kind": [kept.document.kind], "collection": [kept.collection]}
            values = [value for name, value in (*kept.facets, *metadata.items()) if name == key]
            found.update(special.get(key, values))
        return sorted(found, key=lambda value: (-found[value], value))

    def tags(self, condition: Condition, without: Collection[str]) -> dict[str, int]:
        kept = [one.facets for one in self.where(condition) if one.document.kind not in without]
        return Counter(value for facets in kept for key, value in facets if key == "tag")

    # ------------------------------------------------------------ the whole

    def facts(self) -> Mapping[str, str]:
        return self.moment.facts

    def tiers(self) -> Mapping[str, Tier]:
        return self.moment.tiers

    def needed(self, gates: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        return {k: v for k, v in gates.items() if len(self.passing(Condition(gates={k: v}))) < len(self.kept)}

    def words(self, seen: Condition) -> MemoryWords | None:
        return MemoryWords(self, seen) if self.moment.version else None

    def vectors(self, tier: Tier, seen: Condition) -> MemoryVectors:
        return MemoryVectors(self, self.moment.made[tier.name], seen)

    def links(self, seen: Condition) -> MemoryLinks:
        return MemoryLinks(self, seen)

    def entities(self, seen: Condition) -> MemoryEntities:
        return MemoryEntities(self, seen)

    def kinds(self, seen: Condition = ANY) -> Mapping[str, int]:
        return Counter(kept.document.kind for kept in self.where(seen))

    def statistics(self, seen: Condition = ANY) -> Statistics:
        kept = self.where(seen)
        collections = dict.fromkeys(self.moment.collections, 0) | Counter(one.collection for one in kept)
        return Statistics(len(kept), len(self.rows(seen)), kinds=self.kinds(seen), collections=collections)

    def text_bytes(self, seen: Condition = ANY) -> int:
        return sum(len(chunk.text.encode()) for kept in self.where(seen) for chunk in kept.chunks)

    def sample(self, most: int, seen: Condition = ANY, *, outside: bool = False) -> list[ChunkId]:
        rows = {*self.rows(ANY)} - {*self.rows(seen)} if outside else self.rows(seen)
        return sorted(self.id_of[row] for row in rows)[:most]

    def last_row(self) -> int:
        return max(self.rows(ANY), default=0)

    def added_since(self, row: int, seen: Condition = ANY) -> int:
        return sum(one > row for one in self.rows(seen))

    def coverage(self, tier: Tier, seen: Condition = ANY) -> float:
        rows, made = self.rows(seen), self.moment.made.get(tier.name, {})
        return sum(row in made for row in rows) / len(rows) if rows else 1.0

    def left(self, tier: Tier, after: int = 0) -> int:
        return len(self.unseen(tier, len(self.id_of), after=after))

    def unseen(self, tier: Tier, limit: int, first: Sequence[ChunkId] = (), after: int = 0) -> list[Unseen]:
        made = self.moment.made.get(tier.name, {})
        order = dict.fromkeys([*(self.row_of[one] for one in first if one in self.row_of), *self.rows(ANY)])
        rows = [row for row in order if row not in made and row > after][:limit]
        found = [(row, kept.passage(n)) for row in rows for kept, n in [self.places[self.id_of[row]]]]
        return [Unseen(row, passage.title, passage.headings, passage.text) for row, passage in found]


class MemoryWords:
    """BM25 as tantivy computes it: in single precision, lengths in one byte, averages of what everyone may see."""

    def __init__(self, snapshot: MemorySnapshot, seen: Condition) -> None:
        self._snapshot = snapshot
        kept = snapshot.where(seen)
        self._ids = [chunk.id for one in kept for chunk in one.chunks]
        self._owners = [one.document.id for one in kept for _ in one.chunks]
        self._place = {chunk: n for n, chunk in enumerate(self._ids)}
        counts = [chunk for one in kept for chunk in one.counts]
        public = np.array([not kept_from_some(one.document.fields) for one in kept for _ in one.chunks], dtype=bool)
        self._norms: dict[str, Any] = {}
        self._postings: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for name in FIELDS:
            lengths = np.array([sum(one[name].values()) for one in counts] or [0])
            kept_as = np.array([LENGTHS[bisect_right(LENGTHS, length) - 1] for length in lengths.tolist()])
            average = lengths[public].mean() if public.any() else lengths.mean()
            self._norms[name] = (K1 * (1 - B + B * kept_as / max(average, 1e-9))).astype(np.float32)
            for n, one in enumerate(counts):
                for token, count in one[name].items():
                    self._postings[name, token].append((n, count))

    @property
    def size(self) -> int:
        return len(self._ids)

    def _token(self, name: str, text: str) -> str:
        if name not in FIELDS:
            raise ConfigError(f"there is no text field {name!r}")
        return text if name == "forms" else stem(text)

    def frequency(self, field: str, text: str) -> int:
        return len(self._postings.get((field, self._token(field, text)), ()))

    def _scores(self, terms: Sequence[Term]) -> dict[ChunkId, float]:
        boosts: dict[tuple[str, str, bool], float] = {}
        for term in terms:
            key = (term.field, self._token(term.field, term.text), term.constant)
            boosts[key] = max(boosts.get(key, 0.0), term.boost)
        scores = np.zeros(len(self._ids), dtype=np.float32)
        for (name, token, constant), worth in boosts.items():
            found = self._postings.get((name, token), [])
            if found and worth > 0:
                places, counts = np.array(found, dtype=np.int64).T
                weight = np.float32(worth * (1 + K1) * rarity(len(found), len(self._ids)))
                share = counts.astype(np.float32) / (counts.astype(np.float32) + self._norms[name][places])
                scores[places] += np.float32(worth) if constant else weight * share
        return {self._ids[n]: float(scores[n]) for n in np.flatnonzero(scores).tolist()}

    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> list[tuple[ChunkId, float]]:
        passing, place = self._snapshot.passing(condition), self._place
        scores = self._scores(terms)
        return best({one: score for one, score in scores.items() if self._owners[place[one]] in passing}, limit)

    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        scores = self._scores(terms)
        return {chunk: scores[chunk] for chunk in ids if chunk in scores}


class MemoryVectors:
    def __init__(self, snapshot: MemorySnapshot, made: Mapping[Row, Any], seen: Condition) -> None:
        self._snapshot = snapshot
        self._made = {snapshot.id_of[row]: made[row] for row in snapshot.rows(seen) if row in made}
        self._sparse = any(isinstance(one, Weighted) for one in self._made.values())

    def _scores(self, query: Any) -> dict[ChunkId, float]:
        ids = list(self._made)
        if not self._sparse:
            matrix = np.array([self._made[chunk] for chunk in ids] or [0 * query]).astype(np.float16).astype(np.float32)
            lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix)) * math.sqrt(float(query @ query))
            products = np.einsum("ij,j->i", matrix, query).tolist()
            found = zip(ids, products, lengths.tolist(), strict=False)
            return {chunk: product / length for chunk, product, length in found if length}
        held = {
            chunk: dict(zip(one.terms.tolist(), one.weights.tolist(), strict=True)) for chunk, one in self._made.items()
        }
        wanted = dict(zip(query.terms.tolist(), query.weights.tolist(), strict=True))
        if query.rarely:
            counts = Counter(term for one in held.values() for term in one)
            wanted = {term: weight * rarity(counts[term], len(held)) for term, weight in wanted.items()}
        sums = {
            chunk: sum(wanted.get(term, 0.0) * weight for term, weight in one.items()) for chunk, one in held.items()
        }
        return {chunk: total for chunk, total in sums.items() if total}

    def nearest(self, query: Any, condition: Condition, limit: int) -> list[tuple[ChunkId, float]]:
        passing, scores = self._snapshot.passing(condition), self._scores(query)
        owners = self._snapshot.documents_of(scores)
        return best({chunk: score for chunk, score in scores.items() if owners[chunk] in passing}, limit)

    def score(self, query: Any, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        scores = self._scores(query)
        return {chunk: scores[chunk] for chunk in ids if chunk in scores}

    def read(self, ids: Sequence[ChunkId]) -> Any:
        return np.array([self._made[chunk] for chunk in ids if chunk in self._made])


class MemoryLinks:
    def __init__(self, snapshot: MemorySnapshot, seen: Condition) -> None:
        self._snapshot, self._seen = snapshot, snapshot.passing(seen)
        kept = [(kept.document.id, kept) for kept in snapshot.where(seen)]
        self.written = [(name, *link) for name, k in kept for link in zip(k.keys, k.document.links, strict=True)]

    def closest(self, source: DocId, key: str) -> DocId | None:
        """In the same folder, then by the closest name, then the shortest."""
        folder = source.rpartition("/")[0]
        named = [one for one in self._snapshot.named_by[key] if one[2] in self._seen and one[2] != source]
        return min(named, key=lambda one: (one[2].rpartition("/")[0] != folder, one))[2] if named else None

    def degrees(self, documents: Collection[DocId]) -> dict[DocId, int]:
        kept, said = self._snapshot.kept, Counter(key for _, key, _ in self.written)
        there = [name for name in documents if name in kept]
        return {name: len(kept[name].keys) + sum(said[key] for key in kept[name].names) for name in there}

    def edges(self, documents: Collection[DocId], *, whole: bool = False) -> dict[DocId, Sequence[Edge] | None]:
        found: dict[DocId, set[Edge]] = {name: set() for name in documents}
        for source, key, link in self.written:
            target = self.closest(source, key)
            for end in found.keys() & {source, target} if target else ():
                found[end].add(Edge(source, target, link.type))
        many = {name for name, degree in self.degrees(documents).items() if degree > UNREADABLE and not whole}
        return {name: None if name in many else tuple(sorted(one)) for name, one in found.items()}

    def first_chunks(self, documents: Collection[DocId], condition: Condition) -> dict[DocId, ChunkId]:
        found = self._snapshot.only(documents, condition)
        return {name: self._snapshot.kept[name].chunks[0].id for name in found if self._snapshot.kept[name].chunks}


class MemoryEntities:
    def __init__(self, snapshot: MemorySnapshot, seen: Condition) -> None:
        self._snapshot, self._seen = snapshot, seen
        self.first_chunks = MemoryLinks(snapshot, seen).first_chunks

    def _mentions(self, words: Sequence[str], kept: Kept) -> Mention | None:
        found = [kept.mentions[word] for word in {*map(singular, words)} if word in kept.mentions]
        places = sum(1 << bit for bit in range(max(found, default=0).bit_length()) if any(p >> bit & 1 for p in found))
        return Mention(kept.chunks[0].id, places, len(found)) if found else None

    def mentioning(self, words: Sequence[str], condition: Condition, limit: int) -> list[Mention]:
        found = [(m, k.key) for k in self._snapshot.where(condition) if (m := self._mentions(words, k))]
        return [m for m, _ in sorted(found, key=lambda one: (-boost(one[0].places), -one[0].words, one[1]))][:limit]

    def mentions(self, words: Sequence[str], ids: Collection[ChunkId]) -> list[Mention]:
        found = self._snapshot.each(ids, lambda kept, _: self._mentions(words, kept))
        return [mention._replace(chunk=chunk) for chunk, mention in found.items()]

    def kinds(self) -> Mapping[str, int]:
        return self._snapshot.kinds(self._seen)

    def leads(self, ids: Collection[ChunkId]) -> Mapping[ChunkId, Lead]:
        def lead(k: Kept, _: int) -> Lead:
            server = k.fields.get("server") if k.document.kind == TOOL else None
            return Lead(k.chunks[0].id, k.document.id, k.document.kind, server)

        return self._snapshot.each(ids, lead)

    def chunks(self, leads: Collection[ChunkId]) -> dict[ChunkId, ChunkId]:
        first = self._snapshot.each(leads, lambda kept, _: kept.chunks[:2])
        return {chunk.id: lead for lead, chunks in first.items() for chunk in chunks}

    def entities(self, documents: Collection[DocId]) -> dict[DocId, Entity]:
        return {name: entity_of(one) for name, one in self.records(documents).items() if one["kind"] != TOOL}

    def tools(self, names: Collection[str], condition: Condition) -> list[tuple[DocId, str]]:
        tools = [k.document for k in self._snapshot.where(condition) if k.document.kind == TOOL]
        return [(tool.id, tool.title) for tool in tools if tool.id in names or tool.title in names]

    def records(self, documents: Collection[DocId]) -> dict[DocId, dict[str, Any]]:
        kept = self._snapshot.kept
        return {name: kept[name].record for name in documents if name in kept and kept[name].record}


class MemoryState:
    """A value, and what it is changed under; it is its own `StateChange`."""

    def __init__(self) -> None:
        self._lock, self._content, self._version = Lock(), None, 0

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
    """An `Index`, and a `Filling` of itself."""

    place = "memory"

    def __init__(self) -> None:
        self.index, self._latest, self._next = self, MemorySnapshot(Moment()), 0
        self._states: defaultdict[str, MemoryState] = defaultdict(MemoryState)

    @contextmanager
    def snapshot(self) -> Iterator[MemorySnapshot]:
        yield self._latest

    def state(self, name: str) -> MemoryState:
        return self._states[name]

    def close(self) -> None:
        pass

    def commit(self, **changes: Any) -> None:
        moment = self._latest.moment
        self._latest = MemorySnapshot(replace(moment, version=moment.version + 1, **changes))

    def collect(self, name: str, metadata: Mapping[str, str]) -> None:
        self.commit(collections={**self._latest.moment.collections, name: metadata})

    def put(self, given: Sequence[Given]) -> None:
        """A chunk that says what it said keeps its row, and its vectors."""
        documents = dict(self._latest.moment.documents)
        for one in given:
            said, old = one.words(), documents.get(one.document.id)
            before = {repr(text): row for text, row in zip(old.said, old.rows, strict=True)} if old else {}
            rows = [before.get(repr(text)) or Row(self._number()) for text in said]
            documents[one.document.id] = Kept(self._number(), one, rows, said)
        self.commit(documents=documents)

    def _number(self) -> int:
        self._next += 1
        return self._next

    def remove(self, documents: Collection[DocId]) -> None:
        kept = self._latest.moment.documents.items()
        self.commit(documents={name: one for name, one in kept if name not in documents})

    def embed(self, tier: Tier, vectors: Mapping[ChunkId, Any]) -> None:
        moment, row_of = self._latest.moment, self._latest.row_of
        made = {**moment.made.get(tier.name, {}), **{row_of[chunk]: one for chunk, one in vectors.items()}}
        self.commit(tiers={**moment.tiers, tier.name: tier}, made={**moment.made, tier.name: made})

    def rebuild(self) -> None:
        self.commit(generation=self._latest.moment.generation + 1)
