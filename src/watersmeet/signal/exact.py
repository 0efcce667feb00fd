"""Exact signal: identifiers that the query and the chunk share as written: codes, flags, versions, names.

They count in a long sentence too ("tell me about D40"). The match is limited by document frequency, so that common
identifiers and ordinary words gain nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from watersmeet.core.definitions import definition_form
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Plan, Ranking, hits_of
from watersmeet.core.options import option
from watersmeet.core.ports import Term, Words
from watersmeet.core.tokens import families, is_code


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exact:
    """BM25 over surface forms; a rare capitalised word counts as a name."""

    words: Words
    share: float = option(0.05, "an identifier in more than this share of the chunks is ignored")
    always: int = option(10, "... unless it is in at most this many")
    other_case: float = option(0.5, "weight of a match in another case")
    family: float = option(0.3, "weight of a page about the code's family: C44xx, or C4400 through C4599, for C4478")
    definition: float = option(1.0, "weight of source code that defines the identifier, beside the identifier itself")
    name_share: float = option(0.002, "a capitalised word is a name if it is in at most this share of the chunks")
    name_always: int = option(3, "... or in at most this many")

    def rank(self, plan: Plan) -> Ranking:
        terms = self._terms(plan)
        found = self.words.match(terms, plan.condition, plan.pool) if terms else []
        return Ranking.of("exact", hits_of(found), plan.pool)

    def score(self, plan: Plan, ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        terms = self._terms(plan)
        return self.words.score(terms, ids) if terms else {}

    def _terms(self, plan: Plan) -> list[Term]:
        size = self.words.size
        most = max(self.always, self.share * size)
        terms = []
        for form in filter(is_code, plan.forms):
            if 0 < self.words.frequency("forms", form) <= most:
                other = form.lower() == form and any(f.lower() == form for f in plan.forms if f != form)
                terms.append(Term("forms", form, self.other_case if other else 1.0))
            if self.definition and 0 < self.words.frequency("forms", definition_form(form)) <= most:
                terms.append(Term("forms", definition_form(form), self.definition))
        related = {family: None for form in plan.forms for family in families(form)}
        terms += [Term("forms", f, self.family) for f in related if 0 < self.words.frequency("forms", f) <= most]
        most = max(self.name_always, self.name_share * size)
        for name in plan.names:
            if 0 < self.words.frequency("body", name) <= most:
                terms.append(Term("body", name))
        return terms
