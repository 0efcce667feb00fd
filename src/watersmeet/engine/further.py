"""More results than the pool gives: the first ones stay as they are, and a larger pool gives the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from watersmeet.core.model import Plan, Ranking
from watersmeet.engine.pipeline import Outcome, Pipeline

if TYPE_CHECKING:
    from watersmeet.engine.twostage import TwoStage


def further(path: Pipeline | TwoStage, plan: Plan, outcome: Outcome) -> Outcome:
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


def _followed(first: Ranking, more: Ranking, most: int | None = None) -> Ranking:
    """Behind a ranking what another has besides, with no more score than the last has."""
    if not first.hits:
        return more
    have, last = {hit.chunk for hit in first.hits}, first.hits[-1].score
    rest = [hit._replace(score=min(hit.score, last)) for hit in more.hits if hit.chunk not in have]
    return Ranking(
        first.by, (*first.hits, *rest)[:most], {**more.notes, **first.notes}, {**more.filled, **first.filled}
    )
