"""A small in-memory index for signal tests: words, entities and hashed vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memory_filling import MemoryFilling
from memory_index import MemorySnapshot, MemoryVectors
from watersmeet.core.index import Tier
from watersmeet.core.model import ANY, ChunkId, Condition, Hit, Plan, Ranking
from watersmeet.core.tokens import both
from watersmeet.core.vectors import ScoredChunk, scored_chunks
from watersmeet.embed.terms import Terms
from watersmeet.testing.contracts.corpus import MODEL, STATIC, Given, page, vectors

SPARSE = Tier("sparse", "terms", "terms-1", 0, "vectors-sparse-1-terms")


def noted(**texts: str) -> list[Given]:
    """A document of one chunk for each keyword, which is its name."""
    return [page(f"{name}.md", ((), text)) for name, text in texts.items()]


def indexed(given: Sequence[Given]) -> MemorySnapshot:
    filling = MemoryFilling()
    filling.put(given)
    filling.embed(STATIC, vectors(given))
    return filling.index.latest


def plan_of(text: str, **more: object) -> Plan:
    """A plan with words and forms, as the step `words` produces them."""
    words, forms = both(text)
    return Plan(text, words=tuple(dict.fromkeys(words)), forms=tuple(forms), **more)  # type: ignore[arg-type]


def documents_of(snapshot: MemorySnapshot, ranking: Ranking) -> list[str]:
    """The names of the documents in their order, without the ending."""
    found = snapshot.documents_of([hit.chunk for hit in ranking.hits])
    return [found[hit.chunk].removesuffix(".md") for hit in ranking.hits]


def scores_of(snapshot: MemorySnapshot, scores: dict[ChunkId, float] | Sequence[Hit]) -> dict[str, float]:
    pairs = dict(scores) if isinstance(scores, dict) else {hit.chunk: hit.score for hit in scores}
    found = snapshot.documents_of(pairs)
    return {found[chunk].removesuffix(".md"): score for chunk, score in pairs.items()}


class HashedMeanings:
    """`VectorSearch` over the vectors that the snapshot holds; `estimated` chunks say so."""

    def __init__(self, snapshot: MemorySnapshot, estimated: Collection[ChunkId] = ()) -> None:
        self._vectors, self._estimated = MemoryVectors(snapshot, snapshot.vectors_by_tier[STATIC.name], ANY), estimated
        self.texts: list[str] = []

    def nearest(self, texts: Sequence[str], condition: Condition, limit: int) -> list[list[ScoredChunk]]:
        self.texts += texts
        found = self._vectors.nearest([MODEL.embed_query(text) for text in texts], condition, limit)
        return [self._ranked(one) for one in found]

    def score(self, texts: Sequence[str], ids: Collection[ChunkId]) -> list[list[ScoredChunk]]:
        self.texts += texts
        return [self._ranked(one) for one in self._vectors.score([MODEL.embed_query(text) for text in texts], ids)]

    def _ranked(self, found: dict[ChunkId, float]) -> list[ScoredChunk]:
        best = sorted(found.items(), key=lambda one: (-one[1], one[0]))
        return [ScoredChunk(chunk, cosine, chunk in self._estimated) for chunk, cosine in best]


class TermMeanings:
    """`VectorSearch` over the weighted terms that the shipped `terms` embedder makes of the documents."""

    def __init__(self, given: Sequence[Given]) -> None:
        filling, self._model = MemoryFilling(), Terms(related=0)
        filling.put(given)
        chunks = [chunk for one in given for chunk in one.chunks]
        made = self._model.encode([chunk.text for chunk in chunks])
        filling.embed(SPARSE, {chunk.id: one for chunk, one in zip(chunks, made, strict=True)})
        self.snapshot = filling.index.latest
        self._vectors = MemoryVectors(self.snapshot, self.snapshot.vectors_by_tier[SPARSE.name], ANY)

    def nearest(self, texts: Sequence[str], condition: Condition, limit: int) -> list[list[ScoredChunk]]:
        found = self._vectors.nearest([self._model.encode_query(text) for text in texts], condition, limit)
        return [scored_chunks(sorted(one.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]) for one in found]

    def score(self, texts: Sequence[str], ids: Collection[ChunkId]) -> list[list[ScoredChunk]]:
        found = self._vectors.score([self._model.encode_query(text) for text in texts], ids)
        return [scored_chunks(one.items()) for one in found]
