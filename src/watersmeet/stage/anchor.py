"""Identifiers of the query that a chunk really holds lift it: ADR-003's option C."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from watersmeet.core.model import Passage, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader


@dataclass(frozen=True, slots=True)
class Anchor:
    """Times the factor for each anchor that stands in the chunk's title, headings or text, in whatever case."""

    view: PassageReader
    factor: float = option(1.5, "what each anchor that is there multiplies the score by")
    top: int = option(0, "how many hits to look at; 0: twice as many as are asked for")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        looked_at = [hit.chunk for hit in ranking.hits[: self.top or 2 * plan.top_n]]
        if not plan.anchors or not looked_at:
            return ranking
        tests = {anchor: _test(anchor) for anchor in dict.fromkeys(plan.anchors)}
        factors, notes = {}, {}
        for chunk, passage in self.view.passages(looked_at).items():
            text = _said(passage)
            found = [anchor for anchor, test in tests.items() if test(text)]
            factors[chunk] = self.factor ** len(found)
            notes[chunk] = {"anchors": found}
        return ranking.multiplied("anchor", factors, notes)


def _said(passage: Passage) -> str:
    return "\n".join((passage.title, *passage.headings, passage.text)).casefold()


def _test(anchor: str) -> Callable[[str], bool]:
    """Whether a text in lower case holds the anchor as a word or words of its own: D40 is not in D401."""
    parts = anchor.casefold().split()
    if not parts:
        return lambda text: False
    spaced = r"\s+".join(map(re.escape, parts))
    pattern = re.compile(rf"(?<!\w){spaced}(?!\w)")
    first = parts[0]
    return lambda text: first in text and pattern.search(text) is not None
