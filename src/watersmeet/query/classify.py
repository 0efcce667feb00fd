"""Query classification: identifier, conceptual or mixed; short or a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from watersmeet.core.identifiers import read
from watersmeet.core.model import Plan
from watersmeet.core.options import option
from watersmeet.core.ports import Words


@dataclass(frozen=True, slots=True)
class Classify:
    """A query step that sets the plan's kind (identifier, mixed, conceptual) and length (short: up to four words)."""

    classifies: ClassVar[bool] = True

    words: Words | None = None
    keyword_only: bool = option(
        False, "a query that is only an identifier is searched by keyword signals, without embedding"
    )
    keyword: tuple[str, ...] = option(("lexical", "exact", "keyword"), "the signals that search it")

    def apply(self, plan: Plan) -> Plan:
        reading = read(plan.text, self.words)
        bare = self.keyword_only and reading.kind == "identifier" and reading.by_form
        only = self.keyword if bare else plan.only
        return replace(plan, kind=reading.kind, length=reading.length, only=only)
