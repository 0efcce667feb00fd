"""Documents one link away from what the other signals found, each a little below the one it came from.

The graph is never searched itself. What was found takes part here too, above its neighbours: so a neighbour that no
other signal knows cannot overtake the document that brought it in, whichever way votes are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.core.leading import by_document, leading
from watersmeet.core.model import DocId, Plan, Ranking, hits_of
from watersmeet.core.options import option
from watersmeet.core.ports import Edge, Links, Reading


@dataclass(frozen=True, slots=True)
class Neighbours:
    """One hop, in both directions."""

    links: Links
    view: Reading
    seeds: int = option(10, "how many of the first hits of each signal bring in their neighbours")
    below: float = option(0.95, "a neighbour's score as a share of the score it came from")
    hub: int = option(100, "a document with more links than this neither brings in others nor is brought in")

    def derive(self, plan: Plan, rankings: Sequence[Ranking]) -> Ranking:
        lead = leading(rankings, plan.weights, self.seeds)
        if not lead:
            return Ranking("neighbours")
        known = leading(rankings, plan.weights, plan.pool)  # a neighbour that was found is shown where it was found
        owners = self.view.documents_of(list(known))
        seeds, chunks = by_document(lead, owners), by_document(known, owners)
        reached = self._reached({document: score for document, (_, score) in seeds.items()})
        first = self.links.first_chunks([d for d in reached if d not in chunks], plan.condition)
        hits = dict(seeds.values())
        notes = {}
        for document, (score, edge) in reached.items():
            chunk = chunks[document][0] if document in chunks else first.get(document)
            if chunk is not None:
                hits[chunk] = score
                notes[chunk] = {"path": str(edge)}
        ranking = Ranking.of("neighbours", hits_of(hits.items()))
        return Ranking("neighbours", ranking.hits[: plan.pool], notes)

    def _reached(self, seeds: dict[DocId, float]) -> dict[DocId, tuple[float, Edge]]:
        """The neighbours that are no seeds themselves, with their scores and the links that led there."""
        found: dict[DocId, tuple[float, Edge]] = {}
        edges = self.links.edges(list(seeds))
        for document, score in seeds.items():
            mine = edges[document]
            if mine is None or len(mine) > self.hub:
                continue
            for edge in mine:
                other = edge.target if edge.source == document else edge.source
                if other not in seeds and other not in found:  # seeds come best first
                    found[other] = (self.below * score, edge)
        degrees = self.links.degrees(list(found))
        return {document: reached for document, reached in found.items() if degrees.get(document, 0) <= self.hub}
