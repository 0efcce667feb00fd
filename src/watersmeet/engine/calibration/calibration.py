"""Learning of fusion weights from judgements and opened results, for one index. It does not slow down queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.errors import IndexProblem
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId, Request
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.calibration import state
from watersmeet.engine.calibration.learned_weights import prior_of
from watersmeet.engine.calibration.opened_results import add_opened, read_opened
from watersmeet.engine.calibration.posterior import Posterior
from watersmeet.engine.calibration.recent_searches import prune, query_for
from watersmeet.engine.calibration.score_matrix import gains, score_matrix
from watersmeet.engine.calibration.state import WHOLE, CalibrationState
from watersmeet.engine.index.state_names import CALIBRATION, OPENED_RESULTS, RECENT_SEARCHES
from watersmeet.engine.query.visibility import hidden_collections, is_limited, visible_to

if TYPE_CHECKING:
    from watersmeet.core.index import State
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.report import ProgressCallback

BATCH = 50
"""Judgements evaluated before the state is written."""
OPENED = 0.5
"""Weight of an opened document relative to a judged query: it was only the best of those shown."""


@dataclass(slots=True)
class Lesson:
    """The report of a learning step."""

    learnt: int = 0
    known: int = 0
    unusable: list[tuple[str, str]] = field(default_factory=list)


class _Evidence(NamedTuple):
    query: str
    relevant: Mapping[str, float]
    gains: list[float]
    collections: set[str]


class Calibration:
    """The learned weights of an index, and learning."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def _calibration_state(self) -> State:
        return self._engine.index.state(CALIBRATION)

    @property
    def _recent_searches(self) -> State:
        return self._engine.index.state(RECENT_SEARCHES)

    @property
    def _opened_results(self) -> State:
        return self._engine.index.state(OPENED_RESULTS)

    @property
    def prior(self) -> dict[str, float]:
        """Weights of the settings, without evidence."""
        return prior_of(self._engine.settings)

    def judge(
        self, judgements: Iterable[tuple[str, Mapping[str, float]]], progress: ProgressCallback | None = None
    ) -> Lesson:
        """Learn from judged queries: each with relevant documents and their grades."""
        from watersmeet.engine.sync.report import Progress

        listed = list(judgements)
        report = Lesson()
        for start in range(0, len(listed), BATCH):
            batch = listed[start : start + BATCH]
            report.learnt += self._learn(batch, report)
            if progress:
                progress(Progress("learning", start + len(batch), len(listed), "judgements"))
        return report

    def opened(self, document: str, query: str = "") -> bool:
        """Learn from an opened document that a recent search has shown; returns whether something was learned.

        False also if the index cannot be written: opening a document must not fail."""
        query = query or query_for(self._recent_searches, document) or ""
        with suppress(IndexProblem):
            learnt = bool(query) and bool(self._learn([(query, {document: 1.0})], Lesson(), opened=True))
            if learnt and self._engine.settings.section("calibration").keep_opened:
                add_opened(self._opened_results, query, document)
            return learnt
        return False

    def opened_results(self) -> list[tuple[str, str]]:
        """Stored pairs of a query and a document opened after it, oldest first."""
        return read_opened(self._opened_results)

    def _learn(
        self, judgements: Sequence[tuple[str, Mapping[str, float]]], report: Lesson, opened: bool = False
    ) -> int:
        """Compute the evidence without a lock, then store what is new."""
        stored = state.load(self._calibration_state)
        found = [one for query, relevant in judgements if (one := self._evidence(query, relevant, stored, report))]
        if not found:
            return 0
        with state.changing(self._calibration_state) as kept:
            fresh = [one for one in found if kept.fresh(one.query, one.relevant)]
            report.known += len(found) - len(fresh)
            for one in fresh:
                for name in {WHOLE, *one.collections}:
                    kept.beliefs[name] = kept.beliefs.get(name, Posterior()).learn(one.gains, OPENED if opened else 1.0)
            useful = sum(any(one.gains) for one in fresh)
            if opened:
                kept.opened += useful
            else:
                kept.judged += useful
        return useful

    def _evidence(
        self, query: str, relevant: Mapping[str, float], stored: CalibrationState, report: Lesson
    ) -> _Evidence | None:
        """nDCG of a judgement at each point of the grid; None, with the reason in the report, if it is unusable."""
        graded = {document: grade for document, grade in relevant.items() if grade > 0}
        if not graded or not query.strip() or not all(map(math.isfinite, graded.values())):
            report.unusable.append((query, "it names no relevant document with a grade"))
            return None
        if stored.has(query, graded):
            report.known += 1
            return None
        with self._engine.open_search(
            Request(query, viewer=EVERYONE)
        ) as search_run:  # weights are shared by all viewers, so learn from public documents only
            chunks = {hit.chunk for ranking in search_run.outcome.rankings for hit in ranking.hits}
            made = score_matrix(
                search_run.outcome, search_run.pipeline.fusion, search_run.snapshot.documents_of(chunks)
            )
            public = search_run.snapshot.only([DocId(document) for document in graded], visible_to(EVERYONE))
            collections = search_run.snapshot.collections_of(list(public))
        if not collections:
            report.unusable.append((query, "the index has no such public document"))
            return None
        graded = {document: grade for document, grade in graded.items() if document in public}
        if made is None:
            report.unusable.append((query, "fewer than two signals have hits"))
            return None
        found = gains(made, graded)
        if not any(found):  # stored all the same: it lowers the trust
            report.unusable.append((query, "no signal ranks a relevant document near the top"))
        return _Evidence(query, graded, found, collections)

    def show(self) -> dict[str, Any]:
        """The prior, and the evidence and weights of the index and of each collection."""
        learning = self._engine.settings.section("calibration").learn
        prune(self._recent_searches, learning)
        kept = state.load(self._calibration_state)
        prior = self.prior
        return {
            "prior": prior,
            "judged": kept.judged,
            "opened": kept.opened,
            "learning": learning,
            "collections": {
                name or "*": {
                    "evidence": round(belief.pieces, 2),
                    "trust": round(belief.trust(prior), 4),
                    "weights": belief.weights(prior),
                }
                for name, belief in sorted(kept.beliefs.items())
            },
        }

    def state(self, viewer: Viewer | None = None) -> dict[str, Any]:
        """As `show`, of the collections that a viewer may see, with the problem if the state cannot be read."""
        try:
            found = self.show()
            if is_limited(viewer):
                with self._engine.snapshot() as snapshot:
                    hidden = hidden_collections(snapshot, viewer)
                found["collections"] = {name: one for name, one in found["collections"].items() if name not in hidden}
            return found
        except IndexProblem as problem:
            return {"prior": self.prior, "problem": str(problem), "collections": {}}

    def export(self) -> dict[str, Any]:
        """The stored state, for another index."""
        return state.load(self._calibration_state).to_json()

    def reset(self) -> None:
        """Delete all evidence; the weights are those of the recipe again."""
        state.forget(self._calibration_state, self._recent_searches, self._opened_results)
