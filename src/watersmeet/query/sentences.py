"""Sentences and clauses of a query that asks for several things, to be embedded separately."""

from __future__ import annotations

import re
from dataclasses import replace

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan
from watersmeet.core.options import option

_NEXT = r"(?:then|also|finally|additionally)"
_END = re.compile(rf"(?<=[.!?;])\s|\n|,? and {_NEXT} |, {_NEXT} |, as well as ", re.IGNORECASE)
"""The end of a sentence, or words that begin another request: `and then`, `, also`. A plain `and` joins two things of
one request more often than two requests."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sentences:
    """A query step that sets the plan's sentences: one vector for several topics is near to none of them.

    A query of many sentences is a narrative rather than several questions, and stays whole.
    """

    min_words: int = option(4, "a sentence of fewer words is not searched separately")
    max_sentences: int = option(8, "a query of more sentences stays whole")

    def apply(self, plan: Plan) -> Plan:
        text = "\n".join(" ".join(line.split()) for line in plan.spelled_text.splitlines())
        parts = tuple(part.strip() for part in _END.split(text) if len(part.split()) >= self.min_words)
        return replace(plan, sentences=parts if 2 <= len(parts) <= self.max_sentences else ())
