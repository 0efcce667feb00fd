"""Learning from judgements and from what is opened, for one index. Nothing of it costs a query anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.errors import IndexProblem
from watersmeet.core.model import DocId, Request
from watersmeet.core.viewers import EVERYONE
from watersmeet.engine.calibration import keeping
from watersmeet.engine.calibration.ballots import ballot, gains
from watersmeet.engine.calibration.belief import Belief
from watersmeet.engine.calibration.keeping import WHOLE, Kept
from watersmeet.engine.calibration.searched import searched_for, tidy
from watersmeet.engine.calibration.taught import prior_of
from watersmeet.engine.named_state import CALIBRATION, RECENT_SEARCHES
from watersmeet.engine.viewing import seen

if TYPE_CHECKING:
    from watersmeet.core.index import State
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.report import Tell

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

    def judge(self, judgements: Iterable[tuple[str, Mapping[str, float]]], tell: Tell | None = None) -> Lesson:
        """Learn from queries with the documents that answer them, each with its grade."""
        from watersmeet.engine.report import Progress

        asked = list(judgements)
        report = Lesson()
        for start in range(0, len(asked), BATCH):
            batch = asked[start : start + BATCH]
            report.learnt += self._learn(batch, report)
            if tell:
                tell(Progress("learning", start + len(batch), len(asked), "judgements"))
        return report

    def opened(self, document: str, query: str = "") -> bool:
        """A document was opened; if a search led to it, that is evidence. Whether something was learnt: nothing where
        nothing can be written, for whoever opens a document wants to read it."""
        query = query or searched_for(self._searched, document) or ""
        with suppress(IndexProblem):
            return bool(query) and bool(self._learn([(query, {document: 1.0})], Lesson(), opened=True))
        return False

    def _learn(self, asked: Sequence[tuple[str, Mapping[str, float]]], report: Lesson, opened: bool = False) -> int:
        """Look first, without keeping anyone waiting; then write down what is news."""
        known = keeping.load(self._kept)
        found = [one for query, relevant in asked if (one := self._evidence(query, relevant, known, report))]
        if not found:
            return 0
        with keeping.changed(self._kept) as kept:
            fresh = [one for one in found if kept.fresh(one.query, one.relevant)]
            report.known += len(found) - len(fresh)
            for one in fresh:
                for name in {WHOLE, *one.collections}:
                    kept.beliefs[name] = kept.beliefs.get(name, Belief()).learn(one.gains, OPENED if opened else 1.0)
            useful = sum(any(one.gains) for one in fresh)
            if opened:
                kept.opened += useful
            else:
                kept.judged += useful
        return useful

    def _evidence(self, query: str, relevant: Mapping[str, float], known: Kept, report: Lesson) -> _Evidence | None:
        """What a judgement says of every point of the grid; None, and said why, if it says nothing."""
        wanted = {document: grade for document, grade in relevant.items() if grade > 0}
        if not wanted or not query.strip() or not all(map(math.isfinite, wanted.values())):
            report.unusable.append((query, "it names no relevant document with a grade"))
            return None
        if known.has(query, wanted):
            report.known += 1
            return None
        with self._engine.traced(Request(query, viewer=EVERYONE)) as trace:  # weights are everyone's
            chunks = {hit.chunk for ranking in trace.outcome.rankings for hit in ranking.hits}
            made = ballot(trace.outcome, trace.pipeline.fusion, trace.view.documents_of(chunks))
            public = trace.view.only([DocId(document) for document in wanted], seen(EVERYONE))
            collections = trace.view.collections_of(list(public))
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
        tidy(self._searched, learning)
        kept = keeping.load(self._kept)
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
        return keeping.load(self._kept).to_json()

    def reset(self) -> None:
        """Forget all evidence: the weights are the recipe's again."""
        keeping.forget(self._kept, self._searched)
