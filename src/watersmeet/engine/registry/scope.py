"""Registry entities as a search scope: the recipe's signals rank each kind separately."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from watersmeet.core.entities import SERVER
from watersmeet.core.model import ChunkId, Evidence, Hit, Plan, Ranking
from watersmeet.core.ports import Entities, Signal
from watersmeet.engine.query.modes import MODES, VECTORS
from watersmeet.engine.query.pipeline import Outcome, Pipeline
from watersmeet.engine.query.visible_index import VisibleIndex
from watersmeet.engine.settings.settings import Settings

MIN_PER_KIND = 30
MIN_PER_KIND_FILLED = 20
"""Enough candidates of a kind if each signal also scores those of the others."""
MIN_IN_ALL = 50
MIN_SHOWN_PER_KIND = 3
FIRST_POOL_FACTOR = 6
"""Pool of the first search, over all kinds, as a multiple of the candidates per kind."""


class Voters(NamedTuple):
    """Signals, and the stages after them."""

    signals: tuple[str, ...]
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityScope:
    """A scope of entities: `searched` kinds are ranked, `kinds` may be in the result, and `words` is the lexical
    fallback. `tools_first`: of servers only those that list no tools, and as many tools as if only tools were searched.

    There is no two-stage search: a hit already represents its whole document.
    """

    searched: tuple[str, ...]
    voters: Voters
    words: Voters
    kinds: tuple[str, ...] = ()
    tools_first: bool = False

    def signals(self, settings: Settings) -> tuple[str, ...]:
        return self.voters.signals or tuple(settings.section("pipeline").signals)

    def voting(
        self, mode: str, chosen: tuple[str, ...], coverage: Mapping[str, float], enough: float
    ) -> tuple[str, ...]:
        """The chosen signals; if none of them is a vector signal, with the best one that has enough coverage."""
        if mode != "hybrid" or not coverage or _has_model(chosen):
            return chosen
        ready = [tier for tier in ("dense", "static") if coverage.get(tier, 0.0) >= enough]
        return (*chosen, *ready[:1])

    def path(
        self, visible_index: VisibleIndex, settings: Settings, mode: str, signals: tuple[str, ...], plan: Plan
    ) -> Pipeline:
        if _has_model(signals):
            return self._pipeline(visible_index, settings, Voters(signals, self.voters.stages), plan)
        exactly = Voters(MODES["exact"], self.voters.stages)
        return self._pipeline(visible_index, settings, exactly if mode == "exact" else self.words, plan)

    def answered(self, outcome: Outcome, signals: tuple[str, ...]) -> bool:
        return _has_model(ranking.by for ranking in outcome.rankings) or not _has_model(signals)

    def _pipeline(self, visible_index: VisibleIndex, settings: Settings, voters: Voters, plan: Plan) -> Pipeline:
        """The pipeline of these voters, with each signal ranking by kind."""
        pipeline = visible_index.pipeline(settings, *voters)
        fills = pipeline.fusion.fills
        kinds = 1 if self.tools_first else len(self.searched)
        limit = candidates(plan.top_n, kinds, MIN_PER_KIND_FILLED if fills else MIN_PER_KIND)
        min_shown = max(MIN_SHOWN_PER_KIND, -(-plan.top_n // 2))  # more are not needed: scores are filled in later
        min_shown = plan.top_n if self.tools_first else min_shown
        wrapped = []
        for by, signal in pipeline.signals:
            enough = min_shown if fills and by != "boost" else 0  # boost statistics are by kind
            wrapped.append(
                (by, PerKind(by, signal, visible_index.entities, self.searched, limit, enough, self.tools_first))
            )
        fusion = _SingleRanking() if len(wrapped) == 1 else pipeline.fusion
        return replace(pipeline, signals=wrapped, derived=(), fusion=fusion, normalize=False)


def candidates(top_n: int, kinds: int, minimum: int = MIN_PER_KIND) -> int:
    """Candidates per kind: twice the requested results, and in all three times as many."""
    return max(2 * top_n, minimum, -(-max(3 * top_n, MIN_IN_ALL) // max(1, kinds)))


def _has_model(signals: Any) -> bool:
    return any(signal in VECTORS for signal in signals)


@dataclass(frozen=True, slots=True)
class _SingleRanking:
    """A fusion of one ranking that keeps its scores unchanged."""

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
    """A signal that ranks each kind separately, so that a thousand servers cannot hide three agents.

    An entity is ranked by its best chunk, and represented by its first.
    """

    by: str
    signal: Signal
    entities: Entities
    kinds: tuple[str, ...]
    limit: int  # candidates of each kind
    enough: int  # of a kind, so that it is not searched again; 0: search each kind separately at once
    toolless: bool = False  # leave out servers that list tools

    def rank(self, plan: Plan) -> Ranking:
        """Search all kinds at once, then again each kind with too few hits: mostly none or one."""
        counts = self.entities.kinds()
        kinds = [kind for kind in self.kinds if kind in counts]
        found: dict[str, list[Hit]] = {kind: [] for kind in kinds}
        notes: dict[ChunkId, Mapping[str, Any]] = {}
        narrow = kinds
        if len(kinds) > 1 and self.enough:
            pool = FIRST_POOL_FACTOR * self.limit
            condition = plan.condition if len(kinds) == len(counts) else plan.condition.narrowed("kind", tuple(kinds))
            first = self.signal.rank(replace(plan, condition=condition, pool=pool))
            notes |= first.notes
            entities: dict[str, set[ChunkId]] = {kind: set() for kind in kinds}
            leads = self.entities.heads([hit.chunk for hit in first.hits])
            for hit in first.hits:
                lead = leads[hit.chunk]
                found[lead.kind].append(hit)
                entities[lead.kind].add(lead.chunk)
            whole = len(first.hits) < pool
            narrow = [kind for kind in kinds if not whole and len(entities[kind]) < min(self.enough, counts[kind])]
        for kind in narrow:
            condition = plan.condition.narrowed("kind", (kind,)) if len(counts) > 1 else plan.condition
            again = self.signal.rank(replace(plan, condition=condition, pool=self.limit))
            found[kind] = list(again.hits)
            notes |= again.notes
        return self._by_entity([hit for hits in found.values() for hit in hits[: self.limit]], notes)

    def _by_entity(self, hits: list[Hit], notes: Mapping[ChunkId, Mapping[str, Any]]) -> Ranking:
        hits.sort(key=lambda hit: (-hit.score, -notes.get(hit.chunk, {}).get("words", 0), hit.chunk))
        leads = self.entities.heads([hit.chunk for hit in hits])
        if self.toolless:
            servers = {lead.document for hit in hits if (lead := leads[hit.chunk]).kind == SERVER}
            listing = {name for name, entity in self.entities.entities(servers).items() if entity.tools}
            hits = [hit for hit in hits if leads[hit.chunk].document not in listing]
        best: dict[ChunkId, Hit] = {}
        for hit in hits:
            best.setdefault(leads[hit.chunk].chunk, hit)
        lead_notes = {lead: notes[hit.chunk] for lead, hit in best.items() if hit.chunk in notes}
        return Ranking(self.by, tuple(Hit(lead, hit.score) for lead, hit in best.items()), lead_notes)

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
