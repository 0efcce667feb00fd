"""The one query path: a request over a scope, run against one snapshot of the index.

Passages of documents and entities of a registry differ by their scope: which signals vote, through which stages, and
what answers where no model can.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from watersmeet.core.index import Index, Snapshot
from watersmeet.core.model import ChunkId, DocId, Passage, Plan, Request
from watersmeet.engine.further import further, one_per_document
from watersmeet.engine.modes import WORDS, choose, really, silent_signals, wants_vectors
from watersmeet.engine.pipeline import Outcome, Pipeline
from watersmeet.engine.settings import Settings, TwoStageSettings
from watersmeet.engine.sight import Sight
from watersmeet.engine.strict import strictly
from watersmeet.engine.tiers import askable, embedder_name
from watersmeet.engine.trace import sure
from watersmeet.engine.viewing import gated, limited
from watersmeet.present.expand import Page
from watersmeet.present.whole import LEVELS

if TYPE_CHECKING:
    from watersmeet.core.viewers import Viewer
    from watersmeet.engine.confidence import Confidence
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.twostage import TwoStage


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
        self, sight: Sight, settings: Settings, mode: str, signals: tuple[str, ...], plan: Plan
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
        self, sight: Sight, settings: Settings, mode: str, signals: tuple[str, ...], plan: Plan
    ) -> Pipeline | TwoStage:
        """The pipeline, or the wrapper that looks twice."""
        pipeline = sight.pipeline(settings, signals)
        twice: TwoStageSettings = settings.section("two_stage")
        if twice.enabled or (twice.auto and twice.active(sight.count)):
            from watersmeet.engine.twostage import TwoStage

            return TwoStage(pipeline, sight.view, twice)
        return pipeline

    def answered(self, outcome: Outcome, signals: tuple[str, ...]) -> bool:
        return bool(outcome.rankings) or signals == WORDS


PASSAGES = Passages()


class Trace(NamedTuple):
    """What came of a request, with the index still as the query saw it."""

    mode: str
    settings: Settings
    outcome: Outcome
    path: Pipeline | TwoStage
    sight: Sight
    start: float
    silent: Mapping[str, str]
    sure: Callable[[], Confidence | None]
    """How sure it is; asked for while the index is still as the query saw it."""

    @property
    def view(self) -> Snapshot:
        return self.sight.view

    @property
    def pipeline(self) -> Pipeline:
        return self.path if isinstance(self.path, Pipeline) else self.path.pipeline

    def passages(self, chunks: Collection[ChunkId], viewer: Viewer | None) -> dict[ChunkId, Passage]:
        """The passages of chunks, as far as the viewer may read them."""
        found = self.view.passages(chunks)
        return {passage.id: passage for passage in readable(self.sight, found.values(), viewer)}

    def page(self, document: DocId, viewer: Viewer | None) -> Page:
        """All of a document, in its order."""
        record = self.view.record(document)
        levels = record.fields.get(LEVELS) if record else None
        return Page(readable(self.sight, self.view.passages_of(document), viewer), levels)

    @property
    def took_ms(self) -> float:
        return (time.perf_counter() - self.start) * 1000


def readable(sight: Sight, passages: Iterable[Passage], viewer: Viewer | None) -> list[Passage]:
    """Passages without what their viewer may not see of them."""
    if not limited(viewer):
        return list(passages)
    from watersmeet.engine.registry.visibility import visible_passages

    return visible_passages(sight.view, sight.entities, passages, viewer)


@contextmanager
def run(engine: Engine, request: Request, scope: Scope = PASSAGES, told: bool = True) -> Iterator[Trace]:
    """`told`: someone may ask why a hit is where it is."""
    start = time.perf_counter()
    settings = engine.settings_for(request.recipe)
    pipeline, index = settings.section("pipeline"), settings.section("index")
    vectors = wants_vectors(request.mode) and index.vectors
    alone = request.one_per_document or request.expand == "page"  # several passages of a page would show it again
    pool = max(pipeline.pool, pipeline.pool_times * request.top_n)
    with engine.snapshot() as view:
        plan = Plan(
            text=request.query,
            intent=request.intent,
            condition=gated(view, request),
            kinds=scope.kinds,
            top_n=max(request.top_n, pool) if alone else request.top_n,
            told=told,
            now=request.now or datetime.now(UTC),
            stop=request.stop,
            pool=pool,
        )
        sight = engine.sight(view, request.viewer)
        wanted = scope.signals(settings)
        coverage = askable(sight.coverage, wanted, settings) if vectors else {}
        mode, chosen = choose(request.mode, wanted, coverage, index.take_part)
        signals = scope.voting(mode, chosen, coverage, index.take_part)
        path = scope.path(sight, settings, mode, signals, plan)
        outcome = path.run(plan)
        if not scope.answered(outcome, signals):  # nothing of what was asked for could run: the words can
            mode, failures = "lexical", outcome.failures
            path = scope.path(sight, settings, mode, WORDS, plan)
            outcome = path.run(plan)
            outcome = replace(outcome, failures=tuple(dict.fromkeys((*failures, *outcome.failures))))
        outcome = one_per_document(path, plan, outcome, view, request.top_n) if alone else further(path, plan, outcome)
        mode = really(mode, [ranking.by for ranking in outcome.rankings])
        silent = silent_signals(request.mode, wanted, signals, coverage)
        if request.strict:
            strictly(outcome.failures, silent, settings)
        if vectors and embedder_name(settings, "dense") and coverage.get("dense", 0.0) < 1:
            _embed_first(engine.index, outcome)
        yield Trace(mode, settings, outcome, path, sight, start, silent, lambda: sure(sight, view, outcome))


def _embed_first(index: Index, outcome: Outcome) -> None:
    """While the deep model has not seen everything: what was retrieved is embedded first."""
    from watersmeet.engine import embed_first
    from watersmeet.engine.named_state import EMBED_FIRST

    embed_first.note(index.state(EMBED_FIRST), [hit.chunk for hit in outcome.ranking.hits])
