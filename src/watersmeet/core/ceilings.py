"""Score ceilings after fusion: a capped vote never lifts a hit above the hit that brought it in.

A vote `v` for a hit with score `own` from all other rankings and a ceiling of `most` counts as

    min(v, most) * (1 - own / most)

That is the whole vote for a hit that no other ranking has, less for a hit with a higher score of its own, and nothing
at the ceiling. So the sum never passes the ceiling, and hits with the same ceiling keep the order of their own scores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from watersmeet.core.model import Ceiling, ChunkId, Evidence, Hit, Ranking

ROUNDING = 1 + 1e-9
EvidenceById = Mapping[ChunkId, Sequence[Evidence]]


def apply_ceilings(fused: Ranking, rankings: Sequence[Ranking]) -> Ranking:
    """The fused ranking with every capped vote reduced to what its ceiling allows.

    The size of a vote is read from the fusion's evidence; a fusion that reports no contributions is left unchanged.
    """
    ceilings = {ranking.by: ranking.ceilings for ranking in rankings if ranking.ceilings}
    if not ceilings:
        return fused
    scores = {hit.chunk: hit.score for hit in fused.hits}
    affected = {chunk for each in ceilings.values() for chunk in each if chunk in scores}
    affected |= {ceiling.other for each in ceilings.values() for ceiling in each.values() if ceiling.other in scores}
    evidence = _evidence_of(fused, affected)
    votes = {chunk: _votes(evidence[chunk], ceilings) for chunk in affected}
    own = {chunk: _own(scores[chunk], evidence[chunk], ceilings) for chunk in affected}
    counted = {chunk: _counted(chunk, each, own, ceilings) for chunk, each in votes.items() if each}
    moved = {chunk: own[chunk] + sum(each.values()) for chunk, each in counted.items()}
    hits = [Hit(c, moved.get(c, s), _lowered(e, counted.get(c, {}))) for c, s, e in fused.hits]
    explain = partial(_explain_counted, fused.explain, counted) if fused.explain else None
    return Ranking.of(fused.by, hits, notes=fused.notes, explain=explain)


def capped_only(rankings: Sequence[Ranking]) -> dict[ChunkId, Ceiling]:
    """Hits that are only in rankings with ceilings."""
    found = {chunk: ceiling for ranking in rankings for chunk, ceiling in ranking.ceilings.items()}
    if not found:
        return {}
    others = {hit.chunk for ranking in rankings if not ranking.ceilings for hit in ranking.hits}
    return {chunk: ceiling for chunk, ceiling in found.items() if chunk not in others}


def enforce_ceilings(ranking: Ranking, ceilings: Mapping[ChunkId, Ceiling]) -> Ranking:
    """After a stage: hits with only a capped vote stay below the hit that brought them in."""
    scores = {hit.chunk: hit.score for hit in ranking.hits}
    factors: dict[ChunkId, float] = {}
    for chunk, ceiling in ceilings.items():
        most = ceiling.share * scores.get(ceiling.other, 0.0)
        if 0 < most * ROUNDING < scores.get(chunk, 0.0):
            factors[chunk] = most / scores[chunk]
    return ranking.multiplied("ceiling", factors)


def _evidence_of(fused: Ranking, chunks: Collection[ChunkId]) -> EvidenceById:
    if fused.explain is not None:
        return fused.explain(chunks)
    return {hit.chunk: hit.evidence for hit in fused.hits if hit.chunk in chunks}


def _votes(evidence: Sequence[Evidence], ceilings: Mapping[str, object]) -> dict[str, float]:
    """Contributions of the capped rankings to a hit."""
    return {e.by: e.detail["contribution"] for e in evidence if e.by in ceilings and "contribution" in e.detail}


def _own(score: float, evidence: Sequence[Evidence], ceilings: Mapping[str, object]) -> float:
    """Score of a hit without the capped votes: summed again, so that equal scores stay exactly equal."""
    parts: list[tuple[str, float]] = [(e.by, e.detail.get("contribution", 0.0)) for e in evidence]
    rest = score - sum(part for _, part in parts)  # what the fusion does not account for
    return rest + sum(part for by, part in parts if by not in ceilings)


def _counted(
    chunk: ChunkId,
    votes: Mapping[str, float],
    own: Mapping[ChunkId, float],
    ceilings: Mapping[str, Mapping[ChunkId, Ceiling]],
) -> dict[str, float]:
    """Reduced votes, applied one after the other: each one counts as the hit's own score for the next."""
    score, counted = own[chunk], {}
    for by, vote in votes.items():
        ceiling = ceilings[by].get(chunk)
        if ceiling is not None:
            most = ceiling.share * own.get(ceiling.other, 0.0)
            vote = min(vote, most) * min(1.0, 1 - score / most) if score < most and most > 0 else 0.0
        counted[by] = vote
        score += vote
    return counted


def _lowered(evidence: Sequence[Evidence], counted: Mapping[str, float]) -> tuple[Evidence, ...]:
    """Evidence with the reduced contributions, which add up to the score; `unclamped` has the full votes."""
    lowered = []
    for e in evidence:
        if e.by in counted and counted[e.by] != e.detail.get("contribution"):
            e = replace(e, detail={**e.detail, "contribution": counted[e.by], "unclamped": e.detail["contribution"]})
        lowered.append(e)
    return tuple(lowered)


def _explain_counted(
    explain: Callable[[Collection[ChunkId]], EvidenceById],
    counted: Mapping[ChunkId, Mapping[str, float]],
    ids: Collection[ChunkId],
) -> dict[ChunkId, Sequence[Evidence]]:
    return {chunk: _lowered(evidence, counted.get(chunk, {})) for chunk, evidence in explain(ids).items()}
