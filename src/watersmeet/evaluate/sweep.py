"""How good would other weights be? Every point of the grid, on judged questions, and what the evidence comes to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.core.model import Request
from watersmeet.engine.calibration.posterior import SIGNALS, Posterior, grid
from watersmeet.engine.calibration.score_matrix import gains, score_matrix
from watersmeet.engine.engine import Engine
from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.evaluate.data import Question


@dataclass(frozen=True, slots=True)
class Sweep:
    """The mean nDCG@10 of each point of the grid, the weights from before, and those that the evidence gives."""

    quality: tuple[float, ...]
    questions: int
    prior: dict[str, float]
    posterior: dict[str, float]

    @property
    def best(self) -> dict[str, float]:
        point = grid()[self.quality.index(max(self.quality))]
        return dict(zip(SIGNALS, point, strict=True))

    def at(self, weights: dict[str, float]) -> float:
        """The quality at the point of the grid that is nearest to some weights."""
        total = math.fsum(weights.values()) or 1.0
        here = [weights.get(name, 0.0) / total for name in SIGNALS]
        return min(zip(grid(), self.quality, strict=True), key=lambda pair: math.dist(pair[0], here))[1]


def sweep(engine: Engine, questions: Sequence[Question], mode: str, progress: ProgressCallback) -> Sweep | None:
    """None where there is nothing to weigh: too few signals, or none of the questions has an answer."""
    belief = Posterior()
    asked = [question for question in questions if question.relevant]
    for number, question in enumerate(asked, 1):
        with engine.open_search(Request(question.text, mode), explain=False) as search_run:
            chunks = {hit.chunk for ranking in search_run.outcome.rankings for hit in ranking.hits}
            made = score_matrix(
                search_run.outcome, search_run.pipeline.fusion, search_run.snapshot.documents_of(chunks)
            )
        if made is not None:
            belief = belief.learn(gains(made, {d: float(grade) for d, grade in question.relevant.items()}))
        progress(Progress("weighing", number, len(asked), "queries"))
    if not belief.pieces:
        return None
    quality = tuple(gained / belief.pieces for gained in belief.gained)
    prior = engine.calibration.prior
    return Sweep(quality, int(belief.pieces), prior, belief.weights(prior))
