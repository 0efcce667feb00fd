"""A query on its way: what came of it, with the index still as it saw it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from watersmeet.core.ports import Words
from watersmeet.engine.confidence import READ, Confidence, Seen, candidates, confidence
from watersmeet.engine.pipeline import Outcome, Pipeline
from watersmeet.engine.session import Session
from watersmeet.engine.settings import Settings, TwoStageSettings
from watersmeet.store.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.engine.twostage import TwoStage


class Trace(NamedTuple):
    mode: str
    recipe: str
    outcome: Outcome
    path: Pipeline | TwoStage
    view: SqliteView
    start: float
    silent: Mapping[str, str]
    sure: Callable[[], Confidence | None]
    """How sure it is; asked for while the index is still as the query saw it."""

    @property
    def pipeline(self) -> Pipeline:
        return self.path if isinstance(self.path, Pipeline) else self.path.pipeline


def path_for(session: Session, settings: Settings, signals: tuple[str, ...], view: SqliteView) -> Pipeline | TwoStage:
    """The pipeline, or the wrapper that looks twice."""
    pipeline = session.pipeline(settings, signals)
    twice: TwoStageSettings = settings.section("two_stage")
    if twice.enabled or (twice.auto and twice.active(view.count())):
        from watersmeet.engine.twostage import TwoStage

        return TwoStage(pipeline, view, twice)
    return pipeline


def sure(session: Session, view: SqliteView, outcome: Outcome) -> Confidence | None:
    """How sure the outcome is."""
    words = session.words
    if words is None:
        return None
    return confidence(seen(session, view, words, outcome))


def seen(session: Session, view: SqliteView, words: Words, outcome: Outcome) -> Seen:
    """What there is to judge an outcome by."""
    first = [hit.chunk for hit in outcome.looked_at.hits[:READ]]
    passages = view.passages(first)
    read = [passages[chunk] for chunk in first if chunk in passages]
    called = view.called([passage.document for passage in read])
    owners = view.owners_of(candidates(outcome.rankings))
    return Seen(outcome.plan, outcome.rankings, read, called, words, owners, session.levels())
