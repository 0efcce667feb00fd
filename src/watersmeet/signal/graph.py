"""What is linked with the first hits of the other signals: personalised PageRank with a penalty on degree.

Interest starts at the leading documents and follows links in both directions, shared out among a document's links at
each step (Andersen, Chung and Lang, FOCS 2006: pushing only where there is something left to push). What counts is what
a document receives through links, so one without links gains nothing, and a page with many links gives each of its
neighbours next to nothing. One that links to everything is left out: it would be in every answer.
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

FURTHEST = 20
"""Hops, after which everything is linked with everything."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The share of the interest that reaches a document, less for one with many links."""

    links: Links
    view: PassageReader
    seeds: int = option(10, "how many documents the interest starts from")
    hops: int = option(2, "how many links it follows")
    damping: float = option(0.5, "the share that is passed on at each step")
    min_share: float = option(0.005, "what receives less than this share of the whole is left out")
    hub: int = option(200, "a document with more links than this neither passes on nor receives")

    def __post_init__(self) -> None:
        if not 0 <= self.hops <= FURTHEST:
            raise ConfigError(f"signal.graph.hops cannot be {self.hops}", f"it is from 0 to {FURTHEST}")

    def derive(self, plan: Plan, rankings: Sequence[Ranking]) -> Ranking:
        lead = seed_documents(rankings, plan.weights, plan.pool)
        if not lead:
            return Ranking("graph")
        known = by_document(lead, self.view.documents_of(list(lead)))
        seeds = list(known)[: self.seeds]
        received, paths = self._spread({document: 1 / rank for rank, document in enumerate(seeds, 1)})
        strong = {document: share for document, share in received.items() if share >= self.min_share}
        degrees = self.links.degrees(list(strong))
        first = self.links.first_chunks([d for d in strong if d not in known], plan.condition)
        hits, notes = [], {}
        for document, share in strong.items():
            chunk = known[document][0] if document in known else first.get(document)
            degree = degrees.get(document, 0)
            if chunk is not None and degree <= self.hub:
                hits.append(Hit(chunk, share / log2(2 + degree)))
                notes[chunk] = {"path": ", ".join(map(str, paths[document]))}
        return Ranking("graph", Ranking.of("graph", hits).hits[: plan.pool], notes)

    def _spread(self, start: Mapping[DocId, float]) -> tuple[dict[DocId, float], dict[DocId, tuple[Edge, ...]]]:
        """What each document receives through links, and the way by which it came first.

        The interest of each starting document is followed by itself, so that none is its own echo.
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
