"""Deduplication of near-identical passages.

Two texts are alike if they share most of their three-word shingles (Broder 1997). A text that does not share so many
with all better texts together shares them with none of them, so only a few pairs are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.core.model import ChunkId, Evidence, Hit, Passage, Plan, Ranking
from watersmeet.core.options import option
from watersmeet.core.ports import PassageReader
from watersmeet.core.tokens import forms

_Shingles = set[int]  # hashes: tuples of strings would take half as long again

MIN_COMPARED_WORDS = 8
"""A text of fewer words is compared together with its title and headings."""


@dataclass(frozen=True, slots=True)
class Dedupe:
    """A stage that drops hits that repeat a better one, and notes them in that one.

    Passages with different identifiers in title or headings are kept, however alike their texts.
    """

    view: PassageReader
    min_similarity: float = option(0.7, "two texts with at least this share of common three-word runs are the same")
    depth: int = option(5, "how many hits to compare, for each requested result")

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
        """For each passage that repeats an earlier one, that earlier one."""
        found: dict[ChunkId, ChunkId] = {}
        kept: list[tuple[Passage, _Shingles]] = []
        all_shingles: _Shingles = set()
        for passage in passages:
            mine = _shingles(passage)
            if len(mine & all_shingles) >= self.min_similarity * len(mine):
                better = next(
                    (one for one, shingles in kept if self._same(mine, shingles) and _alike(one, passage)), None
                )
                if better is not None:
                    found[passage.id] = better.id
                    continue
            kept.append((passage, mine))
            all_shingles |= mine
        return found

    def _same(self, one: _Shingles, other: _Shingles) -> bool:
        common = len(one & other)
        return common >= self.min_similarity * (len(one) + len(other) - common)


def _shingles(passage: Passage) -> _Shingles:
    words = passage.text.casefold().split()
    if len(words) < MIN_COMPARED_WORDS:
        words = [*" ".join((passage.title, *passage.headings)).casefold().split(), *words]
    if len(words) < 3:
        return {hash(tuple(words))}
    return set(map(hash, zip(words, words[1:], words[2:], strict=False)))


def _alike(one: Passage, other: Passage) -> bool:
    return forms("\n".join((one.title, *one.headings))) == forms("\n".join((other.title, *other.headings)))
