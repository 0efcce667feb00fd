"""The one query path: a request over a scope, run against one snapshot of the index.

Passages of documents and entities of a registry differ by their scope: which signals vote, through which stages, and
what answers where no model can.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from watersmeet.core.errors import Degraded
from watersmeet.core.index import Index, Snapshot
from watersmeet.core.model import ChunkId, DocId, Failure, Passage, Plan, Request
from watersmeet.engine.index.tiers import MISSING, TIERS, askable, embedder_name
from watersmeet.engine.query.confidence import READ, Confidence, ConfidenceInput, candidates, confidence
from watersmeet.engine.query.modes import ABSENT, LEXICAL_SIGNALS, choose, mode_used, needs_vectors, silent_signals
from watersmeet.engine.query.pipeline import Outcome, Pipeline
from watersmeet.engine.query.visibility import is_limited, search_gates
from watersmeet.engine.query.visible_index import VisibleIndex
from watersmeet.engine.query.widen import one_per_document, widen
from watersmeet.engine.settings.settings import Settings, TwoStageSettings
from watersmeet.present.expand import Page
from watersmeet.present.reassemble import LEVELS

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.query.two_stage import TwoStage


class Scope(Protocol):
    """What is searched, and what differs with that."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that may be in the result; empty: all."""
        ...

    def signals(self, settings: Settings) -> tuple[str, ...]:
        """Those that the settings name."""
        ...

    def voting(
        self, mode: str, chosen: tuple[str, ...], coverage: Mapping[str, float], enough: float
    ) -> tuple[str, ...]:
        """Of those that the mode lets vote, the ones that do."""
        ...

    def path(
        self, visible_index: VisibleIndex, settings: Settings, mode: str, signals: tuple[str, ...], plan: Plan
    ) -> Pipeline | TwoStage: ...

    def answered(self, outcome: Outcome, signals: tuple[str, ...]) -> bool:
        """Whether the outcome stands; if not, the words answer."""
        ...


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of all documents: the recipe's signals and stages as they stand."""

    kinds: tuple[str, ...] = ()

    def signals(self, settings: Settings) -> tuple[str, ...]:
        return tuple(settings.section("pipeline").signals)

    def voting(
        self, mode: str, chosen: tuple[str, ...], coverage: Mapping[str, float], enough: float
    ) -> tuple[str, ...]:
        return chosen

    def path(
        self, visible_index: VisibleIndex, settings: Settings, mode: str, signals: tuple[str, ...], plan: Plan
    ) -> Pipeline | TwoStage:
        """The pipeline, or the wrapper that looks twice."""
        pipeline = visible_index.pipeline(settings, signals)
        twice: TwoStageSettings = settings.section("two_stage")
        if twice.enabled or (twice.auto and twice.active(visible_index.count)):
            from watersmeet.engine.query.two_stage import TwoStage

            return TwoStage(pipeline, visible_index.snapshot, twice)
        return pipeline

    def answered(self, outcome: Outcome, signals: tuple[str, ...]) -> bool:
        return bool(outcome.rankings) or signals == LEXICAL_SIGNALS


PASSAGES = Passages()


class SearchRun(NamedTuple):
    """What came of a request, with the index still as the query saw it."""

    mode: str
    settings: Settings
    outcome: Outcome
    path: Pipeline | TwoStage
    visible_index: VisibleIndex
    start: float
    silent: Mapping[str, str]
    confidence: Callable[[], Confidence | None]
    """How sure it is; asked for while the index is still as the query saw it."""

    @property
    def snapshot(self) -> Snapshot:
        return self.visible_index.snapshot

    @property
    def pipeline(self) -> Pipeline:
        return self.path if isinstance(self.path, Pipeline) else self.path.pipeline

    def passages(self, chunks: Collection[ChunkId], viewer: Viewer | None) -> dict[ChunkId, Passage]:
        """The passages of chunks, as far as the viewer may read them."""
        found = self.snapshot.passages(chunks)
        return {passage.id: passage for passage in readable(self.visible_index, found.values(), viewer)}

    def page(self, document: DocId, viewer: Viewer | None) -> Page:
        """All of a document, in its order."""
        record = self.snapshot.record(document)
        levels = record.fields.get(LEVELS) if record else None
        return Page(readable(self.visible_index, self.snapshot.passages_of(document), viewer), levels)

    @property
    def took_ms(self) -> float:
        return (time.perf_counter() - self.start) * 1000


def readable(visible_index: VisibleIndex, passages: Iterable[Passage], viewer: Viewer | None) -> list[Passage]:
    """Passages without what their viewer may not see of them."""
    if not is_limited(viewer):
        return list(passages)
    from watersmeet.engine.registry.visibility import visible_passages

    return visible_passages(visible_index.snapshot, visible_index.entities, passages, viewer)


