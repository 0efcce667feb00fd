"""Phrase bonus: words that are adjacent in the query and close in the passage."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.model import Passage, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader
from watersmeet.core.tokens import words as words_of


@dataclass(frozen=True, slots=True)
class Phrase:
    """A stage that adds a bonus by the share of adjacent query word pairs that are close in the passage."""

    view: PassageReader
    weight: float = option(0.1, "bonus if all pairs match, as a share of the best score")
    max_distance: int = option(3, "how many words apart still counts as together")
    depth: int = option(50, "how many hits are examined")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        pairs = list(zip(plan.words, plan.words[1:], strict=False))
        if not pairs or not ranking.hits:
            return ranking
        head = ranking.hits[: self.depth]
        passages = self.view.passages([hit.chunk for hit in head])
        best = ranking.hits[0].score
        gains = {hit.chunk: self.weight * best * self._share(pairs, passages[hit.chunk]) for hit in head}
        return ranking.raised("phrase", gains)

    def _share(self, pairs: list[tuple[str, str]], passage: Passage) -> float:
        places: dict[str, list[int]] = {}
        for place, word in enumerate(words_of(" ".join((passage.title, *passage.headings, passage.text)))):
            places.setdefault(word, []).append(place)
        together = sum(
            any(0 < b - a <= self.max_distance for a in places.get(one, ()) for b in places.get(other, ()))
            for one, other in pairs
        )
        return together / len(pairs)
