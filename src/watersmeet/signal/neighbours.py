"""Neighbours signal: documents one link away from the hits of the other signals.

A document has a vote here only if it is linked with a better one. That vote has a ceiling (`engine.query.ceilings`),
a share of the score of the better document, so that no link lifts a document above the one that it came from. The
closer a document's own score is to that ceiling, the less the link counts; one that no other signal found gets the
whole vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Ceiling, ChunkId, DocId, Plan, Ranking, hits_of
from watersmeet.core.options import option
from watersmeet.core.ports import Edge, Links, PassageReader
from watersmeet.core.seeds import by_document, seed_documents


class _Reached(NamedTuple):
    """A neighbour: the link, the chunk of the better document, and the seed score of that chunk."""

    edge: Edge
    source: ChunkId
    score: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Neighbours of every candidate, one hop in both directions."""

    links: Links
    view: PassageReader
    below: float = option(0.95, "highest score through a link, as a share of the score of the linking document")
    hub: int = option(100, "a document with more links than this neither brings in others nor is brought in")

    def __post_init__(self) -> None:
        if not 0 < self.below < 1:
            raise ConfigError(f"signal.neighbours.below cannot be {self.below}", "it is between 0 and 1, such as 0.95")

    def derive(self, plan: Plan, rankings: Sequence[Ranking]) -> Ranking:
        lead = seed_documents(rankings, plan.weights, plan.pool)
        if not lead:
            return Ranking("neighbours")
        ranked = by_document(lead, self.view.documents_of(list(lead)))
        reached = self._reached(ranked)
        first = self.links.first_chunks([d for d in reached if d not in ranked], plan.condition)
        places = {d: ranked[d][0] if d in ranked else first.get(d) for d in reached}
        found = {chunk: reached[d] for d, chunk in places.items() if chunk is not None}
        own = {chunk: lead.get(chunk, 0.0) for chunk in found}
        order = sorted(found, key=lambda chunk: (-found[chunk].score, -own[chunk], chunk))[: plan.pool]
        return Ranking(
            "neighbours",
            tuple(hits_of((chunk, self.below * found[chunk].score) for chunk in order)),
            {chunk: {"path": str(found[chunk].edge)} for chunk in order},
            ceilings={chunk: Ceiling(found[chunk].source, self.below) for chunk in order},
        )

    def _reached(self, ranked: Mapping[DocId, tuple[ChunkId, float]]) -> dict[DocId, _Reached]:
        """Documents linked with a better one, each by the best of these; `ranked` has the best first."""
        found: dict[DocId, _Reached] = {}
        edges = self.links.edges(list(ranked))
        better: set[DocId] = set()
        for document, (chunk, score) in ranked.items():
            better.add(document)
            mine = edges[document]
            if mine is None or len(mine) > self.hub:
                continue
            for edge in mine:
                other = edge.target if edge.source == document else edge.source
                if other not in better:
                    found.setdefault(other, _Reached(edge, chunk, score))
        degrees = self.links.degrees(list(found))
        return {document: reached for document, reached in found.items() if degrees.get(document, 0) <= self.hub}
