"""Learning from judgements and from what is opened, for one index. Nothing of it costs a query anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watersmeet.core.model import Request
from watersmeet.engine.calibration import keeping
from watersmeet.engine.calibration.ballots import ballot, gains
from watersmeet.engine.calibration.belief import SIGNALS, Belief
from watersmeet.engine.calibration.keeping import WHOLE, Kept

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.report import Tell

OPENED = 0.5
"""What an opened document counts for beside a judged query: it was only the best of what was shown."""


@dataclass(slots=True)
class Learnt:
    """What came of some evidence."""

    learnt: int = 0
    known: int = 0
    unusable: list[tuple[str, str]] = field(default_factory=list)


class Calibration:
    """What use has taught of an index, and how it is taught more."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def prior(self) -> dict[str, float]:
        """The weights that the settings give, before any evidence."""
        settings = self._engine.settings
        weights = settings.of("fusion", settings.section("pipeline").fusion).get("weights", {})
        return {name: float(weights.get(name, 1.0)) for name in SIGNALS}

    def judge(self, judgements: Iterable[tuple[str, Mapping[str, float]]], tell: Tell | None = None) -> Learnt:
        """Learn from queries with the documents that answer them, each with its grade."""
        from watersmeet.engine.report import Progress

        asked = list(judgements)
        report = Learnt()
        with keeping.changed(self._engine.folder) as kept:
            for number, (query, relevant) in enumerate(asked, 1):
                self._learn(kept, query, relevant, 1.0, report)
                if tell:
                    tell(Progress("learning", number, len(asked), "judgements"))
            kept.judged += report.learnt
        return report

    def opened(self, document: str, query: str = "") -> bool:
        """A document was opened; if a search led to it, that is evidence. Whether something was learnt."""
        folder = self._engine.folder
        query = query or keeping.searched_for(folder, document) or ""
        if not query:
            return False
        report = Learnt()
        with keeping.changed(folder) as kept:
            self._learn(kept, query, {document: 1.0}, OPENED, report)
            kept.opened += report.learnt
        return bool(report.learnt)

    def _learn(self, kept: Kept, query: str, relevant: Mapping[str, float], weight: float, report: Learnt) -> None:
        wanted = {document: grade for document, grade in relevant.items() if grade > 0}
        if not wanted or not query.strip():
            report.unusable.append((query, "it names no relevant document"))
            return
        if not kept.fresh(query, wanted):
            report.known += 1
            return
        with self._engine.traced(Request(query)) as trace:
            chunks = {hit.chunk for ranking in trace.outcome.rankings for hit in ranking.hits}
            made = ballot(trace.outcome, trace.pipeline.fusion, trace.view.documents_of(chunks))
            collections = trace.view.collections_of(list(wanted))
        if made is None:
            report.unusable.append((query, "fewer than two signals voted"))
            return
        gained = gains(made, wanted)
        for name in {WHOLE, *collections}:
            kept.beliefs[name] = kept.beliefs.get(name, Belief()).learn(gained, weight)
        if any(gained):
            report.learnt += 1
        else:  # it counts all the same: evidence that is never found is none
            report.unusable.append((query, "no signal has what is relevant near its top"))

    def show(self) -> dict[str, Any]:
        """The prior, and for the index and each collection what was learnt and what the weights are now."""
        kept = keeping.load(self._engine.folder)
        prior = self.prior
        return {
            "prior": prior,
            "judged": kept.judged,
            "opened": kept.opened,
            "learning": self._engine.settings.section("calibration").learn,
            "collections": {
                name or "*": {
                    "evidence": round(belief.pieces, 2),
                    "trust": round(belief.trust(prior), 4),
                    "weights": belief.weights(prior),
                }
                for name, belief in sorted(kept.beliefs.items())
            },
        }

    def export(self) -> dict[str, Any]:
        """All that is kept, to be carried elsewhere."""
        return keeping.load(self._engine.folder).to_json()

    def reset(self) -> None:
        """Forget all evidence: the weights are the recipe's again."""
        keeping.forget(self._engine.folder)
