"""Graph signal: documents linked with the first hits, by personalised PageRank with a penalty on degree.

Rank mass starts at the leading documents and follows links in both directions, divided among a document's links at each
step (Andersen, Chung and Lang, FOCS 2006). The score is what a document receives through links: one without links gains
nothing, and a page with many links gives each neighbour little. A document that links to everything is left out, since
it would be in every answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import DocId, Hit, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Edge, Links, PassageReader
from watersmeet.core.seeds import by_document, seed_documents

MAX_HOPS = 20
"""After so many hops everything is linked with everything."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Share of the rank mass that reaches a document, divided by the logarithm of its degree."""

    links: Links
    view: PassageReader
    seeds: int = option(10, "how many documents to start from")
    hops: int = option(2, "how many links to follow")
    damping: float = option(0.5, "the share that is passed on at each step")
    min_share: float = option(0.005, "what receives less than this share of the whole is left out")
    hub: int = option(200, "a document with more links than this neither passes on nor receives")

    def __post_init__(self) -> None:
        if not 0 <= self.hops <= MAX_HOPS:
            raise ConfigError(f"signal.graph.hops cannot be {self.hops}", f"it is from 0 to {MAX_HOPS}")

    def derive(self, plan: Plan, rankings: Sequence[Ranking]) -> Ranking:
        lead = seed_documents(rankings, plan.weights, plan.pool)
        if not lead:
            return Ranking("graph")
        ranked = by_document(lead, self.view.documents_of(list(lead)))
        seeds = list(ranked)[: self.seeds]
        received, paths = self._spread({document: 1 / rank for rank, document in enumerate(seeds, 1)})
        strong = {document: share for document, share in received.items() if share >= self.min_share}
        degrees = self.links.degrees(list(strong))
        first = self.links.first_chunks([d for d in strong if d not in ranked], plan.condition)
        hits, notes = [], {}
        for document, share in strong.items():
            chunk = ranked[document][0] if document in ranked else first.get(document)
            degree = degrees.get(document, 0)
            if chunk is not None and degree <= self.hub:
                hits.append(Hit(chunk, share / log2(2 + degree)))
                notes[chunk] = {"path": ", ".join(map(str, paths[document]))}
        return Ranking("graph", Ranking.of("graph", hits).hits[: plan.pool], notes)

    def _spread(self, start: Mapping[DocId, float]) -> tuple[dict[DocId, float], dict[DocId, tuple[Edge, ...]]]:
        """Rank mass that each document receives through links, and the path of the first.

        Each starting document is followed separately, so that none receives its own mass.
        """
        total = sum(start.values())
        left = {(document, document): share / total for document, share in start.items()}
        ways: dict[tuple[DocId, DocId], tuple[Edge, ...]] = dict.fromkeys(left, ())
        received: defaultdict[DocId, float] = defaultdict(float)
        paths: dict[DocId, tuple[Edge, ...]] = {}
        for _ in range(self.hops):
            edges = self.links.edges({document for _, document in left})
            more: defaultdict[tuple[DocId, DocId], float] = defaultdict(float)
            for (origin, document), share in sorted(left.items(), key=lambda pair: (-pair[1], pair[0])):
                mine = edges[document]
                if mine is None or len(mine) > self.hub:
                    continue
                for edge in mine:
                    other = edge.target if edge.source == document else edge.source
                    if other != origin:
                        more[origin, other] += self.damping * share / len(mine)
                        way = ways.setdefault((origin, other), (*ways[origin, document], edge))
                        paths.setdefault(other, way)
            for (_, document), share in more.items():
                received[document] += share
            left = {place: share for place, share in more.items() if share >= self.min_share}
        return received, paths
