"""Context of a hit: neighbouring chunks to show with it; it adds text, not results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.core.model import ChunkId, Evidence, Hit, Passage, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Surroundings
from watersmeet.core.token_count import estimate


@dataclass(frozen=True, slots=True)
class Context:
    """A stage that notes for each hit which chunks to show with it, in reading order; put it last.

    A chunk that is a hit itself, or is shown with a better hit, is not repeated.
    """

    view: Surroundings
    before: int = option(1, "how many chunks before a hit")
    after: int = option(1, "how many chunks after it")
    parent: bool = option(False, "also add the beginning of the parent section")
    tokens: int = option(400, "how many tokens may be added to one hit")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        head = ranking.hits[: plan.top_n]
        ids = [hit.chunk for hit in head]
        around = self.view.around(ids, self.before, self.after) if ids else {}
        parents = self.view.parents(ids) if self.parent and ids else {}
        shown = set(ids)
        hits: list[Hit] = []
        for rank, hit in enumerate(head, 1):
            added = self._added(hit.chunk, around.get(hit.chunk, ()), parents.get(hit.chunk), shown)
            shown.update(added)
            if added:
                places = {passage.id: place for place, passage in enumerate(around[hit.chunk])}
                order = sorted((*added, hit.chunk), key=lambda chunk: places.get(chunk, -1))
                evidence = Evidence("context", rank, hit.score, {"context": order})
                hit = hit._replace(evidence=(*hit.evidence, evidence))
            hits.append(hit)
        return Ranking("context", (*hits, *ranking.hits[plan.top_n :]))

    def _added(
        self, chunk: ChunkId, around: Sequence[Passage], parent: Passage | None, shown: set[ChunkId]
    ) -> list[ChunkId]:
        """Chunks to add: the parent, then the nearest on both sides in turn, until one is already shown or too long."""
        ids = [passage.id for passage in around]
        place = ids.index(chunk) if chunk in ids else 0
        sides = [iter(around[place + 1 :]), iter(around[:place][::-1])]
        left = self.tokens
        added = []
        if parent and parent.id not in shown and (cost := _cost(parent)) <= left:
            added.append(parent.id)
            left -= cost
        while sides:
            side = sides.pop(0)
            passage = next(side, None)
            if passage is None or (passage.id in shown and passage.id not in added):
                continue
            if passage.id not in added:
                if (cost := _cost(passage)) > left:
                    continue
                added.append(passage.id)
                left -= cost
            sides.append(side)
        return added


def _cost(passage: Passage) -> int:
    return estimate("\n\n".join((*passage.headings, passage.text, "")))
