"""What has use taught of these documents? Weights instead of the fusion's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core.model import Plan
from watersmeet.core.ports import WeightSource


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedWeights:
    """Sets the plan's weights by the evidence about the index, or about the collections that are asked for."""

    weight_source: WeightSource | None = None

    def apply(self, plan: Plan) -> Plan:
        fields = plan.condition.fields.items()
        asked = tuple(value for key, values in fields if key.casefold() == "collection" for value in values)
        weights = self.weight_source.weights(asked) if self.weight_source else {}
        return replace(plan, weights={**weights, **plan.weights}) if weights else plan
