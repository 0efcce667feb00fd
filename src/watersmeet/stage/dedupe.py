"""The same thing said twice is shown once.

Two texts are alike if they share most of their runs of three words (Broder 1997). A text that does not share so many
with all better ones together shares them with none, so only a few are held against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.core.model import ChunkId, Evidence, Hit, Passage, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader
from watersmeet.core.tokens import forms

_Runs = set[int]  # hashes: three strings each would take half as long again

TELLING = 8
"""A text of fewer words says too little to be compared without what stands above it."""


@dataclass(frozen=True, slots=True)
class Dedupe:
    """Drops what repeats a better hit, and notes in that hit what was dropped.

    Pages that differ in an identifier of their title or headings are not the same, however alike their texts.
    """

    view: PassageReader
    min_similarity: float = option(0.7, "the share of common runs of three words from which on two texts are the same")
    depth: int = option(5, "how many hits to compare, for each result that is asked for")

    def apply(self, ranking: Ranking, plan: Plan) -> Ranking:
        head = ranking.hits[: self.depth * plan.top_n]
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
                hit = hit._replace(evidence=(*hit.evidence, Evidence("dedupe", len(hits) + 1, hit.score, detail)))
            if hit.chunk not in keeper:
                hits.append(hit)
        return Ranking("dedupe", tuple(hits))

    def _keepers(self, passages: Sequence[Passage]) -> dict[ChunkId, ChunkId]:
        """For each passage that repeats an earlier one: which."""
        found: dict[ChunkId, ChunkId] = {}
        kept: list[tuple[Passage, _Runs]] = []
        seen: _Runs = set()
        for passage in passages:
            mine = _runs(passage)
            if len(mine & seen) >= self.min_similarity * len(mine):
                better = next((one for one, runs in kept if self._same(mine, runs) and _alike(one, passage)), None)
                if better is not None:
                    found[passage.id] = better.id
                    continue
            kept.append((passage, mine))
            seen |= mine
        return found

    def _same(self, one: _Runs, other: _Runs) -> bool:
        common = len(one & other)
        return common >= self.min_similarity * (len(one) + len(other) - common)


def _runs(passage: Passage) -> _Runs:
    words = passage.text.casefold().split()
    if len(words) < TELLING:
        words = [*" ".join((passage.title, *passage.headings)).casefold().split(), *words]
    if len(words) < 3:
        return {hash(tuple(words))}
    return set(map(hash, zip(words, words[1:], words[2:], strict=False)))


def _alike(one: Passage, other: Passage) -> bool:
    return forms("\n".join((one.title, *one.headings))) == forms("\n".join((other.title, *other.headings)))
