"""Words of a query in another language than English: its common words are left out, and compounds are taken apart."""

from __future__ import annotations

from dataclasses import replace

from watersmeet.core.languages import common_words, language_of_query
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Plan
from watersmeet.core.options import option
from watersmeet.core.ports import Words

COMPOUNDING = frozenset({"de", "nl", "sv", "da"})
LINKING = ("", "s", "es", "en", "n")
"""Letters between the parts of a compound."""
MIN_PART = 4
"""Letters of a part of a compound."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Language:
    """A query step for queries in other languages; one in English, or in doubt, stays as it is."""

    words: Words | None = None
    part_weight: float = option(0.5, "weight of a part of a compound that no document has, relative to a word")
    keep_common_words: bool = option(False, "keep common words of the language: der, und, wie, ...")

    def apply(self, plan: Plan) -> Plan:
        language = language_of_query(plan.text)
        if language in ("", "en"):
            return plan
        common = frozenset() if self.keep_common_words else common_words(language)
        content = tuple(word for word in plan.words if word not in common) or plan.words
        parts: dict[str, float] = {}
        if self.words is not None and language in COMPOUNDING:
            for word in content:
                if len(word) >= 2 * MIN_PART and not self.words.frequency("body", word):
                    parts |= dict.fromkeys(compound_parts(self.words, word), self.part_weight)
        return replace(plan, words=content, variants={**plan.variants, **parts})


def compound_parts(words: Words, word: str) -> list[str]:
    """The two parts of a compound, if the index has both as words; the longer last part is preferred."""
    for cut in range(MIN_PART, len(word) - MIN_PART + 1):
        last = word[cut:]
        if words.frequency("body", last):
            for linking in LINKING:
                first = word[:cut].removesuffix(linking)
                if word[:cut].endswith(linking) and len(first) >= MIN_PART and words.frequency("body", first):
                    return [first, last]
    return []
