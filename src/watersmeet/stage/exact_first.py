"""Whoever asks for one identifier is not helped by its neighbours, however near they are.

A page all about 75.1720 shares more words with "30 CFR 75.1725", and more meaning, than the only page that has it.
"""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Term, Words
from watersmeet.core.tokens import forms, identifiers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExactFirst:
    """In a query made of identifiers that are rare, what holds them all comes before what does not.

    One of several says little: claims name two genes, and who has one of them in passing has not asked for more.
    """

    words: Words
    max_chunks: int = option(3, "an identifier that is in more chunks than this moves nothing")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if not ranking.hits or (plan.only and "exact" not in plan.only):
            return ranking
        wanted = {surface: self._rare(surface) for surface in identifiers(plan.text)}
        if not wanted or not all(wanted.values()):
            return ranking
        held = {hit.chunk for hit in ranking.hits}
        for terms in wanted.values():
            held &= self.words.score(terms, held).keys()
        if all(hit.chunk in held for hit in ranking.hits[: len(held)]):  # as it should be
            return ranking
        best = ranking.hits[0].score
        return ranking.raised(
            "exact_first", dict.fromkeys(held, best), {chunk: {"identifiers": [*wanted]} for chunk in held}
        )

    def _rare(self, surface: str) -> list[Term]:
        return [
            Term("forms", form) for form in forms(surface) if 0 < self.words.frequency("forms", form) <= self.max_chunks
        ]
