"""Words, identifiers and names of the query."""

from __future__ import annotations

from dataclasses import replace

from watersmeet.core import tokens
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Words:
    """A query step that sets the plan's words, forms and names. Question words are left out if others remain."""

    keep_question_words: bool = option(False, "keep question words: how, tell, me, about, ...")

    def apply(self, plan: Plan) -> Plan:
        words, forms = tokens.both(plan.text)
        unique = list(dict.fromkeys(words))
        content = unique if self.keep_question_words else [w for w in unique if w not in tokens.QUESTION_WORDS]
        return replace(
            plan,
            words=tuple(content or unique),
            forms=tuple(forms),
            names=tuple(_names(plan.text)),
        )


def _names(text: str) -> list[str]:
    """Capitalised plain words, except the first word of a query with several."""
    found = tokens.surfaces(text)
    capital = [
        surface
        for i, surface in enumerate(found)
        if surface.isalpha() and surface.istitle() and (i > 0 or len(found) == 1)
    ]
    return [surface.lower() for surface in dict.fromkeys(capital) if surface.lower() not in tokens.QUESTION_WORDS]
