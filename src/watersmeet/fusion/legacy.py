"""The former additive score of the registry: clamp((cosine + 1) / 2 + 0.1 * boost, 0, 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from watersmeet.core.model import ChunkId, Evidence, Hit, Plan, Ranking
from watersmeet.core.options import option


@dataclass(frozen=True, slots=True)
class Legacy:
    """A cosine scaled to 0 to 1 plus a tenth of the text boost, at most 1."""

    cosine: str = option("dense", "the signal that gives cosines")
    boost: str = option("boost", "the signal that gives text boosts")
    share: float = option(0.1, "score for one point of boost")

    fills: ClassVar[bool] = False

    @property
    def counted(self) -> tuple[str, str]:
        """The signals that it uses; the answer names those that it ignores."""
        return self.cosine, self.boost

    def fuse(self, rankings: Sequence[Ranking], plan: Plan) -> Ranking:
        parts: dict[ChunkId, list[Evidence]] = {}
        for ranking in sorted(rankings, key=lambda r: r.by):
            for rank, hit in enumerate(ranking.hits, 1):
                part = self._part(ranking.by, hit.score)
                detail = {"contribution": part, **ranking.notes.get(hit.chunk, {})}
                parts.setdefault(hit.chunk, []).append(Evidence(ranking.by, rank, hit.score, detail))
        hits = []
        for chunk, evidence in parts.items():
            total = sum(e.detail["contribution"] for e in evidence)
            score = min(1.0, max(0.0, total))
            hits.append(
                Hit(chunk, score, tuple(evidence if score == total else self._clamped(evidence, total - score)))
            )
        return Ranking.of("legacy", hits)

    def _clamped(self, evidence: Sequence[Evidence], excess: float) -> list[Evidence]:
        """Evidence with the excess taken off the boost, so that the contributions add up to the score."""
        top = self.boost if any(e.by == self.boost for e in evidence) else self.cosine
        return [_less(e, excess) if e.by == top else e for e in evidence]

    def _part(self, by: str, score: float) -> float:
        if by == self.cosine:
            return (score + 1) / 2
        return self.share * score if by == self.boost else 0.0


def _less(evidence: Evidence, excess: float) -> Evidence:
    part = evidence.detail["contribution"]
    return replace(evidence, detail={**evidence.detail, "contribution": part - excess, "unclamped": part})
