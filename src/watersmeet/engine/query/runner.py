"""The search runner: runs a request over a scope, against one snapshot of the index.

Passages of documents and entities of a registry differ by their scope: the signals, the stages, and the fallback if no
model can be used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from watersmeet.core.errors import Degraded
from watersmeet.core.index import Index, Snapshot
from watersmeet.core.lazy_dataclass import dataclass
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
    """The scope of a search: what can be found, and by which pipeline."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds that may be in the result; empty: all."""
        ...

    def signals(self, settings: Settings) -> tuple[str, ...]:
        """The signals of the settings."""
        ...

    def voting(
        self, mode: str, chosen: tuple[str, ...], coverage: Mapping[str, float], enough: float
    ) -> tuple[str, ...]:
        """The signals to use, from those that the mode allows."""
        ...

    def path(
        self, visible_index: VisibleIndex, settings: Settings, mode: str, signals: tuple[str, ...], plan: Plan
    ) -> Pipeline | TwoStage: ...

    def answered(self, outcome: Outcome, signals: tuple[str, ...]) -> bool:
        """Whether the outcome can be returned; if not, the search falls back to lexical."""
        ...


@dataclass(frozen=True, slots=True)
class Passages:
    """The scope of all documents, with the signals and stages of the recipe."""

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
        """The pipeline, or its two-stage wrapper."""
        pipeline = visible_index.pipeline(settings, signals)
        two_stage: TwoStageSettings = settings.section("two_stage")
        if two_stage.enabled or (two_stage.auto and two_stage.active(visible_index.count)):
            from watersmeet.engine.query.two_stage import TwoStage

            return TwoStage(pipeline, visible_index.snapshot, two_stage)
        return pipeline

    def answered(self, outcome: Outcome, signals: tuple[str, ...]) -> bool:
        return bool(outcome.rankings) or signals == LEXICAL_SIGNALS


PASSAGES = Passages()


class SearchRun(NamedTuple):
    """A search that has run, with its snapshot still open."""

    mode: str
    settings: Settings
    outcome: Outcome
    path: Pipeline | TwoStage
    visible_index: VisibleIndex
    start: float
    silent: Mapping[str, str]
    confidence: Callable[[], Confidence | None]
    """Computes the confidence; call it while the snapshot is open."""

    @property
    def snapshot(self) -> Snapshot:
        return self.visible_index.snapshot

    @property
    def pipeline(self) -> Pipeline:
        return self.path if isinstance(self.path, Pipeline) else self.path.pipeline

    def passages(self, chunks: Collection[ChunkId], viewer: Viewer | None) -> dict[ChunkId, Passage]:
        """Passages of chunks, without what the viewer may not see."""
        found = self.snapshot.passages(chunks)
        return {passage.id: passage for passage in readable(self.visible_index, found.values(), viewer)}

    def page(self, document: DocId, viewer: Viewer | None) -> Page:
        """All passages of a document, in order."""
        record = self.snapshot.record(document)
        levels = record.fields.get(LEVELS) if record else None
        return Page(readable(self.visible_index, self.snapshot.passages_of(document), viewer), levels)

    @property
    def took_ms(self) -> float:
        return (time.perf_counter() - self.start) * 1000


def readable(visible_index: VisibleIndex, passages: Iterable[Passage], viewer: Viewer | None) -> list[Passage]:
    """Passages without what the viewer may not see."""
    if not is_limited(viewer):
        return list(passages)
    from watersmeet.engine.registry.visibility import visible_passages

    return visible_passages(visible_index.snapshot, visible_index.entities, passages, viewer)


