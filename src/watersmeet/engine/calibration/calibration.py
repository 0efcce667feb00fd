"""Learning from judgements and from what is opened, for one index. Nothing of it costs a query anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.errors import IndexProblem
from watersmeet.core.model import DocId, Request
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.calibration import state
from watersmeet.engine.calibration.learned_weights import prior_of
from watersmeet.engine.calibration.posterior import Posterior
from watersmeet.engine.calibration.recent_searches import prune, query_for
from watersmeet.engine.calibration.score_matrix import gains, score_matrix
from watersmeet.engine.calibration.state import WHOLE, CalibrationState
from watersmeet.engine.index.state_names import CALIBRATION, RECENT_SEARCHES
from watersmeet.engine.query.visibility import visible_to

if TYPE_CHECKING:
    from watersmeet.core.index import State
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.report import ProgressCallback

BATCH = 50
"""So many judgements are looked at before what they say is written down."""
OPENED = 0.5
"""What an opened document counts for beside a judged query: it was only the best of what was shown."""


@dataclass(slots=True)
class Lesson:
    """What came of some evidence."""

    learnt: int = 0
    known: int = 0
    unusable: list[tuple[str, str]] = field(default_factory=list)


class _Evidence(NamedTuple):
    query: str
    relevant: Mapping[str, float]
    gains: list[float]
    collections: set[str]


class Calibration:
    """What use has taught of an index, and how it is taught more."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def _kept(self) -> State:
        return self._engine.index.state(CALIBRATION)

    @property
    def _searched(self) -> State:
        return self._engine.index.state(RECENT_SEARCHES)

    @property
    def prior(self) -> dict[str, float]:
        """The weights that the settings give, before any evidence."""
        return prior_of(self._engine.settings)

    def judge(
        self, judgements: Iterable[tuple[str, Mapping[str, float]]], progress: ProgressCallback | None = None
    ) -> Lesson:
        """Learn from queries with the documents that answer them, each with its grade."""
        from watersmeet.engine.sync.report import Progress

        asked = list(judgements)
        report = Lesson()
        for start in range(0, len(asked), BATCH):
            batch = asked[start : start + BATCH]
            report.learnt += self._learn(batch, report)
            if progress:
                progress(Progress("learning", start + len(batch), len(asked), "judgements"))
        return report

    def opened(self, document: str, query: str = "") -> bool:
        """A document was opened; if a search led to it, that is evidence. Whether something was learnt: nothing where
        nothing can be written, for whoever opens a document wants to read it."""
        query = query or query_for(self._searched, document) or ""
        with suppress(IndexProblem):
            return bool(query) and bool(self._learn([(query, {document: 1.0})], Lesson(), opened=True))
        return False

    def _learn(self, asked: Sequence[tuple[str, Mapping[str, float]]], report: Lesson, opened: bool = False) -> int:
        """Look first, without keeping anyone waiting; then write down what is news."""
        known = state.load(self._kept)
        found = [one for query, relevant in asked if (one := self._evidence(query, relevant, known, report))]
        if not found:
            return 0
        with state.changing(self._kept) as kept:
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
        self, query: str, relevant: Mapping[str, float], known: CalibrationState, report: Lesson
    ) -> _Evidence | None:
        """What a judgement says of every point of the grid; None, and said why, if it says nothing."""
        wanted = {document: grade for document, grade in relevant.items() if grade > 0}
        if not wanted or not query.strip() or not all(map(math.isfinite, wanted.values())):
            report.unusable.append((query, "it names no relevant document with a grade"))
            return None
        if known.has(query, wanted):
            report.known += 1
            return None
        with self._engine.open_search(Request(query, viewer=EVERYONE)) as search_run:  # weights are everyone's
            chunks = {hit.chunk for ranking in search_run.outcome.rankings for hit in ranking.hits}
            made = score_matrix(
                search_run.outcome, search_run.pipeline.fusion, search_run.snapshot.documents_of(chunks)
            )
            public = search_run.snapshot.only([DocId(document) for document in wanted], visible_to(EVERYONE))
            collections = search_run.snapshot.collections_of(list(public))
        if not collections:
            report.unusable.append((query, "the index has no such document, or not for everyone"))
            return None
        wanted = {document: grade for document, grade in wanted.items() if document in public}
        if made is None:
            report.unusable.append((query, "fewer than two signals voted"))
            return None
        found = gains(made, wanted)
        if not any(found):  # it counts all the same: evidence that is never found is none
            report.unusable.append((query, "no signal has what is relevant near its top"))
        return _Evidence(query, wanted, found, collections)

    def show(self) -> dict[str, Any]:
        """The prior, and for the index and each collection what was learnt and what the weights are now."""
        learning = self._engine.settings.section("calibration").learn
        prune(self._searched, learning)
        kept = state.load(self._kept)
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

    def state(self) -> dict[str, Any]:
        """The same, and where it cannot be read, why: whoever asks how things are should hear of it."""
        try:
            return self.show()
        except IndexProblem as problem:
            return {"prior": self.prior, "problem": str(problem), "collections": {}}

    def export(self) -> dict[str, Any]:
        """All that is kept, to be carried elsewhere."""
        return state.load(self._kept).to_json()

    def reset(self) -> None:
        """Forget all evidence: the weights are the recipe's again."""
        state.forget(self._kept, self._searched)
