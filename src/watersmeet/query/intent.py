"""What is the answer for? A second text: for meaning as much as the query, for words less."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core import tokens
from watersmeet.core.model import Plan
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intent:
    """Sets the words of the plan's intent and what they weigh; the semantic signals read both texts as one."""

    weight: float = option(0.3, "what a word of the intent counts for beside one of the query; 0: ignore the intent")

    def apply(self, plan: Plan) -> Plan:
        own = set(tokens.words(plan.text))
        words = dict.fromkeys(tokens.words(plan.intent))
        telling = tuple(word for word in words if word not in own and word not in tokens.ASKING)
        if not words or self.weight <= 0:
            return replace(plan, intent_words=(), intent_weight=0.0)
        return replace(plan, intent_words=telling, intent_weight=self.weight)
