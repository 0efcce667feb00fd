"""A signal asked once for each kind of entity: a thousand servers cannot hide three agents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from watersmeet.core.model import ChunkId, Hit, Plan, Ranking
from watersmeet.core.ports import Entities, Signal

@dataclass(frozen=True, slots=True)
class PerKind:
    """The kind is filtered by before ranking. An entity is ranked by its best chunk, and its first stands for it."""

    by: str
    signal: Signal
    entities: Entities
    kinds: tuple[str, ...]
    most: int  # of each kind

    def rank(self, plan: Plan) -> Ranking:
        there = self.entities.kinds()
        hits: list[Hit] = []
        notes: dict[ChunkId, Mapping[str, Any]] = {}
        for kind in self.kinds:
            if kind in there:
                only = plan.condition.narrowed("kind", (kind,)) if len(there) > 1 else plan.condition
                found = self.signal.rank(replace(plan, condition=only, pool=self.most))
                hits += found.hits
                notes |= found.notes
        return self._by_entity(hits, notes)

    def _by_entity(self, hits: list[Hit], notes: Mapping[ChunkId, Mapping[str, Any]]) -> Ranking:
        hits.sort(key=lambda hit: (-hit.score, -notes.get(hit.chunk, {}).get("words", 0), hit.chunk))
        leads = self.entities.leads([hit.chunk for hit in hits])
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
