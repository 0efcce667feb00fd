"""Weight of the exact signal, by the share of identifiers in the query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from watersmeet.core import tokens
from watersmeet.core.identifiers import MAX_SHORT_WORDS
from watersmeet.core.model import Plan
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IdentifierWeight:
    """A query step: the exact signal counts by the share of codes in the query, semantic signals count less.

    Short capitals in a sentence are no codes: one about AI, APIs or PMs asks for no identifier.
    """

    classifies: ClassVar[bool] = True

    min_weight: float = option(0.1, "least factor on the weight of the exact signal")
    semantic_discount: float = option(0.5, "by how much semantic signals count less for a query of identifiers only")

    def apply(self, plan: Plan) -> Plan:
        surfaces = tokens.surfaces(plan.text)
        content = [s for s in surfaces if s.lower() not in tokens.QUESTION_WORDS]
        codes = [surface for surface in content if tokens.is_code(surface)]
        if len(surfaces) > MAX_SHORT_WORDS:
            codes = [surface for surface in codes if not tokens.is_abbreviation(surface)]
        share = len(codes) / len(content) if content else 0.0
        semantic = 1 - self.semantic_discount * share
        factors = {"exact": max(self.min_weight, share), "static": semantic, "dense": semantic}
        return replace(plan, factors={**plan.factors, **factors})
