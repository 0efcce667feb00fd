"""Lexical signal: BM25 over the text, with small bonuses for title, names and tags."""

from __future__ import annotations

from collections.abc import Collection

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Hit, Plan, Ranking, hits_of
from watersmeet.core.options import option
from watersmeet.core.ports import Newest, Term, Words


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lexical:
    """BM25 over breadcrumb and text; the other fields have low weights (a high title weight loses quality)."""

    words: Words
    view: Newest | None = None
    body: float = option(1.0, "weight of breadcrumb and text")
    title: float = option(0.3, "bonus for a word in the title")
    headings: float = option(0.0, "bonus for a word in the heading path")
    names: float = option(0.3, "bonus for a word in the file name or an alias")
    tags: float = option(0.1, "bonus for a word that is a tag")

    def rank(self, plan: Plan) -> Ranking:
        if (
            self.view is not None and plan.condition.has_filters and not plan.text.strip()
        ):  # only filters: list the newest
            newest = self.view.newest(plan.condition, plan.pool)
            return Ranking.of("lexical", (Hit(chunk, 1 / rank) for rank, chunk in enumerate(newest, 1)))
        found = self.words.match(self._terms(plan), plan.condition, plan.pool)
        return Ranking.of("lexical", hits_of(found), plan.pool)

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        return self.words.score(self._terms(plan), ids)

    def _terms(self, plan: Plan) -> list[Term]:
        weights = {
            "body": self.body,
            "title": self.title,
            "headings": self.headings,
            "names": self.names,
            "tags": self.tags,
        }
        query_words = {**plan.variants, **dict.fromkeys(plan.words, 1.0)}
        intent_words = dict.fromkeys(plan.intent_words, plan.intent_weight) if query_words else {}
        return [
            Term(field, word, boost * weight)
            for field, boost in weights.items()
            if boost > 0
            for word, weight in {**intent_words, **query_words}.items()
        ]
