"""Exact matches of rare identifiers first, before similar identifiers.

An identifier names one thing: a text without it is no answer, however near. A page about 75.1720 may share more words
with "30 CFR 75.1725", and be semantically closer, than the only page that has it.
"""

from __future__ import annotations

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Term, Words
from watersmeet.core.tokens import forms, identifiers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExactFirst:
    """A stage: if a query consists of rare identifiers, chunks that contain all of them come first.

    One of several identifiers is not enough: a claim about two genes is not answered by a text that mentions one.
    """

    words: Words
    max_chunks: int = option(3, "an identifier that is in more chunks than this is ignored")
    lead: float = option(10.0, "how many times higher than all others they score, at least", least=0)

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if not ranking.hits or (plan.only and "exact" not in plan.only):
            return ranking
        wanted = {surface: self._rare(surface) for surface in identifiers(plan.text)}
        if not wanted or not all(wanted.values()):
            return ranking
        matching = {hit.chunk for hit in ranking.hits}
        for terms in wanted.values():
            matching &= self.words.score(terms, matching).keys()
        gain = self.lead * ranking.hits[0].score
        return ranking.raised(
            "exact_first", dict.fromkeys(matching, gain), {chunk: {"identifiers": [*wanted]} for chunk in matching}
        )

    def _rare(self, surface: str) -> list[Term]:
        return [
            Term("forms", form) for form in forms(surface) if 0 < self.words.frequency("forms", form) <= self.max_chunks
        ]