@contextmanager
def run(engine: Engine, request: Request, scope: Scope = PASSAGES, explain: bool = True) -> Iterator[SearchRun]:
    """Run a search and keep its snapshot open. `explain`: collect evidence for each hit."""
    start = time.perf_counter()
    settings = engine.settings_for(request.recipe)
    pipeline, index = settings.section("pipeline"), settings.section("index")
    vectors = needs_vectors(request.mode) and index.vectors
    single = request.one_per_document or request.expand == "page"  # several passages of a page would repeat it
    pool = max(pipeline.pool, pipeline.pool_times * request.depth)
    with engine.snapshot() as snapshot:
        plan = Plan(
            text=request.query,
            intent=request.intent,
            condition=search_gates(snapshot, request),
            kinds=scope.kinds,
            top_n=max(request.depth, pool) if single else request.depth,
            explain=explain,
            now=request.now or datetime.now(UTC),
            stop=request.stop,
            pool=pool,
        )
        visible_index = engine.visible_index(snapshot, request.viewer)
        recipe_signals = scope.signals(settings)
        coverage = askable(visible_index.coverage, recipe_signals, settings) if vectors else {}
        abstaining = _abstaining(engine.index, settings, request, coverage)
        voters = {name: share for name, share in coverage.items() if name not in abstaining}
        requested_mode = "lexical" if abstaining and not voters else request.mode
        mode, chosen = choose(requested_mode, recipe_signals, voters, index.min_coverage)
        signals = scope.voting(mode, chosen, voters, index.min_coverage)
        path = scope.path(visible_index, settings, mode, signals, plan)
        outcome = path.run(plan)
        if not scope.answered(outcome, signals):  # fallback: no requested signal could run
            mode, failures = "lexical", outcome.failures
            path = scope.path(visible_index, settings, mode, LEXICAL_SIGNALS, plan)
            outcome = path.run(plan)
            outcome = replace(outcome, failures=tuple(dict.fromkeys((*failures, *outcome.failures))))
        outcome = (
            one_per_document(path, plan, outcome, snapshot, request.depth) if single else widen(path, plan, outcome)
        )
        mode = mode_used(mode, [ranking.by for ranking in outcome.rankings])
        silent = silent_signals(request.mode, recipe_signals, signals, coverage)
        silent |= {name: reason for name, reason in abstaining.items() if name in recipe_signals}
        if request.strict:
            check_strict(outcome.failures, silent, settings, abstaining)
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


def _abstaining(index: Index, settings: Settings, request: Request, coverage: Mapping[str, float]) -> Mapping[str, str]:
    """Vector signals that do not vote because of the language, with the reason; none if one was requested by name."""
    if not coverage or request.mode not in ("", "hybrid"):
        return {}
    from watersmeet.engine.index.languages import abstentions  # not needed by a search for words

    return abstentions(index, settings, request.query, coverage)


def _embed_first(index: Index, outcome: Outcome) -> None:
    """While dense vectors are incomplete: note the retrieved chunks, so that they are embedded first."""
    from watersmeet.engine.index.state_names import EMBED_FIRST
    from watersmeet.engine.sync import embed_first

    embed_first.note(index.state(EMBED_FIRST), [hit.chunk for hit in outcome.ranking.hits])


def outcome_confidence(visible_index: VisibleIndex, snapshot: Snapshot, outcome: Outcome) -> Confidence | None:
    """The confidence of an outcome; None for an empty index."""
    return confidence(confidence_input(visible_index, snapshot, outcome)) if visible_index.words is not None else None


def confidence_input(visible_index: VisibleIndex, snapshot: Snapshot, outcome: Outcome) -> ConfidenceInput:
    """Inputs of the confidence model for an outcome."""
    assert visible_index.words is not None  # noqa: S101 - for the type checker: there was a search
    first = [hit.chunk for hit in outcome.confidence_ranking.hits[:READ]]
    passages = snapshot.passages(first)
    read = [passages[chunk] for chunk in first if chunk in passages]
    names = snapshot.names_of([passage.document for passage in read])
    owners = snapshot.owners_of(candidates(outcome.rankings))
    registry_words = snapshot.words_only([passage.document for passage in read])
    return ConfidenceInput(
        outcome.plan, outcome.rankings, read, names, visible_index.words, owners, visible_index.levels, registry_words
    )


def check_strict(
    failures: Sequence[Failure], silent: Mapping[str, str], settings: Settings, abstaining: Collection[str] = ()
) -> None:
    """Raise for a failed step, and for an unused signal that the settings have a model for."""
    for failure in failures:
        raise Degraded(f"{failure.by} could not run: {failure.reason}", failure.hint)
    for name, reason in silent.items():
        if embedder_name(settings, name):
            words_only = silent.get(TIERS[0]) == ABSENT
            hint = "run `watersmeet deepen` to make the missing vectors" if words_only else MISSING
            if name in abstaining:
                hint = "use --mode lexical, or a model for this language"
            raise Degraded(f"{name} not used: {reason}", hint)
