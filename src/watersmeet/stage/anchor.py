"""Boost of chunks that contain the identifiers of the query: ADR-003's option C."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from watersmeet.core.model import Passage, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader


@dataclass(frozen=True, slots=True)
class Anchor:
    """A stage that multiplies the score for each anchor in the title, headings or text, ignoring case."""

    view: PassageReader
    factor: float = option(1.5, "factor on the score for each anchor that the chunk contains")
    top: int = option(0, "how many hits to examine; 0: twice as many as requested")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        examined = [hit.chunk for hit in ranking.hits[: self.top or 2 * plan.top_n]]
        if not plan.anchors or not examined:
            return ranking
        tests = {anchor: _test(anchor) for anchor in dict.fromkeys(plan.anchors)}
        factors, notes = {}, {}
        for chunk, passage in self.view.passages(examined).items():
            text = _searched_text(passage)
            found = [anchor for anchor, test in tests.items() if test(text)]
            factors[chunk] = self.factor ** len(found)
            notes[chunk] = {"anchors": found}
        return ranking.multiplied("anchor", factors, notes)


def _searched_text(passage: Passage) -> str:
    return "\n".join((passage.title, *passage.headings, passage.text)).casefold()


def _test(anchor: str) -> Callable[[str], bool]:
    """Test whether a lower-case text contains the anchor as whole words: D40 is not in D401."""
    parts = anchor.casefold().split()
    if not parts:
        return lambda text: False
    spaced = r"\s+".join(map(re.escape, parts))
    pattern = re.compile(rf"(?<!\w){spaced}(?!\w)")
    first = parts[0]
    return lambda text: first in text and pattern.search(text) is not None
