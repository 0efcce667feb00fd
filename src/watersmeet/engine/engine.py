"""`Engine` is the whole public Python API: every face calls it and holds no policy of its own."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from watersmeet.core.errors import ConfigError, IndexBusy, ModelProblem, NoIndex, WatersmeetError
from watersmeet.core.model import Answer, DocId, Passage, Plan, Request
from watersmeet.engine import settings as settings_of
from watersmeet.engine.asked import asked_for
from watersmeet.engine.calibration.searched import note_search, tidy
from watersmeet.engine.diagnostics import note
from watersmeet.engine.further import further
from watersmeet.engine.modes import WORDS, choose, really, silent_signals, wants_vectors
from watersmeet.engine.pipeline import Outcome
from watersmeet.engine.session import Session
from watersmeet.engine.settings import Settings
from watersmeet.engine.strict import strictly
from watersmeet.engine.threads import Threads
from watersmeet.engine.tiers import TIERS, embedder_name, quick, tiers_of
from watersmeet.engine.trace import Trace, path_for, sure
from watersmeet.engine.viewing import gated, seen
from watersmeet.present import answer as present
from watersmeet.store.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.core.viewers import Viewer
    from watersmeet.engine.calibration.calibration import Calibration
    from watersmeet.engine.classified import Classified
    from watersmeet.engine.health import Check
    from watersmeet.engine.registry import Registry
    from watersmeet.engine.report import SyncReport, Tell
    from watersmeet.engine.trials import Trial
    from watersmeet.engine.whynot import WhyNot

IDLE = 60.0
"""Seconds that a reader stays open when nobody needs it."""


class Engine:
    """An index and what can be asked of it. Opening one is cheap; it may be shared by threads."""

    def __init__(self, index: str | os.PathLike[str], settings: Settings | None = None) -> None:
        self.folder = os.fspath(index)
        self.settings = settings or settings_of.load()
        self._recipes = {self.settings.recipe: self.settings}
        self._threads = Threads(most=8)
        self._idle: list[Session] = []
        self._closed = False
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._closed = True
        self._threads.close()
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _session(self) -> Iterator[Session]:
        if self._closed:
            raise ConfigError("this Engine is closed", "ask before its `with` block ends, or open another")
        with self._lock:
            session = self._idle.pop() if self._idle else None
        if session is not None and not session.current():
            session.close()
            session = None
        session = session or Session(self.folder, self._threads)
        if not self._learning:
            tidy(self.folder, learn=False)
        try:
            yield session
        finally:
            session.used = now = time.monotonic()
            with self._lock:
                self._idle.append(session)
                old = self._idle.pop(0) if self._idle[0].used < now - IDLE else None
            if old is not None:  # the last used is used next: after many at once, most would keep an old state for ever
                old.close()

    @property
    def _learning(self) -> bool:
        return bool(self.settings.section("calibration").learn)

    # ------------------------------------------------------------ writing

    def sync(
        self,
        paths: Sequence[str | os.PathLike[str]] = (),
        *,
        collection: str = "",
        meta: Mapping[str, str] | None = None,
        recreate: bool = False,
        deepen: bool = True,
        tell: Tell | None = None,
    ) -> SyncReport:
        """Make the index say what these folders and files say, or all that it knows of if none is named.

        Words and quick vectors first, then deep ones. `recreate`: read everything again, into new stores."""
        from watersmeet.engine.roots import sync

        tell = tell or (lambda _: None)
        start = time.perf_counter()
        report = sync(self.folder, self.settings, paths, collection, meta or {}, recreate, tell)
        self._embed(TIERS if deepen else quick(self.settings), report, tell)
        tidy(self.folder, self._learning)
        report.took_ms = (time.perf_counter() - start) * 1000
        return report

    def deepen(
        self,
        tell: Tell | None = None,
        seconds: float = math.inf,
        deep: bool = True,
        after: int = 0,
        strict: bool = False,
    ) -> SyncReport:
        """Embed what no model has seen yet, for so long at most; the report says how much that was.

        Without `deep` the quick vectors only; only rows behind `after`. If it is `strict` and nothing can be embedded
        for want of a model, or since another process is at it, that is an error and not just a warning."""
        from watersmeet.engine.report import SyncReport

        report, start = SyncReport(), time.perf_counter()
        tiers = TIERS if deep else quick(self.settings)
        problems = self._embed(tiers, report, tell or (lambda _: None), seconds, after)
        if strict and problems and not report.embedded and not report.cached:
            raise problems[0]
        report.took_ms = (time.perf_counter() - start) * 1000
        return report

    def _embed(
        self, tiers: Sequence[str], report: SyncReport, tell: Tell, seconds: float = math.inf, after: int = 0
    ) -> list[WatersmeetError]:
        """A model that cannot be had is a warning: the words are indexed all the same."""
        from watersmeet.core.indexing import Skipped
        from watersmeet.engine.deepen import Deepened, deepen
        from watersmeet.engine.vocabulary import refresh
        from watersmeet.store.vocabulary import FILE

        problems: list[WatersmeetError] = []
        if not self.settings.section("index").vectors:
            return problems
        done = Deepened()
        for tier in tiers:
            try:
                deepen(self.folder, self.settings, tier, tell, done, seconds, after)
                if tier == TIERS[0]:
                    refresh(self.folder, self.settings)
            except (ModelProblem, IndexBusy) as problem:
                problems.append(problem)
                without = f"no {tier} vectors: " if isinstance(problem, ModelProblem) else ""
                report.warnings.append(Skipped(tier, f"{without}{problem}. {problem.hint}".strip()))
            except OSError as error:
                report.warnings.append(Skipped(FILE, f"no related terms: {error.strerror}"))
        report.embedded, report.cached = len(done.embedded), done.cached
        return problems

    @cached_property
    def calibration(self) -> Calibration:
        """What use has taught."""
        from watersmeet.engine.calibration.calibration import Calibration

        return Calibration(self)

    @cached_property
    def registry(self) -> Registry:
        """Servers, tools, agents and skills."""
        from watersmeet.engine.registry import Registry

        return Registry(self)

    def remove(self, ids: Sequence[str] | str) -> int:
        """Forget documents; the next sync of their folder brings back those that are still there. Or a whole folder."""
        from watersmeet.engine.roots import remove

        named = [ids] if isinstance(ids, str) else ids
        return remove(self.folder, self.settings, [DocId(identity) for identity in named])

    def compact(self, grace: float | None = None) -> int:
        """Free the space of replaced rows; returns how many."""
        from watersmeet.engine.writing import writing

        with writing(self.folder, self.settings) as index:
            return index.compact(grace, share=0.0)

    # ------------------------------------------------------------ asking

    def search(self, request: Request | str, **options: Any) -> Answer:
        """The few passages that answer the query, best first, with why, and what could not run.

        `options` are fields of `Request`, or `filters`, `since` and `before` in place of a condition:
        `engine.search("how do I deploy?", top_n=3, filters={"tag": "setup"}, since="7d")`.
        """
        request = asked_for(request, options)
        with self.traced(request) as trace:
            if request.strict:
                strictly(trace.outcome.failures, trace.silent, self._settings(request.recipe))
            passages = trace.view.passages(present.needed(trace.outcome.ranking))
            note(trace.outcome, passages)
            confidence = trace.sure()
        passages = {passage.id: passage for passage in self._readable(passages.values(), request.viewer)}
        if self._settings(request.recipe).section("calibration").learn:
            note_search(self.folder, request.query, [passage.document for passage in passages.values()])
        return Answer(
            query=request.query,
            mode=trace.mode,
            recipe=trace.recipe,
            results=present.results(trace.outcome.ranking, trace.outcome.fused, passages),
            failures=trace.outcome.failures,
            took_ms=(time.perf_counter() - trace.start) * 1000,
            timings=trace.outcome.timings,
            silent=trace.silent,
            confidence=confidence.probability if confidence else None,
            no_good_match=confidence is not None and not confidence.fits,
            expansion=trace.outcome.plan.expansion,
        )

    def why_not(self, request: Request, document: str, shown: int | None = None) -> WhyNot:
        """Where a document fell out, and what weight would have brought it in.

        `shown`: how many of the results are, if not all that are asked for."""
        from watersmeet.engine.whynot import known, why_not

        with self.traced(request) as trace:
            document = known(trace.view, document, request.viewer)
            return why_not(trace.pipeline, trace.view, trace.outcome, document, shown or request.top_n)

    def trial(self, request: Request, down_to: Collection[str] = (), without: Collection[str] = ()) -> Trial:
        """A search for the sake of measuring: every signal's ranking and the fused one, by document.

        `down_to`: the documents that are looked for. `without`: chunks to leave out of all rankings.
        """
        from watersmeet.engine.trials import trial

        with self.traced(request, told=False) as trace:
            return trial(trace, down_to, without)

    @contextmanager
    def traced(self, request: Request, told: bool = True) -> Iterator[Trace]:
        """The query path, with the index still as the query saw it."""
        start = time.perf_counter()
        settings = self._settings(request.recipe)
        pipeline = settings.section("pipeline")
        index = settings.section("index")
        plan = Plan(
            text=request.query,
            intent=request.intent,
            top_n=request.top_n,
            told=told,
            now=request.now or datetime.now(UTC),
            stop=request.stop,
            pool=max(pipeline.pool, pipeline.pool_times * request.top_n),
        )
        vectors = wants_vectors(request.mode) and index.vectors
        with self._session() as session, session.moment() as view:
            coverage = session.coverage() if vectors else {}
            mode, signals = choose(request.mode, pipeline.signals, coverage, index.take_part)
            path = path_for(session, settings, signals, view)
            plan = replace(plan, condition=gated(view, request))
            outcome = path.run(plan)
            if not outcome.rankings and signals != WORDS:  # nothing of what was asked for could run: the words can
                mode, failures = "lexical", outcome.failures
                path = path_for(session, settings, WORDS, view)
                outcome = path.run(plan)
                outcome = replace(outcome, failures=tuple(dict.fromkeys((*failures, *outcome.failures))))
            outcome = further(path, plan, outcome)
            mode = really(mode, [ranking.by for ranking in outcome.rankings])
            if vectors:
                self._note(view, settings, coverage, outcome)
            silent = silent_signals(request.mode, pipeline.signals, signals, coverage)
            yield Trace(mode, settings.recipe, outcome, path, view, start, silent, lambda: sure(session, view, outcome))

    def _note(self, view: SqliteView, settings: Settings, coverage: Mapping[str, float], outcome: Outcome) -> None:
        """While the deep model has not seen everything: what was retrieved is embedded first."""
        if embedder_name(settings, "dense") and coverage.get("dense", 0.0) < 1:
            from watersmeet.engine.deepen import note_asked

            note_asked(self.folder, list(view.rows([hit.chunk for hit in outcome.ranking.hits]).values()))

    def _settings(self, recipe: str) -> Settings:
        if not recipe:
            return self.settings
        if recipe not in self._recipes:
            self._recipes[recipe] = self.settings.under(recipe)
        return self._recipes[recipe]

    def classify(self, query: str) -> Classified:
        """What sort of query it is, and how it is best asked; an index helps and is not needed."""
        from watersmeet.engine.classified import classify

        try:
            with self._session() as session, session.moment():
                return classify(query, self.settings, session.words, bool(tiers_of(session.meta)))
        except NoIndex:
            return classify(query, self.settings)

    def related(self, identity: str, top_n: int = 10, viewer: Viewer | None = None) -> Answer:
        """What links to this document, or is linked from it; it is named as for `get`."""
        from watersmeet.engine import documents as reading
        from watersmeet.engine.naming import meant

        start = time.perf_counter()
        with self._session() as session, session.moment() as view:
            ranking = reading.related(view, meant(view, identity, viewer).document, seen(viewer))
            ranking = type(ranking)("related", ranking.hits[:top_n])
            passages = view.passages([hit.chunk for hit in ranking.hits])
        took = (time.perf_counter() - start) * 1000
        found = present.results(ranking, ranking, passages)
        return Answer(identity, "related", self.settings.recipe, found, (), took)

    def get(self, identity: str, viewer: Viewer | None = None, *, exactly: bool = False) -> dict[str, Any]:
        """A document, or one chunk of it: by its id, and unless `exactly`, its file or a name that only it goes by."""
        from watersmeet.engine import documents as reading
        from watersmeet.engine.naming import meant

        with self._session() as session, session.moment() as view:
            found = reading.get(view, meant(view, identity, viewer, exactly))
        if viewer is not None and "record" in found["fields"]:
            from watersmeet.engine.registry.backends import visible

            found = visible(self, found, viewer)
        if self._learning:
            self.calibration.opened(found["document"])
        return found

    def documents(self, viewer: Viewer | None = None) -> list[dict[str, Any]]:
        from watersmeet.engine import documents as reading

        with self._session() as session, session.moment() as view:
            return reading.listing(view, seen(viewer))

    def unknown_fields(self, request: Request) -> list[str]:
        """What is wrong with a request's filters, said for whoever found nothing."""
        from watersmeet.engine.unfound import asked, unfound

        condition = asked(request, self._settings(request.recipe).section("pipeline").understand)
        with self._session() as session, session.moment() as view:
            return unfound(view, condition, request.viewer)

    def passages(self, document: str, viewer: Viewer | None = None) -> list[Passage]:
        """All that is searchable of a document, in its order."""
        with self._session() as session, session.moment() as view:
            found = view.passages_of(DocId(document)) if view.only([DocId(document)], seen(viewer)) else []
        return self._readable(found, viewer)

    def _readable(self, passages: Iterable[Passage], viewer: Viewer | None) -> list[Passage]:
        if viewer is None:
            return list(passages)
        from watersmeet.engine.registry.backends import readable

        return readable(self, passages, viewer)

    def anchors(self) -> list[tuple[DocId, DocId, str]]:
        """Links that say something, as (from, to, text)."""
        with self._session() as session, session.moment() as view:
            return view.anchors()

    def status(self, viewer: Viewer | None = None) -> dict[str, Any]:
        """What the index holds, and how far each signal has come."""
        from watersmeet.engine.state import status

        with self._session() as session, session.moment() as view:
            found = status(session, view, self.settings, self.folder, viewer)
        return {**found, "calibration": self.calibration.state()}

    def doctor(self) -> list[Check]:
        """Everything that could be wrong, looked at."""
        from watersmeet.engine.health import asked, check

        found = check(self.folder, self.settings)
        return [*found, asked(self)] if all(one.ok for one in found) else found
