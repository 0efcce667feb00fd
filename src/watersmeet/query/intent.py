"""Intent of the query: a second text that semantic signals read in full, and keyword signals at a lower weight."""

from __future__ import annotations

from dataclasses import replace

from watersmeet.core import tokens
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intent:
    """A query step that sets the intent's words and their weight; semantic signals embed both texts as one."""

    weight: float = option(0.3, "weight of a word of the intent relative to one of the query; 0: ignore the intent")

    def apply(self, plan: Plan) -> Plan:
        own = set(tokens.words(plan.text))
        words = dict.fromkeys(tokens.words(plan.intent))
        content = tuple(word for word in words if word not in own and word not in tokens.QUESTION_WORDS)
        if not words or self.weight <= 0:
            return replace(plan, intent_words=(), intent_weight=0.0)
        return replace(plan, intent_words=content, intent_weight=self.weight)
