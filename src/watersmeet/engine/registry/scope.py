"""Entities of a registry as the scope of a search: the recipe's signals are asked kind by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from watersmeet.core.model import Evidence, Hit, Plan, Ranking
from watersmeet.engine.query.modes import MODES, VECTORS
from watersmeet.engine.query.pipeline import Outcome, Pipeline
from watersmeet.engine.query.visible_index import VisibleIndex
from watersmeet.engine.registry.per_kind import PerKind
from watersmeet.engine.settings.settings import Settings

LEAST = 30
LEAST_FILLED = 20
"""... where each signal scores what only another found: together they have as many."""
LEAST_IN_ALL = 50
LEAST_OF_A_KIND = 3


class Voters(NamedTuple):
    """Who votes, and what happens to the ranking afterwards."""

    signals: tuple[str, ...]
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityScope:
    """`searched` kinds are looked at, and `kinds` may be in the result; `words` vote where no model can.

    There is no second look: a hit stands for the whole of its document already.
    """

    searched: tuple[str, ...]
    voters: Voters
    words: Voters
    kinds: tuple[str, ...] = ()

    def signals(self, settings: Settings) -> tuple[str, ...]:
        return self.voters.signals or tuple(settings.section("pipeline").signals)

    def voting(
        self, mode: str, chosen: tuple[str, ...], coverage: Mapping[str, float], enough: float
    ) -> tuple[str, ...]:
        """The best model that there is speaks for the one that is not."""
        if mode != "hybrid" or not coverage or _has_model(chosen):
            return chosen
        ready = [tier for tier in ("dense", "static") if coverage.get(tier, 0.0) >= enough]
        return (*chosen, *ready[:1])

    def path(
        self, sight: VisibleIndex, settings: Settings, mode: str, signals: tuple[str, ...], plan: Plan
    ) -> Pipeline:
        if _has_model(signals):
            return self._made(sight, settings, Voters(signals, self.voters.stages), plan)
        exactly = Voters(MODES["exact"], self.voters.stages)
        return self._made(sight, settings, exactly if mode == "exact" else self.words, plan)

    def answered(self, outcome: Outcome, signals: tuple[str, ...]) -> bool:
        return _has_model(ranking.by for ranking in outcome.rankings) or not _has_model(signals)

    def _made(self, sight: VisibleIndex, settings: Settings, voters: Voters, plan: Plan) -> Pipeline:
        """The pipeline of these voters, its signals asked kind by kind."""
        pipeline = sight.pipeline(settings, *voters)
        fills = pipeline.fusion.fills
        most = candidates(plan.top_n, len(self.searched), LEAST_FILLED if fills else LEAST)
        few = max(LEAST_OF_A_KIND, -(-plan.top_n // 2))  # what is filled in later need not be ranked
        wrapped = []
        for by, signal in pipeline.signals:
            enough = few if fills and by != "boost" else 0  # the words of boosts are kept by kind
            wrapped.append((by, PerKind(by, signal, sight.entities, self.searched, most, enough)))
        fusion = _Alone() if len(wrapped) == 1 else pipeline.fusion
        return replace(pipeline, signals=wrapped, derived=(), fusion=fusion, promise=False)


def candidates(top_n: int, kinds: int, least: int = LEAST) -> int:
    """How many of each kind a signal ranks: twice what is asked for, and in all three times that."""
    return max(2 * top_n, least, -(-max(3 * top_n, LEAST_IN_ALL) // max(1, kinds)))


def _has_model(signals: Any) -> bool:
    return any(signal in VECTORS for signal in signals)


@dataclass(frozen=True, slots=True)
class _Alone:
    """One ranking and its scores, as they are: nothing is lost of how far the others are behind the best."""

    fills: ClassVar[bool] = False

    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking:
        if not rankings:
            return Ranking("nothing")
        only = rankings[0]
        hits = (
            Hit(hit.chunk, hit.score, (Evidence(only.by, rank, hit.score, _share(hit, only)),))
            for rank, hit in enumerate(only.hits, 1)
        )
        return Ranking(only.by, tuple(hits))


def _share(hit: Hit, ranking: Ranking) -> dict[str, Any]:
    return {"contribution": hit.score, **ranking.notes.get(hit.chunk, {})}
