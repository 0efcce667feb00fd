"""Reranking of the first hits by a cross-encoder (Nogueira and Cho, 2019)."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.model import Evidence, Hit, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PairScorer, PassageReader


@dataclass(frozen=True, slots=True)
class Crossencoder:
    """A stage that reorders the first `top_n` hits; the others keep their ranks and scores.

    The reordered hits get the same scores as before by rank, so that the scale does not change; the model's own score
    is in the evidence.
    """

    view: PassageReader
    pair_scorer: PairScorer
    model: str = option(
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        "a folder (/…, ./… or ~/…), an installed data package, or an owner/model of the hub",
        outside=True,
    )
    top_n: int = option(10, "how many hits it reads")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        head, tail = ranking.hits[: self.top_n], ranking.hits[self.top_n :]
        if not head or not plan.text.strip():
            return ranking
        passages = self.view.passages([hit.chunk for hit in head])
        texts = []
        for hit in head:
            passage = passages[hit.chunk]
            crumb = dict.fromkeys((passage.title, *passage.headings))
            texts.append(f"{' > '.join(part for part in crumb if part)}\n{passage.text}")
        scores = self.pair_scorer.score(self.model, plan.text, texts)
        order = sorted(range(len(head)), key=lambda place: (-scores[place], place))
        moved = []
        for rank, place in enumerate(order, 1):
            evidence = Evidence("crossencoder", rank, scores[place], {"before": place + 1})
            moved.append(Hit(head[place].chunk, head[rank - 1].score, (*head[place].evidence, evidence)))
        return Ranking("crossencoder", (*moved, *tail))