@contextmanager
def run(engine: Engine, request: Request, scope: Scope = PASSAGES, explain: bool = True) -> Iterator[SearchRun]:
    """`told`: someone may ask why a hit is where it is."""
    start = time.perf_counter()
    settings = engine.settings_for(request.recipe)
    pipeline, index = settings.section("pipeline"), settings.section("index")
    vectors = needs_vectors(request.mode) and index.vectors
    alone = request.one_per_document or request.expand == "page"  # several passages of a page would show it again
    pool = max(pipeline.pool, pipeline.pool_times * request.top_n)
    with engine.snapshot() as snapshot:
        plan = Plan(
            text=request.query,
            intent=request.intent,
            condition=search_gates(snapshot, request),
            kinds=scope.kinds,
            top_n=max(request.top_n, pool) if alone else request.top_n,
            explain=explain,
            now=request.now or datetime.now(UTC),
            stop=request.stop,
            pool=pool,
        )
        visible_index = engine.visible_index(snapshot, request.viewer)
        wanted = scope.signals(settings)
        coverage = askable(visible_index.coverage, wanted, settings) if vectors else {}
        mode, chosen = choose(request.mode, wanted, coverage, index.min_coverage)
        signals = scope.voting(mode, chosen, coverage, index.min_coverage)
        path = scope.path(visible_index, settings, mode, signals, plan)
        outcome = path.run(plan)
        if not scope.answered(outcome, signals):  # nothing of what was asked for could run: the words can
            mode, failures = "lexical", outcome.failures
            path = scope.path(visible_index, settings, mode, LEXICAL_SIGNALS, plan)
            outcome = path.run(plan)
            outcome = replace(outcome, failures=tuple(dict.fromkeys((*failures, *outcome.failures))))
        outcome = (
            one_per_document(path, plan, outcome, snapshot, request.top_n) if alone else widen(path, plan, outcome)
        )
        mode = mode_used(mode, [ranking.by for ranking in outcome.rankings])
        silent = silent_signals(request.mode, wanted, signals, coverage)
        if request.strict:
            check_strict(outcome.failures, silent, settings)
        if vectors and embedder_name(settings, "dense") and coverage.get("dense", 0.0) < 1:
            _embed_first(engine.index, outcome)
        yield SearchRun(
            mode,
            settings,
            outcome,
            path,
            visible_index,
            start,
            silent,
            lambda: outcome_confidence(visible_index, snapshot, outcome),
        )


def _embed_first(index: Index, outcome: Outcome) -> None:
    """While the deep model has not seen everything: what was retrieved is embedded first."""
    from watersmeet.engine.index.state_names import EMBED_FIRST
    from watersmeet.engine.sync import embed_first

    embed_first.note(index.state(EMBED_FIRST), [hit.chunk for hit in outcome.ranking.hits])


def outcome_confidence(visible_index: VisibleIndex, snapshot: Snapshot, outcome: Outcome) -> Confidence | None:
    """How sure the outcome is."""
    return confidence(confidence_input(visible_index, snapshot, outcome)) if visible_index.words is not None else None


def confidence_input(visible_index: VisibleIndex, snapshot: Snapshot, outcome: Outcome) -> ConfidenceInput:
    """What there is to judge an outcome by."""
    assert visible_index.words is not None  # noqa: S101 - for the type checker: there was a search
    first = [hit.chunk for hit in outcome.confidence_ranking.hits[:READ]]
    passages = snapshot.passages(first)
    read = [passages[chunk] for chunk in first if chunk in passages]
    called = snapshot.names_of([passage.document for passage in read])
    owners = snapshot.owners_of(candidates(outcome.rankings))
    known_for = snapshot.words_only([passage.document for passage in read])
    return ConfidenceInput(
        outcome.plan, outcome.rankings, read, called, visible_index.words, owners, visible_index.levels, known_for
    )


def check_strict(failures: Sequence[Failure], silent: Mapping[str, str], settings: Settings) -> None:
    """Complains of a step that failed, and of a signal whose vectors are missing though the settings have a model."""
    for failure in failures:
        raise Degraded(f"{failure.by} could not run: {failure.reason}", failure.hint)
    for name, reason in silent.items():
        if embedder_name(settings, name):
            words_only = silent.get(TIERS[0]) == ABSENT
            hint = "`watersmeet deepen` makes the vectors that are missing" if words_only else MISSING
            raise Degraded(f"{name} does not vote: {reason}", hint)
