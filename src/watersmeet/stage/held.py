"""Whoever asks for one identifier is not helped by its neighbours, however near they are.

A page all about 75.1720 shares more words with "30 CFR 75.1725", and more meaning, than the only page that has it.
"""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.model import Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Term, Words
from watersmeet.core.tokens import forms, identifiers


@dataclass(frozen=True, slots=True)
class Held:
    """In a query made of identifiers, what holds a rare one comes before what does not."""

    words: Words
    most: int = option(3, "an identifier that is in more chunks than this moves nothing")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        if not ranking.hits or (plan.only and "exact" not in plan.only):
            return ranking
        wanted = {form: None for surface in identifiers(plan.text) for form in forms(surface)}
        rare = [form for form in wanted if 0 < self.words.frequency("forms", form) <= self.most]
        if not rare:
            return ranking
        held = self.words.score([Term("forms", form) for form in rare], [hit.chunk for hit in ranking.hits])
        if all(hit.chunk in held for hit in ranking.hits[: len(held)]):  # as it should be
            return ranking
        best = ranking.hits[0].score
        return ranking.raised("held", dict.fromkeys(held, best), {chunk: {"identifiers": rare} for chunk in held})
