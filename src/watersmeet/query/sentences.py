"""Does the query ask for several things? Each of its sentences then means something of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from watersmeet.core.model import Plan
from watersmeet.core.options import option

_END = re.compile(r"(?<=[.!?;])\s+|\n+")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sentences:
    """Sets the plan's parts, for the semantic signals: one vector for several wishes is near to none of them.

    A query of many sentences tells a story rather than asks for several things, and stays whole.
    """

    min_words: int = option(4, "a sentence of fewer words is no part")
    max_sentences: int = option(5, "a query of more parts stays whole")

    def apply(self, plan: Plan) -> Plan:
        parts = tuple(part.strip() for part in _END.split(plan.text) if len(part.split()) >= self.min_words)
        return replace(plan, sentences=parts if 2 <= len(parts) <= self.max_sentences else ())
