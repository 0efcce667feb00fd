"""Identifiers of the query, as anchors of the plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core.identifiers import read
from watersmeet.core.model import Plan
from watersmeet.core.ports import Words


@dataclass(frozen=True, slots=True)
class Anchors:
    """A query step that sets the plan's anchors: codes, numbers, flags, symbols and names, each once, as written."""

    words: Words | None = None

    def apply(self, plan: Plan) -> Plan:
        return replace(plan, anchors=read(plan.text, self.words).distinct)
