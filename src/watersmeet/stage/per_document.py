"""Limit on chunks per document, so that one long document does not fill the answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader


@dataclass(frozen=True, slots=True)
class PerDocument:
    """A stage that keeps only the best chunks of each document."""

    view: PassageReader
    max_chunks: int = option(2, "how many chunks of one document are kept")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        owners = self.view.owners_of([hit.chunk for hit in ranking.hits])
        counts: Counter[int] = Counter()
        kept = []
        for hit in ranking.hits:
            owner = owners[hit.chunk]
            counts[owner] += 1
            if counts[owner] <= self.max_chunks:
                kept.append(hit)
        return Ranking("per_document", tuple(kept))
