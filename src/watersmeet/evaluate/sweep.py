"""Weight sweep: the quality of every point of a grid of weights on judged questions, and the learned weights."""

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
    """Result of a sweep: the mean nDCG@10 of each point of the grid, the prior weights and the learned ones."""

    quality: tuple[float, ...]
    questions: int
    prior: dict[str, float]
    posterior: dict[str, float]

    @property
    def best(self) -> dict[str, float]:
        point = grid()[self.quality.index(max(self.quality))]
        return dict(zip(SIGNALS, point, strict=True))

    def at(self, weights: dict[str, float]) -> float:
        """The quality at the grid point nearest to these weights."""
        total = math.fsum(weights.values()) or 1.0
        here = [weights.get(name, 0.0) / total for name in SIGNALS]
        return min(zip(grid(), self.quality, strict=True), key=lambda pair: math.dist(pair[0], here))[1]


def sweep(engine: Engine, questions: Sequence[Question], mode: str, progress: ProgressCallback) -> Sweep | None:
    """Sweep the grid of weights; None if there are too few signals or no judged questions."""
    belief = Posterior()
    judged = [question for question in questions if question.relevant]
    for number, question in enumerate(judged, 1):
        with engine.open_search(Request(question.text, mode), explain=False) as search_run:
            chunks = {hit.chunk for ranking in search_run.outcome.rankings for hit in ranking.hits}
            made = score_matrix(
                search_run.outcome, search_run.pipeline.fusion, search_run.snapshot.documents_of(chunks)
            )
        if made is not None:
            belief = belief.learn(gains(made, {d: float(grade) for d, grade in question.relevant.items()}))
        progress(Progress("weighing", number, len(judged), "queries"))
    if not belief.pieces:
        return None
    quality = tuple(gained / belief.pieces for gained in belief.gained)
    prior = engine.calibration.prior
    return Sweep(quality, int(belief.pieces), prior, belief.weights(prior))
