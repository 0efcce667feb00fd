"""What there is to judge an outcome by, with the index still as the query saw it."""

from __future__ import annotations

from watersmeet.core.index import Snapshot
from watersmeet.engine.confidence import READ, Confidence, Seen, candidates, confidence
from watersmeet.engine.pipeline import Outcome
from watersmeet.engine.sight import Sight


def sure(sight: Sight, view: Snapshot, outcome: Outcome) -> Confidence | None:
    """How sure the outcome is."""
    return confidence(seen(sight, view, outcome)) if sight.words is not None else None


def seen(sight: Sight, view: Snapshot, outcome: Outcome) -> Seen:
    """What there is to judge an outcome by."""
    assert sight.words is not None  # noqa: S101 - for the type checker: there was a search
    first = [hit.chunk for hit in outcome.looked_at.hits[:READ]]
    passages = view.passages(first)
    read = [passages[chunk] for chunk in first if chunk in passages]
    called = view.names_of([passage.document for passage in read])
    owners = view.owners_of(candidates(outcome.rankings))
    known_for = view.words_only([passage.document for passage in read])
    return Seen(outcome.plan, outcome.rankings, read, called, sight.words, owners, sight.levels, known_for)
