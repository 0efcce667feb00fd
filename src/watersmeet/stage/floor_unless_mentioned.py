"""A floor where scores are scaled: the last of a few is at 0 there, however well it answers."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.boosts import asked, graded, matched
from watersmeet.core.entities import TOOL
from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Entities, Lead


@dataclass(frozen=True, slots=True)
class FloorUnlessMentioned:
    """What is far below the best hit is left out, unless it is an entity that says any word of the query."""

    entities: Entities
    share: float = option(0.2, "hits below this share of the best score are dropped")
    least: int = option(3, "... but never so that fewer than this remain")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        above = ranking.reaching(self.share, self.least)
        kept, below = ranking.hits[:above], ranking.hits[above:]
        words = asked(plan.text)
        leads = self.entities.leads([hit.chunk for hit in below]) if words else {}
        said = [hit for hit in below if words and self._says(leads[hit.chunk], words)]
        return Ranking("floor_unless_mentioned", (*kept, *said))

    def _says(self, lead: Lead, words: tuple[str, ...]) -> bool:
        owner = lead.server or lead.document
        entity = self.entities.entities([owner]).get(owner)
        if entity is None:
            return False
        own = [tool for tool in entity.tools if lead.kind != TOOL or lead.document == f"{entity.path}#{tool.name}"]
        return bool(graded(own, words, 1) or (lead.kind != TOOL and matched(entity, words)))
