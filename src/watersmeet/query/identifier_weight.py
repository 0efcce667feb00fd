"""Weight of the exact signal, by the share of identifiers in the query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from watersmeet.core import tokens
from watersmeet.core.identifiers import MAX_SHORT_WORDS
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan
from watersmeet.core.options import option
from watersmeet.core.ports import Words

_NUMBERED = re.compile(r"[A-Za-z]\d+|[A-Z]+-?\d+")
"""D40, E0308, SYSLIB1029. Names of functions are not among them: where several passages have one, their meaning decides
which is about it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IdentifierWeight:
    """A query step: the exact signal counts by the share of codes in the query, semantic signals count less.

    Short capitals in a sentence are no codes: one about AI, APIs or PMs asks for no identifier. A query that is nothing
    but one numbered code of the index has no meaning to embed: it is searched as it is written.
    """

    classifies: ClassVar[bool] = True

    words: Words | None = None
    keyword_only: bool = option(
        False, "a query like D40, if the index has it, is searched by keyword signals, without embedding"
    )
    keyword: tuple[str, ...] = option(("lexical", "exact", "keyword"), "the signals that search it")
    min_weight: float = option(0.1, "least factor on the weight of the exact signal")
    semantic_discount: float = option(0.5, "by how much semantic signals count less for a query of identifiers only")

    def apply(self, plan: Plan) -> Plan:
        surfaces = tokens.surfaces(plan.text)
        content = [s for s in surfaces if s.lower() not in tokens.QUESTION_WORDS]
        codes = [surface for surface in content if tokens.is_code(surface)]
        if len(surfaces) > MAX_SHORT_WORDS:
            codes = [surface for surface in codes if not tokens.is_abbreviation(surface)]
        share = len(codes) / len(content) if content else 0.0
        semantic = 1 - self.semantic_discount * share
        factors = {"exact": max(self.min_weight, share), "static": semantic, "dense": semantic}
        only = self.keyword if not plan.only and self._is_bare(surfaces) else plan.only
        return replace(plan, factors={**plan.factors, **factors}, only=only)

    def _is_bare(self, surfaces: Sequence[str]) -> bool:
        if not self.keyword_only or self.words is None or len(surfaces) != 1:
            return False
        return bool(_NUMBERED.fullmatch(surfaces[0])) and self.words.frequency("forms", surfaces[0]) > 0
