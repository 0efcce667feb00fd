"""What each signal said of every candidate of a query: enough to fuse again with any weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from watersmeet.core.errors import ConfigError
from watersmeet.core.model import ChunkId, DocId
from watersmeet.engine.calibration.posterior import SIGNALS, grid, total
from watersmeet.engine.query.pipeline import Outcome
from watersmeet.fusion.convex import Convex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DEEP = 10
"""nDCG looks at so many documents."""


class ScoreMatrix(NamedTuple):
    """One query's candidates: the documents, where the chunks of each begin, and signals x chunks of scaled scores."""

    documents: list[DocId]
    starts: list[int]
    votes: Floats
    fixed: Floats
    """What the other signals add, at the weights that they have."""


def score_matrix(outcome: Outcome, fusion: object, owners: Mapping[ChunkId, DocId]) -> ScoreMatrix | None:
    """None if fewer than two of the signals that can be weighed have voted: there is nothing to learn."""
    import numpy as np

    if not isinstance(fusion, Convex):
        raise ConfigError("weights can be learnt for the fusion `convex` only", 'set pipeline.fusion = "convex"')
    rankings = [ranking for ranking in outcome.rankings if ranking.hits]
    if sum(ranking.by in SIGNALS for ranking in rankings) < 2:
        return None
    alike = replace(outcome.plan, weights=dict.fromkeys(SIGNALS, total(fusion.weights)))
    chunks = sorted({h.chunk for r in rankings for h in r.hits}, key=lambda chunk: (owners[chunk], chunk))
    place = {chunk: i for i, chunk in enumerate(chunks)}
    votes = np.zeros((len(SIGNALS), len(chunks)))
    fixed = np.zeros(len(chunks))
    for vote in fusion.votes(rankings, alike):
        row = votes[SIGNALS.index(vote.ranking.by)] if vote.ranking.by in SIGNALS else fixed
        for chunk, value in vote.scores.items():
            row[place[chunk]] += vote.weight * (value - vote.low) / vote.span
    documents = [owners[chunk] for chunk in chunks]
    starts = [i for i, document in enumerate(documents) if i == 0 or documents[i - 1] != document]
    return ScoreMatrix([documents[i] for i in starts], starts, votes, fixed)


def gains(made: ScoreMatrix, relevant: Mapping[str, float], points: Sequence[Sequence[float]] = ()) -> list[float]:
    """The nDCG@10 that each point of the grid would have had."""
    import numpy as np

    fused = np.array(points or grid()) @ made.votes + made.fixed
    best = np.maximum.reduceat(fused, made.starts, axis=1)
    grades = np.array([relevant.get(document, 0.0) for document in made.documents])
    order = np.argsort(-best, axis=1, kind="stable")[:, :DEEP]
    discount = 1 / np.log2(np.arange(2, DEEP + 2))
    found = (grades[order] * discount[: order.shape[1]]).sum(axis=1)
    ideal = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:DEEP]
    most = sum(grade * discount[i] for i, grade in enumerate(ideal))
    result: list[float] = (found / most if most else found * 0.0).tolist()
    return result
