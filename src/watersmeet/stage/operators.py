"""Required phrases and excluded words of the query."""

from __future__ import annotations

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan, Ranking
from watersmeet.core.passages import has_phrase, passage_words
from watersmeet.core.ports import PassageReader
from watersmeet.core.tokens import words as words_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operators:
    """A stage that keeps the passages that have all phrases of the query and none of its excluded words. The query step
    of the same name finds them."""

    view: PassageReader

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        phrases = [words_of(phrase) for phrase in plan.applied("phrase")]
        excluded = {word for text in plan.applied("without") for word in words_of(text)}
        if not phrases and not excluded:
            return ranking
        passages = self.view.passages([hit.chunk for hit in ranking.hits])
        kept = tuple(
            hit
            for hit in ranking.hits
            if (passage := passages.get(hit.chunk)) is not None
            and all(has_phrase(passage, phrase) for phrase in phrases)
            and excluded.isdisjoint(passage_words(passage))
        )
        return Ranking("operators", kept, ranking.notes, ranking.filled, explain=ranking.explain)
