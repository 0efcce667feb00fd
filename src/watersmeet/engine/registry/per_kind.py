"""A signal asked once for each kind of entity: a thousand servers cannot hide three agents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from watersmeet.core.model import ChunkId, Hit, Plan, Ranking
from watersmeet.core.ports import Entities, Signal

REACH = 6
"""The first look is at so many times what is wanted of each kind."""


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
