"""Learned weights of signals, which override those of the fusion."""

from __future__ import annotations

from dataclasses import replace

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan
from watersmeet.core.ports import WeightSource


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedWeights:
    """A query step that sets weights learned for the index, or for the collections of the request."""

    weight_source: WeightSource | None = None

    def apply(self, plan: Plan) -> Plan:
        fields = plan.condition.fields.items()
        collections = tuple(value for key, values in fields if key.casefold() == "collection" for value in values)
        weights = self.weight_source.weights(collections) if self.weight_source else {}
        return replace(plan, weights={**weights, **plan.weights}) if weights else plan
