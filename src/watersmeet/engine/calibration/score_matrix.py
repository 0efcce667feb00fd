"""Score matrix of a query, signals x candidates, to fuse again with any weights."""

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

NDCG_DEPTH = 10


class ScoreMatrix(NamedTuple):
    """Candidates of a query: documents, the first chunk of each, and scaled scores as signals x chunks."""

    documents: list[DocId]
    starts: list[int]
    votes: Floats
    fixed: Floats
    """Contributions of signals with fixed weights."""


def score_matrix(outcome: Outcome, fusion: object, owners: Mapping[ChunkId, DocId]) -> ScoreMatrix | None:
    """The score matrix; None if fewer than two signals with learnable weights have hits."""
    import numpy as np

    if not isinstance(fusion, Convex):
        raise ConfigError("weights can be learned for the fusion `convex` only", 'set pipeline.fusion = "convex"')
    rankings = [ranking for ranking in outcome.rankings if ranking.hits]
    if sum(ranking.by in SIGNALS for ranking in rankings) < 2:
        return None
    equal = replace(outcome.plan, weights=dict.fromkeys(SIGNALS, total(fusion.weights)))
    chunks = sorted({h.chunk for r in rankings for h in r.hits}, key=lambda chunk: (owners[chunk], chunk))
    place = {chunk: i for i, chunk in enumerate(chunks)}
    votes = np.zeros((len(SIGNALS), len(chunks)))
    fixed = np.zeros(len(chunks))
    for vote in fusion.votes(rankings, equal):
        row = votes[SIGNALS.index(vote.ranking.by)] if vote.ranking.by in SIGNALS else fixed
        for chunk, value in vote.scores.items():
            row[place[chunk]] += vote.weight * (value - vote.low) / vote.span
    documents = [owners[chunk] for chunk in chunks]
    starts = [i for i, document in enumerate(documents) if i == 0 or documents[i - 1] != document]
    return ScoreMatrix([documents[i] for i in starts], starts, votes, fixed)


def gains(matrix: ScoreMatrix, relevant: Mapping[str, float], points: Sequence[Sequence[float]] = ()) -> list[float]:
    """nDCG@10 of each point of the grid."""
    import numpy as np

    fused = np.array(points or grid()) @ matrix.votes + matrix.fixed
    best = np.maximum.reduceat(fused, matrix.starts, axis=1)
    grades = np.array([relevant.get(document, 0.0) for document in matrix.documents])
    order = np.argsort(-best, axis=1, kind="stable")[:, :NDCG_DEPTH]
    discount = 1 / np.log2(np.arange(2, NDCG_DEPTH + 2))
    found = (grades[order] * discount[: order.shape[1]]).sum(axis=1)
    ideal = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:NDCG_DEPTH]
    ideal_gain = sum(grade * discount[i] for i, grade in enumerate(ideal))
    result: list[float] = (found / ideal_gain if ideal_gain else found * 0.0).tolist()
    return result
