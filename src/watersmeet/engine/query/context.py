"""What there is to judge an outcome by, with the index still as the query saw it."""

from __future__ import annotations

from watersmeet.core.index import Snapshot
from watersmeet.engine.query.confidence import READ, Confidence, ConfidenceInput, candidates, confidence
from watersmeet.engine.query.pipeline import Outcome
from watersmeet.engine.query.visible_index import VisibleIndex


def outcome_confidence(sight: VisibleIndex, view: Snapshot, outcome: Outcome) -> Confidence | None:
    """How sure the outcome is."""
    return confidence(confidence_input(sight, view, outcome)) if sight.words is not None else None


def confidence_input(sight: VisibleIndex, view: Snapshot, outcome: Outcome) -> ConfidenceInput:
    """What there is to judge an outcome by."""
    assert sight.words is not None  # noqa: S101 - for the type checker: there was a search
    first = [hit.chunk for hit in outcome.confidence_ranking.hits[:READ]]
    passages = view.passages(first)
    read = [passages[chunk] for chunk in first if chunk in passages]
    called = view.names_of([passage.document for passage in read])
    owners = view.owners_of(candidates(outcome.rankings))
    known_for = view.words_only([passage.document for passage in read])
    return ConfidenceInput(outcome.plan, outcome.rankings, read, called, sight.words, owners, sight.levels, known_for)
