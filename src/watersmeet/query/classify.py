"""Is one thing named, a question asked, or both; in a few words or in a sentence?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core.identifiers import read
from watersmeet.core.model import Plan
from watersmeet.core.options import option
from watersmeet.core.ports import Words


@dataclass(frozen=True, slots=True)
class Classify:
    """Sets the plan's kind (identifier, mixed, conceptual) and length (short up to four words, else sentence)."""

    words: Words | None = None
    keyword_only: bool = option(False, "a bare identifier is looked up by its words: no embedding is asked for")
    keyword: tuple[str, ...] = option(("lexical", "exact", "keyword"), "the signals that look it up")

    def apply(self, plan: Plan) -> Plan:
        reading = read(plan.text, self.words)
        bare = self.keyword_only and reading.kind == "identifier" and reading.by_form
        only = self.keyword if bare else plan.only
        return replace(plan, kind=reading.kind, length=reading.length, only=only)
