"""Which words, identifiers and names does the query hold?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from watersmeet.core import tokens
from watersmeet.core.model import Plan
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Words:
    """Sets the plan's words, forms and names. Words that people only ask with are left out if others remain."""

    keep_question_words: bool = option(False, "keep the words that people ask with: how, tell, me, about, ...")

    def apply(self, plan: Plan) -> Plan:
        words, forms = tokens.both(plan.text)
        unique = list(dict.fromkeys(words))
        telling = unique if self.keep_question_words else [w for w in unique if w not in tokens.ASKING]
        return replace(
            plan,
            words=tuple(telling or unique),
            forms=tuple(forms),
            names=tuple(_names(plan.text)),
        )


def _names(text: str) -> list[str]:
    """Capitalised plain words: any but the first of a sentence, or the only one there is."""
    found = tokens.surfaces(text)
    capital = [
        surface
        for i, surface in enumerate(found)
        if surface.isalpha() and surface.istitle() and (i > 0 or len(found) == 1)
    ]
    return [surface.lower() for surface in dict.fromkeys(capital) if surface.lower() not in tokens.ASKING]
