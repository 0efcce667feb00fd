"""Votes with a ceiling, after fusion: none lifts a hit above the one that it is there for.

A vote `v` for a hit that has `own` from all other rankings, and may have `most` in all, counts as

    min(v, most) * (1 - own / most)

the whole vote for what nobody else found, less for what stands higher by itself, nothing at the ceiling. So the sum
never passes the ceiling, hits with the same ceiling stay in the order of their own scores, and no score jumps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from watersmeet.core.model import Ceiling, ChunkId, Evidence, Hit, Ranking

ROUNDING = 1 + 1e-9
EvidenceById = Mapping[ChunkId, Sequence[Evidence]]


def apply_ceilings(fused: Ranking, rankings: Sequence[Ranking]) -> Ranking:
    """The fused ranking with every capped vote counted only as far as its ceiling lets it.

    What a vote came to is read from the fusion's evidence; one that tells no contributions is left as it is.
    """
    ceilings = {ranking.by: ranking.ceilings for ranking in rankings if ranking.ceilings}
    if not ceilings:
        return fused
    scores = {hit.chunk: hit.score for hit in fused.hits}
    asked = {chunk for each in ceilings.values() for chunk in each if chunk in scores}
    asked |= {ceiling.other for each in ceilings.values() for ceiling in each.values() if ceiling.other in scores}
    told = _told(fused, asked)
    votes = {chunk: _votes(told[chunk], ceilings) for chunk in asked}
    own = {chunk: _own(scores[chunk], told[chunk], ceilings) for chunk in asked}
    counted = {chunk: _counted(chunk, each, own, ceilings) for chunk, each in votes.items() if each}
    moved = {chunk: own[chunk] + sum(each.values()) for chunk, each in counted.items()}
    hits = [Hit(c, moved.get(c, s), _lowered(e, counted.get(c, {}))) for c, s, e in fused.hits]
    tell = partial(_tell, fused.explain, counted) if fused.explain else None
    return Ranking.of(fused.by, hits, notes=fused.notes, explain=tell)


def capped_only(rankings: Sequence[Ranking]) -> dict[ChunkId, Ceiling]:
    """The hits that no ranking has but those with ceilings."""
    found = {chunk: ceiling for ranking in rankings for chunk, ceiling in ranking.ceilings.items()}
    if not found:
        return {}
    others = {hit.chunk for ranking in rankings if not ranking.ceilings for hit in ranking.hits}
    return {chunk: ceiling for chunk, ceiling in found.items() if chunk not in others}


def enforce_ceilings(ranking: Ranking, ceilings: Mapping[ChunkId, Ceiling]) -> Ranking:
    """After a stage: what has nothing but a capped vote still stands below what it is there for."""
    scores = {hit.chunk: hit.score for hit in ranking.hits}
    factors: dict[ChunkId, float] = {}
    for chunk, ceiling in ceilings.items():
        most = ceiling.share * scores.get(ceiling.other, 0.0)
        if 0 < most * ROUNDING < scores.get(chunk, 0.0):
            factors[chunk] = most / scores[chunk]
    return ranking.multiplied("ceiling", factors)


def _told(fused: Ranking, chunks: Collection[ChunkId]) -> EvidenceById:
    if fused.explain is not None:
        return fused.explain(chunks)
    return {hit.chunk: hit.evidence for hit in fused.hits if hit.chunk in chunks}


def _votes(evidence: Sequence[Evidence], ceilings: Mapping[str, object]) -> dict[str, float]:
    """What the capped rankings gave to a hit."""
    return {e.by: e.detail["contribution"] for e in evidence if e.by in ceilings and "contribution" in e.detail}


def _own(score: float, evidence: Sequence[Evidence], ceilings: Mapping[str, object]) -> float:
    """What a hit has without them: summed up anew, so that equal scores stay equal to the last digit."""
    parts: list[tuple[str, float]] = [(e.by, e.detail.get("contribution", 0.0)) for e in evidence]
    rest = score - sum(part for _, part in parts)  # what the fusion does not account for
    return rest + sum(part for by, part in parts if by not in ceilings)


def _counted(
    chunk: ChunkId,
    votes: Mapping[str, float],
    own: Mapping[ChunkId, float],
    ceilings: Mapping[str, Mapping[ChunkId, Ceiling]],
) -> dict[str, float]:
    """What of them counts, one after the other: what the first added is the hit's own for the next."""
    have, counted = own[chunk], {}
    for by, vote in votes.items():
        ceiling = ceilings[by].get(chunk)
        if ceiling is not None:
            most = ceiling.share * own.get(ceiling.other, 0.0)
            vote = min(vote, most) * min(1.0, 1 - have / most) if have < most and most > 0 else 0.0
        counted[by] = vote
        have += vote
    return counted


def _lowered(evidence: Sequence[Evidence], counted: Mapping[str, float]) -> tuple[Evidence, ...]:
    """Contributions as they were counted, so that they add up to the score; beside them what the votes would be."""
    made = []
    for e in evidence:
        if e.by in counted and counted[e.by] != e.detail.get("contribution"):
            e = replace(e, detail={**e.detail, "contribution": counted[e.by], "unclamped": e.detail["contribution"]})
        made.append(e)
    return tuple(made)


def _tell(
    explain: Callable[[Collection[ChunkId]], EvidenceById],
    counted: Mapping[ChunkId, Mapping[str, float]],
    ids: Collection[ChunkId],
) -> dict[ChunkId, Sequence[Evidence]]:
    return {chunk: _lowered(evidence, counted.get(chunk, {})) for chunk, evidence in explain(ids).items()}
