"""Score floor for scaled scores, where the last hit is at 0 however well it matches."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.boosts import grade_tools, matched_places, query_words
from watersmeet.core.entities import TOOL
from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import DocumentHead, Entities


@dataclass(frozen=True, slots=True)
class FloorUnlessMentioned:
    """A stage that drops hits far below the best, unless the entity mentions a word of the query."""

    entities: Entities
    share: float = option(0.2, "hits below this share of the best score are dropped")
    min_results: int = option(3, "... but never so that fewer than this remain")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        above = ranking.reaching(self.share, self.min_results)
        kept, below = ranking.hits[:above], ranking.hits[above:]
        words = query_words(plan.text)
        leads = self.entities.heads([hit.chunk for hit in below]) if words else {}
        mentioned = [hit for hit in below if words and self._mentions(leads[hit.chunk], words)]
        return Ranking("floor_unless_mentioned", (*kept, *mentioned))

    def _mentions(self, lead: DocumentHead, words: tuple[str, ...]) -> bool:
        owner = lead.server or lead.document
        entity = self.entities.entities([owner]).get(owner)
        if entity is None:
            return False
        own = [tool for tool in entity.tools if lead.kind != TOOL or lead.document == f"{entity.path}#{tool.name}"]
        return bool(grade_tools(own, words, 1) or (lead.kind != TOOL and matched_places(entity, words)))
