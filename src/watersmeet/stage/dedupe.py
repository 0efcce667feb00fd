"""The same thing said twice is shown once.

Two texts are alike if they share most of their runs of three words (Broder 1997). To find such pairs without holding
each text against each, only the rarest part of a text's runs is looked up: two texts with a Jaccard similarity of t
must share one of the first (1 - t) of their runs in any common order (Chaudhuri, Ganti and Kaushik, ICDE 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from watersmeet.core.model import ChunkId, Evidence, Hit, Passage, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import Reading
from watersmeet.core.tokens import forms

TELLING = 8
"""A text of fewer words says too little to be compared without what stands above it."""


@dataclass(frozen=True, slots=True)
class Dedupe:
    """Drops what repeats a better hit, and notes in that hit what was dropped.

    Pages that differ in an identifier of their title or headings are not the same, however alike their texts.
    """

    view: Reading
    alike: float = option(0.7, "the share of common runs of three words from which on two texts are the same")
    look: int = option(5, "how many hits to compare, for each result that is asked for")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        head = ranking.hits[: self.look * plan.top_n]
        if len(head) < 2:
            return ranking
        passages = self.view.passages([hit.chunk for hit in head])
        keeper = self._keepers([passages[hit.chunk] for hit in head])
        dropped: dict[ChunkId, list[ChunkId]] = {}
        for chunk, kept in keeper.items():
            dropped.setdefault(kept, []).append(chunk)
        hits: list[Hit] = []
        for hit in ranking.hits:
            if hit.chunk in dropped:
                detail = {"dropped": dropped[hit.chunk]}
                hit = replace(hit, evidence=(*hit.evidence, Evidence("dedupe", len(hits) + 1, hit.score, detail)))
            if hit.chunk not in keeper:
                hits.append(hit)
        return Ranking("dedupe", tuple(hits))

    def _keepers(self, passages: Sequence[Passage]) -> dict[ChunkId, ChunkId]:
        """For each passage that repeats an earlier one: which."""
        found: dict[ChunkId, ChunkId] = {}
        runs: list[set[int]] = []
        kept: list[Passage] = []
        places: dict[int, list[int]] = {}
        for passage in passages:
            mine = _runs(passage)
            looked_up = sorted(mine)[: len(mine) - ceil(self.alike * len(mine)) + 1]
            near = sorted({place for run in looked_up for place in places.get(run, ())})
            for place in near:
                if self._same(mine, runs[place]) and _named(passage) == _named(kept[place]):
                    found[passage.id] = kept[place].id
                    break
            else:
                for run in looked_up:
                    places.setdefault(run, []).append(len(kept))
                kept.append(passage)
                runs.append(mine)
        return found

    def _same(self, one: set[int], other: set[int]) -> bool:
        common = len(one & other)
        return common >= self.alike * (len(one) + len(other) - common)


def _runs(passage: Passage) -> set[int]:
    words = passage.text.casefold().split()
    if len(words) < TELLING:
        words = [*" ".join((passage.title, *passage.headings)).casefold().split(), *words]
    if len(words) < 3:
        return {hash(tuple(words))}
    return set(map(hash, zip(words, words[1:], words[2:], strict=False)))


def _named(passage: Passage) -> list[str]:
    return forms("\n".join((passage.title, *passage.headings)))
