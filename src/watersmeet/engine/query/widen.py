"""More results than the pool gives: the first ones stay as they are, and a larger pool gives the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.ports import PassageReader
from watersmeet.engine.query.pipeline import Outcome, Pipeline

if TYPE_CHECKING:
    from watersmeet.engine.query.two_stage import TwoStage


WIDER, WIDEST = 5, 10_000
"""So many times as large is the next pool that is searched for more documents, until one is as large as the second."""


def widen(path: Pipeline | TwoStage, plan: Plan, outcome: Outcome) -> Outcome:
    """The outcome with as many results as the plan asks for, if there are so many.

    A larger pool by itself would rank the first results otherwise, since scales and company depend on all candidates:
    what is best must not depend on how many are asked for.
    """
    cut = any(len(ranking.hits) >= plan.pool for ranking in outcome.rankings)
    if not cut or len(outcome.ranking.hits) >= plan.top_n or plan.pool >= plan.top_n:
        return outcome
    wide = path.run(replace(plan, pool=plan.top_n))
    return replace(
        outcome,
        fused=_followed(outcome.fused, wide.fused),
        ranking=_followed(outcome.ranking, wide.ranking, plan.top_n),
        timings={step: outcome.timings.get(step, 0.0) + took for step, took in wide.timings.items()},
    )


def one_per_document(
    path: Pipeline | TwoStage, plan: Plan, outcome: Outcome, snapshot: PassageReader, max_chunks: int
) -> Outcome:
    """The best chunk of each document, so many at most. If the pool has too few documents, a larger one has more."""
    from watersmeet.stage.per_document import PerDocument

    best = PerDocument(snapshot, max_chunks=1)
    found, pool, rankings = best.apply(outcome.ranking, plan), plan.pool, outcome.rankings
    while len(found.hits) < max_chunks and pool < WIDEST and any(len(one.hits) >= pool for one in rankings):
        pool *= WIDER
        wide = path.run(replace(plan, pool=pool, top_n=pool))
        ranking, fused = _followed(outcome.ranking, wide.ranking), _followed(outcome.fused, wide.fused)
        outcome, rankings = replace(outcome, ranking=ranking, fused=fused), wide.rankings
        found = best.apply(ranking, plan)
    return replace(outcome, ranking=Ranking(found.by, found.hits[:max_chunks], outcome.ranking.notes))


def _followed(first: Ranking, more: Ranking, max_chunks: int | None = None) -> Ranking:
    """Behind a ranking what another has besides, with no more score than the last has."""
    if not first.hits:
        return more
    have, last = {hit.chunk for hit in first.hits}, first.hits[-1].score
    rest = [hit._replace(score=min(hit.score, last)) for hit in more.hits if hit.chunk not in have]
    return Ranking(
        first.by, (*first.hits, *rest)[:max_chunks], {**more.notes, **first.notes}, {**more.filled, **first.filled}
    )
