"""Entities of a registry as the scope of a search: the recipe's signals are asked kind by kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from watersmeet.core.model import ChunkId, Evidence, Hit, Plan, Ranking
from watersmeet.core.ports import Entities, Signal
from watersmeet.engine.query.modes import MODES, VECTORS
from watersmeet.engine.query.pipeline import Outcome, Pipeline
from watersmeet.engine.query.visible_index import VisibleIndex
from watersmeet.engine.settings.settings import Settings

LEAST = 30
LEAST_FILLED = 20
"""... where each signal scores what only another found: together they have as many."""
LEAST_IN_ALL = 50
LEAST_OF_A_KIND = 3
REACH = 6
"""The first look is at so many times what is wanted of each kind."""


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
        self, visible_index: VisibleIndex, settings: Settings, mode: str, signals: tuple[str, ...], plan: Plan
    ) -> Pipeline:
        if _has_model(signals):
            return self._made(visible_index, settings, Voters(signals, self.voters.stages), plan)
        exactly = Voters(MODES["exact"], self.voters.stages)
        return self._made(visible_index, settings, exactly if mode == "exact" else self.words, plan)

    def answered(self, outcome: Outcome, signals: tuple[str, ...]) -> bool:
        return _has_model(ranking.by for ranking in outcome.rankings) or not _has_model(signals)

    def _made(self, visible_index: VisibleIndex, settings: Settings, voters: Voters, plan: Plan) -> Pipeline:
        """The pipeline of these voters, its signals asked kind by kind."""
        pipeline = visible_index.pipeline(settings, *voters)
        fills = pipeline.fusion.fills
        most = candidates(plan.top_n, len(self.searched), LEAST_FILLED if fills else LEAST)
        few = max(LEAST_OF_A_KIND, -(-plan.top_n // 2))  # what is filled in later need not be ranked
        wrapped = []
        for by, signal in pipeline.signals:
            enough = few if fills and by != "boost" else 0  # the words of boosts are kept by kind
            wrapped.append((by, PerKind(by, signal, visible_index.entities, self.searched, most, enough)))
        fusion = _Alone() if len(wrapped) == 1 else pipeline.fusion
        return replace(pipeline, signals=wrapped, derived=(), fusion=fusion, normalize=False)


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


@dataclass(frozen=True, slots=True)
class PerKind:
    """As if filtered by kind before ranking. An entity is ranked by its best chunk, and its first stands for it."""

    by: str
    signal: Signal
    entities: Entities
    kinds: tuple[str, ...]
    most: int  # of each kind
    enough: int  # of a kind, so that no other look is taken at it; 0: each is looked at by itself at once

    def rank(self, plan: Plan) -> Ranking:
        """One look at all kinds, and one more at each of which that did not show enough: mostly at none or one."""
        there = self.entities.kinds()
        kinds = [kind for kind in self.kinds if kind in there]
        found: dict[str, list[Hit]] = {kind: [] for kind in kinds}
        notes: dict[ChunkId, Mapping[str, Any]] = {}
        narrow = kinds
        if len(kinds) > 1 and self.enough:
            pool = REACH * self.most
            condition = plan.condition if len(kinds) == len(there) else plan.condition.narrowed("kind", tuple(kinds))
            first = self.signal.rank(replace(plan, condition=condition, pool=pool))
            notes |= first.notes
            seen: dict[str, set[ChunkId]] = {kind: set() for kind in kinds}
            leads = self.entities.heads([hit.chunk for hit in first.hits])
            for hit in first.hits:
                lead = leads[hit.chunk]
                found[lead.kind].append(hit)
                seen[lead.kind].add(lead.chunk)
            whole = len(first.hits) < pool
            narrow = [kind for kind in kinds if not whole and len(seen[kind]) < min(self.enough, there[kind])]
        for kind in narrow:
            condition = plan.condition.narrowed("kind", (kind,)) if len(there) > 1 else plan.condition
            again = self.signal.rank(replace(plan, condition=condition, pool=self.most))
            found[kind] = list(again.hits)
            notes |= again.notes
        return self._by_entity([hit for hits in found.values() for hit in hits[: self.most]], notes)

    def _by_entity(self, hits: list[Hit], notes: Mapping[ChunkId, Mapping[str, Any]]) -> Ranking:
        hits.sort(key=lambda hit: (-hit.score, -notes.get(hit.chunk, {}).get("words", 0), hit.chunk))
        leads = self.entities.heads([hit.chunk for hit in hits])
        best: dict[ChunkId, Hit] = {}
        for hit in hits:
            best.setdefault(leads[hit.chunk].chunk, hit)
        said = {lead: notes[hit.chunk] for lead, hit in best.items() if hit.chunk in notes}
        return Ranking(self.by, tuple(Hit(lead, hit.score) for lead, hit in best.items()), said)

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        score = getattr(self.signal, "score", None)
        if score is None:
            return {}
        leads = self.entities.chunks(ids)
        return _best((leads[chunk], value) for chunk, value in score(plan, leads.keys()).items())


def _best(scored: Iterable[tuple[ChunkId, float]]) -> dict[ChunkId, float]:
    best: dict[ChunkId, float] = {}
    for chunk, value in scored:
        if value > best.get(chunk, float("-inf")):
            best[chunk] = value
    return best
