"""The section that answers before the one-line introduction of its page.

An introduction of one line is short and about the whole subject, so words and models rate it highly. The reader wants
the section.
"""

from __future__ import annotations

from collections.abc import Collection

from watersmeet.core.lazy_dataclass import dataclass
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
        lowest = self.min_share * ranking.hits[: self.depth][-1].score
        near = [hit for hit in ranking.hits if hit.score >= lowest]
        owners = self.view.owners_of([hit.chunk for hit in near])
        pages: dict[int, list[Hit]] = {}
        for hit in near:
            if hit.chunk in owners:
                pages.setdefault(owners[hit.chunk], []).append(hit)
        first = {hit.chunk for hit in ranking.hits[: self.depth]}
        leading = [(hits[0], hits[1]) for hits in pages.values() if len(hits) > 1 and hits[0].chunk in first]
        pairs = [(one, other) for one, other in leading if other.score >= self.min_share * one.score]
        passages = self.view.passages([one.chunk for one, _ in pairs])
        pairs = [(one, other) for one, other in pairs if self._introduces(passages.get(one.chunk), plan)]
        sections = self.view.passages([other.chunk for _, other in pairs]) if pairs else {}
        gains: dict[ChunkId, float] = {}
        for introduction, section in pairs:
            if section.chunk in sections and _answers(passages[introduction.chunk], sections[section.chunk], plan):
                gains[section.chunk] = introduction.score - section.score
                gains[introduction.chunk] = section.score - introduction.score
        return ranking.raised("section_first", gains)

    def _introduces(self, passage: Passage | None, plan: Plan) -> bool:
        """Whether it is a short introduction, and the query is not for the page itself."""
        if passage is None or (passage.headings and passage.headings[-1] != passage.title):
            return False
        return len(passage.text.split()) <= self.max_words and words_of(passage.title) != words_of(plan.text)


def _answers(introduction: Passage, section: Passage, plan: Plan) -> bool:
    if len(section.headings) <= len(introduction.headings):
        return False
    return _count(section, plan.words) >= _count(introduction, plan.words)


def _count(passage: Passage, words: Collection[str]) -> int:
    present = set(passage_words(passage))
    return sum(word in present for word in words)
