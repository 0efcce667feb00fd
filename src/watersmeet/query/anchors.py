"""Which identifiers does the query hold?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core.identifiers import read
from watersmeet.core.model import Plan
from watersmeet.core.ports import Words


@dataclass(frozen=True, slots=True)
class Anchors:
    """Sets the plan's anchors: codes, numbers, flags, symbols and names, each once, as they are written."""

    words: Words | None = None

    def apply(self, plan: Plan) -> Plan:
        return replace(plan, anchors=read(plan.text, self.words).distinct)
