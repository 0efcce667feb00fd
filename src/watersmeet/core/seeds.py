"""Seed documents of derived signals: the leading documents before fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watersmeet.core.model import ChunkId, DocId, Ranking

K = 60


def seed_documents(rankings: Sequence[Ranking], weights: Mapping[str, float], look: int) -> dict[ChunkId, float]:
    """Seed chunks with their scores, best first: summed reciprocal ranks of the first `look` hits of each ranking."""
    score: dict[ChunkId, float] = {}
    for ranking in rankings:
        weight = weights.get(ranking.by, 1.0)
        for rank, hit in enumerate(ranking.hits[:look], 1):
            score[hit.chunk] = score.get(hit.chunk, 0.0) + weight / (K + rank)
    return dict(sorted(((c, s) for c, s in score.items() if s > 0), key=lambda pair: (-pair[1], pair[0])))


def by_document(chunks: Mapping[ChunkId, float], owners: Mapping[ChunkId, DocId]) -> dict[DocId, tuple[ChunkId, float]]:
    """Best chunk of each document with its score, in the same order."""
    best: dict[DocId, tuple[ChunkId, float]] = {}
    for chunk, score in chunks.items():
        if chunk in owners:
            best.setdefault(owners[chunk], (chunk, score))
    return best
