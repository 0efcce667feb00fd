"""Query expansion by related terms of the corpus, for the semantic signals only: keywords are unchanged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core.model import Plan
from watersmeet.core.options import option
from watersmeet.core.ports import ConceptTerms


@dataclass(frozen=True, slots=True)
class Expand:
    """A query step that expands by the nearest terms of the concept vocabulary that the query does not contain."""

    concepts: ConceptTerms | None = None
    terms: int = option(3, "how many terms are added")

    def apply(self, plan: Plan) -> Plan:
        if self.concepts is None or self.terms < 1 or plan.only or not plan.text.strip():
            return plan
        return replace(plan, expansion=tuple(self.concepts.nearest(plan.text, self.terms)))
