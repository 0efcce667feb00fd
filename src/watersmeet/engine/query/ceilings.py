"""Score ceilings after fusion: a capped vote never lifts a hit above the hit that caused it.

A vote `v` for a hit with the score `own` from all other rankings and the ceiling `limit` counts as

    min(v, limit) * (1 - own / limit)

This is the whole vote for a hit of no other ranking, less for a hit with a higher own score, and nothing at the
ceiling. The sum never exceeds the ceiling, hits with the same ceiling keep the order of their own scores, and no score
jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from watersmeet.core.model import Ceiling, ChunkId, Evidence, Hit, Ranking

ROUNDING = 1 + 1e-9
EvidenceById = Mapping[ChunkId, Sequence[Evidence]]


def apply_ceilings(fused: Ranking, rankings: Sequence[Ranking]) -> Ranking:
    """The fused ranking with capped votes limited by their ceilings.

    Contributions are read from the fusion's evidence; a ranking without them stays unchanged.
    """
    ceilings = {ranking.by: ranking.ceilings for ranking in rankings if ranking.ceilings}
    if not ceilings:
        return fused
    scores = {hit.chunk: hit.score for hit in fused.hits}
    chunks = {chunk for each in ceilings.values() for chunk in each if chunk in scores}
    chunks |= {ceiling.other for each in ceilings.values() for ceiling in each.values() if ceiling.other in scores}
    evidence = _evidence(fused, chunks)
    votes = {chunk: _votes(evidence[chunk], ceilings) for chunk in chunks}
    own = {chunk: _own(scores[chunk], evidence[chunk], ceilings) for chunk in chunks}
    counted = {chunk: _counted(chunk, each, own, ceilings) for chunk, each in votes.items() if each}
    moved = {chunk: own[chunk] + sum(each.values()) for chunk, each in counted.items()}
    hits = [Hit(c, moved.get(c, s), _lowered(e, counted.get(c, {}))) for c, s, e in fused.hits]
    explain = partial(_explain, fused.explain, counted) if fused.explain else None
    return Ranking.of(fused.by, hits, notes=fused.notes, explain=explain)


def capped_only(rankings: Sequence[Ranking]) -> dict[ChunkId, Ceiling]:
    """Hits that only rankings with ceilings have."""
    found = {chunk: ceiling for ranking in rankings for chunk, ceiling in ranking.ceilings.items()}
    if not found:
        return {}
    others = {hit.chunk for ranking in rankings if not ranking.ceilings for hit in ranking.hits}
    return {chunk: ceiling for chunk, ceiling in found.items() if chunk not in others}


def enforce_ceilings(ranking: Ranking, ceilings: Mapping[ChunkId, Ceiling]) -> Ranking:
    """After a stage: keep hits with only capped votes below the hits that caused them."""
    scores = {hit.chunk: hit.score for hit in ranking.hits}
    factors: dict[ChunkId, float] = {}
    for chunk, ceiling in ceilings.items():
        limit = ceiling.share * scores.get(ceiling.other, 0.0)
        if 0 < limit * ROUNDING < scores.get(chunk, 0.0):
            factors[chunk] = limit / scores[chunk]
    return ranking.multiplied("ceiling", factors)


def _evidence(fused: Ranking, chunks: Collection[ChunkId]) -> EvidenceById:
    if fused.explain is not None:
        return fused.explain(chunks)
    return {hit.chunk: hit.evidence for hit in fused.hits if hit.chunk in chunks}


def _votes(evidence: Sequence[Evidence], ceilings: Mapping[str, object]) -> dict[str, float]:
    """Contributions of the capped rankings to a hit."""
    return {e.by: e.detail["contribution"] for e in evidence if e.by in ceilings and "contribution" in e.detail}


def _own(score: float, evidence: Sequence[Evidence], ceilings: Mapping[str, object]) -> float:
    """Score of a hit without capped votes, summed up again so that equal scores stay equal to the last digit."""
    parts: list[tuple[str, float]] = [(e.by, e.detail.get("contribution", 0.0)) for e in evidence]
    rest = score - sum(part for _, part in parts)  # not explained by the evidence
    return rest + sum(part for by, part in parts if by not in ceilings)


def _counted(
    chunk: ChunkId,
    votes: Mapping[str, float],
    own: Mapping[ChunkId, float],
    ceilings: Mapping[str, Mapping[ChunkId, Ceiling]],
) -> dict[str, float]:
    """Capped votes that count, one after the other: each adds to the score that limits the next."""
    total, counted = own[chunk], {}
    for by, vote in votes.items():
        ceiling = ceilings[by].get(chunk)
        if ceiling is not None:
            limit = ceiling.share * own.get(ceiling.other, 0.0)
            vote = min(vote, limit) * min(1.0, 1 - total / limit) if total < limit and limit > 0 else 0.0
        counted[by] = vote
        total += vote
    return counted


def _lowered(evidence: Sequence[Evidence], counted: Mapping[str, float]) -> tuple[Evidence, ...]:
    """Evidence with contributions as counted, so that they add up to the score, and the original as `unclamped`."""
    lowered = []
    for e in evidence:
        if e.by in counted and counted[e.by] != e.detail.get("contribution"):
            e = replace(e, detail={**e.detail, "contribution": counted[e.by], "unclamped": e.detail["contribution"]})
        lowered.append(e)
    return tuple(lowered)


def _explain(
    explain: Callable[[Collection[ChunkId]], EvidenceById],
    counted: Mapping[ChunkId, Mapping[str, float]],
    ids: Collection[ChunkId],
) -> dict[ChunkId, Sequence[Evidence]]:
    return {chunk: _lowered(evidence, counted.get(chunk, {})) for chunk, evidence in explain(ids).items()}
