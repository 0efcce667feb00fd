"""How much do identifiers count? As much as the query is made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core import tokens
from watersmeet.core.model import Plan
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True)
class Lean:
    """The exact signal's weight grows with the share of codes and names among the words that say something."""

    most: float = option(0.3, "weight of the exact signal for a query that is nothing but identifiers")
    least: float = option(0.03, "weight of the exact signal however long the query is")

    def apply(self, plan: Plan) -> Plan:
        telling = [s for s in tokens.surfaces(plan.text) if s.lower() not in tokens.ASKING]
        codes = sum(tokens.is_code(surface) for surface in telling)
        share = codes / len(telling) if telling else 0.0
        return replace(plan, weights={**plan.weights, "exact": max(self.least, self.most * share)})
