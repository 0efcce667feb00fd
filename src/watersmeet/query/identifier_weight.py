"""How much do identifiers count? As much as the query is made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core import tokens
from watersmeet.core.model import Plan
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IdentifierWeight:
    """The exact signal counts by the share of codes among the words that say something, and meaning less by it."""

    min_weight: float = option(0.1, "what the exact signal counts for at least, of its weight")
    semantic_discount: float = option(
        0.5, "by how much meaning counts less for a query that is nothing but identifiers"
    )

    def apply(self, plan: Plan) -> Plan:
        telling = [s for s in tokens.surfaces(plan.text) if s.lower() not in tokens.ASKING]
        codes = sum(tokens.is_code(surface) for surface in telling)
        share = codes / len(telling) if telling else 0.0
        meaning = 1 - self.semantic_discount * share
        factors = {"exact": max(self.min_weight, share), "static": meaning, "dense": meaning}
        return replace(plan, factors={**plan.factors, **factors})
