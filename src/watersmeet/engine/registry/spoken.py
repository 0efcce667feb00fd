"""The floor where scores are scaled: the last of a few is at 0 there, however well it answers."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.boosts import asked, graded, matched
from watersmeet.core.entities import TOOL
from watersmeet.core.model import Plan, Ranking
from watersmeet.core.ports import Entities, Lead, Stage


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the floor would leave out stays if it says any word of the query."""

    entities: Entities
    floor: Stage

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        kept = self.floor.apply(ranking, plan)
        below = ranking.hits[len(kept.hits) :]
        words = asked(plan.text)
        if not below or not words:
            return kept
        leads = self.entities.leads([hit.chunk for hit in below])
        said = [hit for hit in below if self._says(leads[hit.chunk], words)]
        return Ranking(kept.by, (*kept.hits, *said))

    def _says(self, lead: Lead, words: tuple[str, ...]) -> bool:
        owner = lead.server or lead.document
        entity = self.entities.entities([owner])[owner]
        own = [tool for tool in entity.tools if lead.kind != TOOL or lead.document == f"{entity.path}#{tool.name}"]
        return bool(graded(own, words, 1) or (lead.kind != TOOL and matched(entity, words)))
