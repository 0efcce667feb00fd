"""Score floor for scaled scores: a low score is no reason to drop what mentions a rare word of the query."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.boosts import grade_tools, matched_places
from watersmeet.core.entities import TOOL, entity_kinds
from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import DocumentHead, Entities
from watersmeet.core.rare_words import rare_mentions


@dataclass(frozen=True, slots=True)
class FloorUnlessMentioned:
    """A stage that drops hits far below the best, unless the entity mentions a rare word of the query.

    A frequent word keeps nothing: in a large registry some entity mentions it for any query.
    """

    entities: Entities
    share: float = option(0.2, "hits below this share of the best score are dropped")
    min_results: int = option(3, "... but never so that fewer than this remain")
    rare_share: float = option(0.01, "a word is rare if at most this share of the entities mention it")
    rare_always: int = option(3, "... or at most this many")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        above = ranking.reaching(self.share, self.min_results)
        kept, below = ranking.hits[:above], ranking.hits[above:]
        kinds = entity_kinds(self.entities.kinds()) if below else ()
        words = tuple(rare_mentions(self.entities, plan, kinds, self.rare_share, self.rare_always)) if below else ()
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
