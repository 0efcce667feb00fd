"""Larger candidate pools for requests of more results than one pool gives; the first results stay unchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.ports import PassageReader
from watersmeet.engine.query.pipeline import Outcome, Pipeline

if TYPE_CHECKING:
    from watersmeet.engine.query.two_stage import TwoStage


POOL_FACTOR, MAX_POOL = 5, 10_000
"""Each further pool is this many times larger, up to the maximum."""


def widen(path: Pipeline | TwoStage, plan: Plan, outcome: Outcome) -> Outcome:
    """The outcome with as many results as requested, if the index has them.

    Results of the larger pool are only appended: score scales depend on all candidates, and the best results must not
    change with the number requested. For the same reason the sizes of the pools do not depend on that number.
    """
    pool, rankings = plan.pool, outcome.rankings
    while (
        pool < plan.top_n
        and len(outcome.ranking.hits) < plan.top_n
        and any(len(ranking.hits) >= pool for ranking in rankings)
    ):
        pool *= POOL_FACTOR
        wide = path.run(replace(plan, pool=pool))
        rankings = wide.rankings
        outcome = replace(
            outcome,
            fused=_appended(outcome.fused, wide.fused),
            ranking=_appended(outcome.ranking, wide.ranking, plan.top_n),
            timings={step: outcome.timings.get(step, 0.0) + took for step, took in wide.timings.items()},
        )
    return outcome


def one_per_document(
    path: Pipeline | TwoStage, plan: Plan, outcome: Outcome, snapshot: PassageReader, max_chunks: int
) -> Outcome:
    """The best chunk of each document, at most `max_chunks`. If the pool has too few documents, larger ones are
    tried."""
    from watersmeet.stage.per_document import PerDocument

    best = PerDocument(snapshot, max_chunks=1)
    found, pool, rankings = best.apply(outcome.ranking, plan), plan.pool, outcome.rankings
    while len(found.hits) < max_chunks and pool < MAX_POOL and any(len(one.hits) >= pool for one in rankings):
        pool *= POOL_FACTOR
        wide = path.run(replace(plan, pool=pool, top_n=pool))
        ranking, fused = _appended(outcome.ranking, wide.ranking), _appended(outcome.fused, wide.fused)
        outcome, rankings = replace(outcome, ranking=ranking, fused=fused), wide.rankings
        found = best.apply(ranking, plan)
    return replace(outcome, ranking=Ranking(found.by, found.hits[:max_chunks], outcome.ranking.notes))


def _appended(first: Ranking, more: Ranking, max_chunks: int | None = None) -> Ranking:
    """A ranking with the further hits of another behind it, their scores capped at the last one."""
    if not first.hits:
        return more
    have, last = {hit.chunk for hit in first.hits}, first.hits[-1].score
    rest = [hit._replace(score=min(hit.score, last)) for hit in more.hits if hit.chunk not in have]
    return Ranking(
        first.by, (*first.hits, *rest)[:max_chunks], {**more.notes, **first.notes}, {**more.filled, **first.filled}
    )
