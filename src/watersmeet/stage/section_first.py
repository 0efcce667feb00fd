"""The section that answers before the one-line introduction of its page.

An introduction of one line is short and about the whole subject, so words and models rate it highly. The reader wants
the section.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from watersmeet.core.model import ChunkId, Hit, Passage, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.passages import passage_words
from watersmeet.core.ports import PassageReader
from watersmeet.core.tokens import words as words_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SectionFirst:
    """A stage that swaps a short introduction with the best section of the same page, if the section has at least as
    many words of the query. The order of the pages stays as it is."""

    view: PassageReader
    max_words: int = option(40, "an introduction has at most so many words")
    depth: int = option(10, "hits that are looked at")
    min_share: float = option(0.5, "the section must have this share of the introduction's score")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if not plan.words or len(ranking.hits) < 2:
            return ranking
        owners = self.view.owners_of([hit.chunk for hit in ranking.hits])
        pages: dict[int, list[Hit]] = {}
        for hit in ranking.hits:
            if hit.chunk in owners:
                pages.setdefault(owners[hit.chunk], []).append(hit)
        first = {hit.chunk for hit in ranking.hits[: self.depth]}
        heads = [hits for hits in pages.values() if len(hits) > 1 and hits[0].chunk in first]
        passages = self.view.passages([hit.chunk for hits in heads for hit in hits[:2]])
        gains: dict[ChunkId, float] = {}
        for page in heads:
            introduction, section = page[:2]
            if section.score >= self.min_share * introduction.score and self._answers(
                passages.get(introduction.chunk), passages.get(section.chunk), plan
            ):
                gains[section.chunk] = introduction.score - section.score
                gains[introduction.chunk] = section.score - introduction.score
        return ranking.raised("section_first", gains)

    def _answers(self, introduction: Passage | None, section: Passage | None, plan: Plan) -> bool:
        if introduction is None or section is None or len(section.headings) <= len(introduction.headings):
            return False
        if introduction.headings and introduction.headings[-1] != introduction.title:
            return False
        if len(introduction.text.split()) > self.max_words or words_of(introduction.title) == words_of(plan.text):
            return False
        return _count(section, plan.words) >= _count(introduction, plan.words)


def _count(passage: Passage, words: Collection[str]) -> int:
    present = set(passage_words(passage))
    return sum(word in present for word in words)
