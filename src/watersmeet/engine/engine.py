"""`Engine`, the public Python API. The CLI, REST, MCP and web faces only call it."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import WeakKeyDictionary

from watersmeet.core import tokens
from watersmeet.core.errors import ConfigError, NoIndex, WatersmeetError, nearest
from watersmeet.core.index import Index, ReadableIndex, Snapshot
from watersmeet.core.model import Answer, Condition, DocId, Passage, Request, Result
from watersmeet.core.visibility import audience_gates, audience_named
from watersmeet.engine.calibration.recent_searches import prune, record_search
from watersmeet.engine.index.damage import damage_failures, diagnose, incomplete
from watersmeet.engine.index.fingerprint import check_fingerprint
from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.state_names import RECENT_SEARCHES
from watersmeet.engine.index.tiers import TIERS
from watersmeet.engine.query.assemble import assemble_pipeline
from watersmeet.engine.query.diagnostics import load_settings, log_search
from watersmeet.engine.query.filters import build_request, condition_of
from watersmeet.engine.query.modes import LEXICAL_SIGNALS
from watersmeet.engine.query.runner import PASSAGES, Scope, SearchRun, readable, run
from watersmeet.engine.query.staleness import Staleness
from watersmeet.engine.query.threads import Threads
from watersmeet.engine.query.visibility import hidden_roots, is_limited, visible_to
from watersmeet.engine.query.visible_index import VisibleIndex
from watersmeet.engine.settings.settings import LOCAL_RECORDS, Settings
from watersmeet.present import answer as present

if TYPE_CHECKING:
    from watersmeet.core.chat import Chat
    from watersmeet.core.index import Check, State
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.ask.ask import OnText
    from watersmeet.engine.ask.model import AnswerText, Turn
    from watersmeet.engine.calibration.calibration import Calibration
    from watersmeet.engine.query.classification import Classification
    from watersmeet.engine.query.confidence import Confidence
    from watersmeet.engine.query.original import Original
    from watersmeet.engine.query.pipeline import Pipeline
    from watersmeet.engine.query.trial import Trial
    from watersmeet.engine.query.why_not import WhyNot
    from watersmeet.engine.registry import Registry
    from watersmeet.engine.sync.report import ProgressCallback, SyncReport


class Engine:
    """An opened index: sync, search and read it. Opening is cheap, and threads may share one."""

    def __init__(self, index: str | os.PathLike[str] | ReadableIndex, settings: Settings | None = None) -> None:
        self.settings = settings or load_settings()
        self.index = (
            open_index(os.fspath(index), self.settings)
            if isinstance(index, str | os.PathLike)
            else cast(Index, index)  # `open_for_writing` raises if it has no writer
        )
        self.folder = self.index.place
        self._recipes = {self.settings.recipe: self.settings}
        self._threads = Threads(limit=8)
        self._pipelines: WeakKeyDictionary[Snapshot, dict[tuple[object, ...], Pipeline]] = WeakKeyDictionary()
        self._checked = ""
        self._approved: dict[str, int] = {}
        self._closed = False
        self.staleness = Staleness(self.index, self.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the index; the engine cannot be used after that."""
        self._closed = True
        self._threads.close()
        self.index.close()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A consistent snapshot of the index, for one query."""
        if self._closed:
            raise ConfigError("this Engine is closed", "use it before its `with` block ends, or open another")
        if not self._learning:
            prune(self._searched, learn=False)
        with diagnose(self.index, self.settings), self.index.snapshot() as snapshot:
            built = snapshot.facts().get("fingerprint", "")
            if built and built != self._checked:
                check_fingerprint(json.loads(built), {"tokenizer": tokens.VERSION}, ["tokenizer"])
                self._checked = built
            yield snapshot

    def visible_index(self, snapshot: Snapshot, viewer: Viewer | None) -> VisibleIndex:
        """The part of a snapshot that a viewer may see."""
        pipelines = self._pipelines.setdefault(snapshot, {})
        condition = Condition(gates=audience_gates(viewer))
        assemble = partial(assemble_pipeline, threads=self._threads, remote=self.index.remote)
        return VisibleIndex(self.index, snapshot, condition, pipelines, assemble)

    @property
    def _learning(self) -> bool:
        return bool(self.settings.section("calibration").learn)

    @cached_property
    def _searched(self) -> State:
        return self.index.state(RECENT_SEARCHES)

    # ------------------------------------------------------------ writing

    def sync(
        self,
        paths: Sequence[str | os.PathLike[str]] = (),
        *,
        collection: str = "",
        meta: Mapping[str, str] | None = None,
        audience: str = "",
        recreate: bool = False,
        deepen: bool = True,
        vectors: bool = True,
        now: bool = False,
        seconds: float = math.inf,
        max_pages: int = 0,
        public_only: bool = False,
        dry_run: bool = False,
        confirm: bool = False,
        progress: ProgressCallback | None = None,
    ) -> SyncReport:
        """Bring the index up to date with these folders and files; without paths, with all that it covers.

        Text and static vectors come first, then dense vectors. Sparse vectors are made only if the index has some
        already or the recipe uses them; with `vectors=False`, none at all. `audience`: who may see the collection of
        these paths, as for `set_audience`; empty: as before. `recreate`: read everything again, into new
        stores. `now`: also read network roots that were read recently. `seconds`: after so long the rest is left to the
        next sync; the report's `left` counts these files. `max_pages`: most pages of each website, now and later; 0: as
        before, or as the settings say. `public_only`: open no private address, even if the settings allow it.
        `dry_run`: write nothing, and report what would be added, changed and removed. `confirm`: embed with a model on
        another machine whatever it costs; else `CostRefused` is raised if that is more than `index.confirm_above`, with
        the words in the index and the `report`."""
        from watersmeet.engine.audit import note_sync
        from watersmeet.engine.index.languages import refresh as refresh_languages
        from watersmeet.engine.sync.collections import Wanted
        from watersmeet.engine.sync.embed_tiers import raise_refused
        from watersmeet.engine.sync.roots import SyncOptions, sync

        progress = progress or (lambda _: None)
        start = time.perf_counter()
        end = time.monotonic() + seconds
        wanted = Wanted(collection, meta or {}, audience_named(audience) if audience else None)
        options = SyncOptions(wanted, recreate, now, end, max_pages, public_only, dry_run)
        if dry_run:
            from watersmeet.engine.sync.cost import try_sync

            report = try_sync(self.index, self.settings, paths, options, progress, vectors, deepen)
            report.took_ms = (time.perf_counter() - start) * 1000
            return report
        report, problems = sync(self.index, self.settings, paths, options, progress), []
        note_sync(self.index, paths, report)
        if vectors and not report.left:
            left, measure = max(0.0, end - time.monotonic()), bool(audience)
            problems = self._embed(
                (), report, progress=progress, seconds=left, deep=deepen, measure=measure, confirm=confirm
            )
        if not report.left:
            refresh_languages(self.index, measure=bool(audience))
        prune(self._searched, self._learning)
        report.took_ms = (time.perf_counter() - start) * 1000
        raise_refused(problems, report)
        return report

    def deepen(
        self,
        progress: ProgressCallback | None = None,
        seconds: float = math.inf,
        deep: bool = True,
        after: int = 0,
        strict: bool = False,
        tiers: Sequence[str] = (),
        confirm: bool = False,
        wait: bool = True,
    ) -> SyncReport:
        """Embed the chunks that have no vectors yet, for at most `seconds`; the report counts them.

        `deep=False`: only with quick models. `after`: only rows above this one. `strict`: raise, instead of warn, if
        nothing can be embedded because a model is missing or another process is embedding. `tiers`: only these, of
        `static`, `sparse` and `dense`; later syncs keep them up to date. `confirm`: as for `sync`; without it, a model
        whose cost is too high embeds nothing. `wait`: in a cluster, until other processes have embedded their part."""
        from watersmeet.engine.sync.embed_tiers import raise_refused
        from watersmeet.engine.sync.report import SyncReport

        for tier in tiers:
            if tier not in TIERS:
                raise ConfigError(f"no tier called {tier!r}", nearest(tier, TIERS))
        report, start = SyncReport(), time.perf_counter()
        problems = self._embed(
            tiers, report, progress=progress, seconds=seconds, after=after, deep=deep, confirm=confirm, wait=wait
        )
        if strict and problems and not report.embedded and not report.cached:
            raise_refused(problems[:1], report)
            raise problems[0]
        report.took_ms = (time.perf_counter() - start) * 1000
        return report

    def _embed(self, tiers: Sequence[str], report: SyncReport, **options: Any) -> list[WatersmeetError]:
        from watersmeet.engine.sync.embed_tiers import embed_tiers

        return embed_tiers(self.index, self.settings, self._approved, tiers, report, **options)

    @cached_property
    def calibration(self) -> Calibration:
        """Fusion weights that this index has learned from judgements and opened results."""
        from watersmeet.engine.calibration.calibration import Calibration

        return Calibration(self)

    @cached_property
    def registry(self) -> Registry:
        """The registry of servers, tools, agents and skills."""
        from watersmeet.engine.registry import Registry

        return Registry(self)

    def remove(self, ids: Sequence[str] | str) -> int:
        """Remove documents, or a whole folder. The next sync of the folder adds back files that still exist."""
        from watersmeet.engine.audit import audited
        from watersmeet.engine.sync.roots import remove

        named = [ids] if isinstance(ids, str) else ids
        with audited(self.index, "remove", named) as result:
            result["removed"] = remove(self.index, self.settings, [DocId(identity) for identity in named])
        return int(result["removed"])

    def collections(self) -> list[dict[str, Any]]:
        """The collections: their names, audiences, and numbers of documents and roots."""
        from watersmeet.engine.sync.collections import listed

        return listed(self.index)

    def set_audience(self, collection: str, audience: str) -> bool:
        """Change who may see the documents of a collection: `public`, `private`, or groups and owners such as
        `group:staff,owner:ann`. All of them change, or none; returns whether anything changed."""
        from watersmeet.engine.audit import audited
        from watersmeet.engine.index.languages import refresh as refresh_languages
        from watersmeet.engine.sync.collections import change_audience
        from watersmeet.engine.sync.report import SyncReport

        wanted = audience_named(audience)
        with audited(self.index, "audience", [collection], audience=audience) as result:
            result["changed"] = change_audience(self.index, self.settings, collection, wanted)
        if not result["changed"]:
            return False
        self._embed((), SyncReport(), seconds=0, measure=True)
        refresh_languages(self.index, measure=True)
        return True

    def relocate(self, old: str | os.PathLike[str], new: str | os.PathLike[str]) -> int:
        """Record that the folder or file `old` is now at `new`; returns the number of documents. No file is read."""
        from watersmeet.engine.audit import audited
        from watersmeet.engine.sync.relocate import relocate

        with audited(self.index, "relocate", [os.fspath(old), os.fspath(new)]) as result:
            result["documents"] = relocate(self.index, self.settings, os.fspath(old), os.fspath(new))
        return int(result["documents"])

    def compact(self, grace: float | None = None) -> int:
        """Free the space of replaced rows; returns how many. Scores are then those of a fresh index."""
        from watersmeet.engine.index.writer import open_for_writing
        from watersmeet.engine.sync.report import SyncReport

        with open_for_writing(self.index, self.settings) as index:
            freed = index.compact(grace, share=0.0)
        self._embed((), SyncReport(), seconds=0, measure=True)
        return freed

    def audit(
        self, since: str = "", limit: int = 1000, viewer: Viewer | None = None, token: str = ""
    ) -> list[dict[str, Any]]:
        """Who changed what, newest first: registered entities, syncs, removals, tokens. `since`: 7d or 2026-01-31."""
        from watersmeet.engine.audit import audit

        return audit(self, since, limit, viewer, token)

    # ------------------------------------------------------------ reading

    def search(self, /, request: Request | str, **options: Any) -> Answer:
        """Rank passages for a query, best first, with evidence for each and the components that failed.

        `options` are fields of `Request`, or `filters`, `exclude`, `since` and `before` in place of a condition:
        `engine.search("how do I deploy?", top_n=3, filters={"tag": "setup"}, since="7d")`.
        """
        request = build_request(request, options)
        if not is_limited(request.viewer):
            self.staleness.start()
        with self.open_search(request) as search_run:
            staleness = self.staleness.beside(hidden_roots(search_run.snapshot, request.viewer))
            staleness.start()
            passages = search_run.passages(present.needed(search_run.outcome.ranking), request.viewer)
            log_search(search_run.outcome, passages)
            confidence = search_run.confidence()
            results = present.results(search_run.outcome.ranking, search_run.outcome.fused, passages)
            results = _above_thresholds(results, request, confidence)[request.offset :]
            if request.expand:
                from watersmeet.present.expand import expand

                page = partial(search_run.page, viewer=request.viewer)
                results = expand(results, request.expand, page, request.expand_tokens)
            if request.facets:
                from watersmeet.engine.query.facets import count_facets
            facets = count_facets(search_run) if request.facets else None
            damage = (*incomplete(search_run.snapshot), *damage_failures(search_run.snapshot, self.index))
        self.note_search(search_run, request, [result.document for result in results])
        return Answer(
            query=request.query,
            mode=search_run.mode,
            recipe=search_run.settings.recipe,
            results=results,
            failures=(*search_run.outcome.failures, *damage),
            took_ms=search_run.took_ms,
            timings=search_run.outcome.timings,
            counts=search_run.outcome.counts,
            silent=search_run.silent,
            confidence=confidence.probability if confidence else None,
            no_good_match=confidence is not None and not confidence.fits,
            stale=staleness.count(),
            confidence_words=confidence.words if confidence else "",
            expansion=search_run.outcome.plan.expansion,
            routed=search_run.outcome.plan.routed,
            operators=search_run.outcome.plan.operators,
            spelling=search_run.outcome.plan.respelled,
            facets=facets,
        )

    def ask(
        self,
        /,
        question: str,
        *,
        on_text: OnText | None = None,
        budget: int | None = None,
        history: Sequence[Turn] = (),
        chat: Chat | None = None,
        **options: Any,
    ) -> AnswerText:
        """Answer a question from the documents, with checked citations, or say that they do not answer it.

        `on_text`: called with each further part of the text, a statement or more. `budget`: tokens of the passages.
        `history`: the turns before, for a follow-up question. `chat`: a model other than that of the settings.
        `options`: as for `search`: `engine.ask("how do I deploy?", filters={"tag": "setup"})`."""
        from watersmeet.engine.ask.ask import ask

        return ask(self, question, on_text=on_text, budget=budget, history=history, chat=chat, options=options)

    def note_search(self, search_run: SearchRun, request: Request, documents: Sequence[str]) -> None:
        """Record which documents were shown for a query, if the index may learn from opened results."""
        if search_run.settings.section("calibration").learn:
            record_search(self._searched, request.query, list(documents))

    def why_not(self, request: Request, document: str, shown: int | None = None) -> WhyNot:
        """Why a document is not in the results: the step that dropped it, and signal weights that would include it.

        `shown`: how many results are shown, if fewer than requested."""
        from watersmeet.engine.query.why_not import resolve_document, why_not

        with self.open_search(request) as search_run:
            document = resolve_document(search_run.snapshot, document, request.viewer)
            limit = request.depth if shown is None else request.offset + shown
            found = why_not(search_run.pipeline, search_run.snapshot, search_run.outcome, document, limit)
            if found.place != "result" or found.rank is None:
                return found
            confidence = search_run.confidence()
            if confidence is not None and confidence.probability < request.min_confidence:
                return replace(found, place="cut", reason="the confidence of the answer is below min_confidence")
            if search_run.outcome.ranking.hits[found.rank - 1].score < request.min_score:
                return replace(found, place="cut", reason="its score is below min_score")
            return found

    def open_search(
        self, request: Request, scope: Scope = PASSAGES, explain: bool = True
    ) -> AbstractContextManager[SearchRun]:
        """Run a search and keep its snapshot open inside the `with` block. `explain`: collect evidence for each hit."""
        return run(self, request, scope, explain)

    def trial(self, request: Request, down_to: Collection[str] = (), without: Collection[str] = ()) -> Trial:
        """A search for evaluation: each signal's ranking and the fused one, by document.

        `down_to`: the relevant documents. `without`: chunks to leave out of all rankings.
        """
        from watersmeet.engine.query.trial import trial

        with self.open_search(request, explain=False) as search_run:
            return trial(search_run, down_to, without)

    def settings_for(self, recipe: str) -> Settings:
        """The settings under another recipe; with an empty name, the engine's own."""
        if not recipe:
            return self.settings
        if recipe not in self._recipes:
            self._recipes[recipe] = self.settings.under(recipe)
        return self._recipes[recipe]

    def classify(self, query: str, viewer: Viewer | None = None) -> Classification:
        """The kind of a query, with a suggested mode and top_n. Word statistics of an index help but are not needed."""
        from watersmeet.engine.query.classification import classify

        try:
            with self.snapshot() as snapshot:
                return classify(
                    query, self.settings, self.visible_index(snapshot, viewer).words, bool(snapshot.tiers())
                )
        except NoIndex:
            return classify(query, self.settings)

    def related(self, identity: str, top_n: int = 10, viewer: Viewer | None = None) -> Answer:
        """Documents that link to this one or are linked from it; `identity` is as for `get`."""
        from watersmeet.engine.query import documents as reading
        from watersmeet.engine.query.document_lookup import find_document

        start = time.perf_counter()
        with self.snapshot() as snapshot:
            ranking = reading.related(snapshot, find_document(snapshot, identity, viewer).document, visible_to(viewer))
            ranking = type(ranking)("related", ranking.hits[:top_n])
            found = snapshot.passages([hit.chunk for hit in ranking.hits])
            passages = {one.id: one for one in readable(self.visible_index(snapshot, viewer), found.values(), viewer)}
            damage = damage_failures(snapshot, self.index)
        took = (time.perf_counter() - start) * 1000
        results = present.results(ranking, ranking, passages)
        return Answer(identity, "related", self.settings.recipe, results, damage, took)

    def get(
        self, identity: str, viewer: Viewer | None = None, *, exactly: bool = False, embeds: bool = True
    ) -> dict[str, Any]:
        """A document or one chunk, by its id; unless `exactly`, also by its file path or an unambiguous name.

        `embeds`: `![[note#part]]` is replaced by the text that it stands for."""
        from watersmeet.engine.query import documents as reading
        from watersmeet.engine.query.document_lookup import find_document

        with self.snapshot() as snapshot:
            try:
                found = reading.get(snapshot, find_document(snapshot, identity, viewer, exactly), viewer, embeds)
            finally:
                damage_failures(snapshot, self.index)
                reading.check_sound(snapshot)  # damage is the better reason than "not found"
        if self._learning:
            self.calibration.opened(found["document"])
        return found

    def read(self, identity: str, viewer: Viewer | None = None, *, chunk: str = "") -> dict[str, Any]:
        """A document to be shown: its text as a tree of elements, its links resolved; `chunk`: the passage to mark."""
        from watersmeet.engine.query.document_lookup import find_document
        from watersmeet.engine.query.reading import chunk_of, read

        with self.snapshot() as snapshot:
            match = find_document(snapshot, identity, viewer)
            named = chunk_of(snapshot, chunk, match.document) if chunk else None
            found = read(snapshot, match._replace(chunk=named or match.chunk), viewer)
        if self._learning:
            self.calibration.opened(found["document"])
        return found

    def original(self, identity: str, viewer: Viewer | None = None) -> Original:
        """The file that a document was read from, if it is as it was then; `identity` is the document's id."""
        from watersmeet.engine.query.document_lookup import find_document
        from watersmeet.engine.query.original import original

        with self.snapshot() as snapshot:
            return original(self.index, snapshot, find_document(snapshot, identity, viewer, exactly=True).document)

    def documents(self, /, viewer: Viewer | None = None, *, sort: str = "path", **filters: Any) -> list[dict[str, Any]]:
        """The documents: id, kind, title, date and number of chunks of each. `filters`: `filters`, `exclude`, `since`
        and `before`, as for `search`. `sort`: path, title or modified."""
        from watersmeet.engine.query import documents as reading

        with self.snapshot() as snapshot:
            return reading.listing(snapshot, self._listed(viewer, filters), sort)

    def tags(self, /, viewer: Viewer | None = None, *, prefix: str = "", **filters: Any) -> list[dict[str, Any]]:
        """The tags with the number of their documents, the commonest first; `filters` as for `documents`."""
        from watersmeet.engine.query import documents as reading

        with self.snapshot() as snapshot:
            return reading.tags(snapshot, self._listed(viewer, filters), prefix)

    def _listed(self, viewer: Viewer | None, filters: Mapping[str, Any]) -> Condition:
        """The condition of a list: the filters, and what the viewer may see."""
        visible = visible_to(viewer)
        return replace(condition_of(filters), gates=visible.gates) if filters else visible

    def unknown_fields(self, request: Request) -> list[str]:
        """Hints about filters that match no document, for a search without results."""
        from watersmeet.engine.query.filter_hints import filter_hints, requested_condition

        condition = requested_condition(request, self.settings_for(request.recipe).section("pipeline").understand)
        with self.snapshot() as snapshot:
            return filter_hints(snapshot, condition, request.viewer)

    def releases(self, viewer: Viewer | None = None) -> list[str]:
        """The packages that are indexed, each with its version, such as `npm:react@18.3.1`."""
        return self.field_values("release", viewer)

    def field_values(self, key: str, viewer: Viewer | None = None) -> list[str]:
        """All values of a field, such as the `files` of commits."""
        with self.snapshot() as snapshot:
            return snapshot.values_of(key, visible_to(viewer))

    def passages(self, document: str, viewer: Viewer | None = None) -> list[Passage]:
        """The passages of a document, in order."""
        with self.snapshot() as snapshot:
            found = (
                snapshot.passages_of(DocId(document)) if snapshot.only([DocId(document)], visible_to(viewer)) else []
            )
            return readable(self.visible_index(snapshot, viewer), found, viewer)

    def text_bytes(self, results: Sequence[Result], viewer: Viewer | None = None) -> int:
        """The size of all documents that these results are from, in bytes of their text."""
        documents = tuple(dict.fromkeys(result.document for result in results))
        if not documents:
            return 0
        with self.snapshot() as snapshot:
            return snapshot.text_bytes(replace(visible_to(viewer), fields={"document": documents}))

    def link_texts(self) -> list[tuple[DocId, DocId, str]]:
        """Links with a text of their own, as (from, to, text)."""
        with self.snapshot() as snapshot:
            return snapshot.named_texts()

    def status(self, viewer: Viewer | None = None) -> dict[str, Any]:
        """Counts of the index, and the coverage of each signal."""
        from watersmeet.engine.index.status import status

        with self.snapshot() as snapshot:
            found = status(self.visible_index(snapshot, viewer), self.settings, self.index, viewer)
        return {**found, **self._database_status(), "calibration": self.calibration.state(viewer)}

    def roots(self, viewer: Viewer | None = None) -> list[dict[str, Any]]:
        """The folders and addresses that the index covers: their kind, documents, age, and last problem."""
        found: list[dict[str, Any]] = self.status(viewer)["sources"]
        return found

    def check(self) -> None:
        """Raise if the index cannot be searched."""
        with self.snapshot() as snapshot:
            self.visible_index(snapshot, None).pipeline(self.settings, LEXICAL_SIGNALS)
            snapshot.kinds()

    def doctor(self) -> list[Check]:
        """Health checks of the index, the models and the settings."""
        from watersmeet.engine.index.health import check, check_search

        found = [*check(self.index, self.settings), *self._database_check()]
        return [*found, check_search(self)] if all(one.ok for one in found) else found

    def _database_status(self) -> dict[str, Any]:
        """The state of the shared database of the registry, if the settings name one."""
        if self.settings.section("registry").records == LOCAL_RECORDS:
            return {}
        from watersmeet.engine.registry.database_state import database_status

        return database_status(self.index, self.settings)

    def _database_check(self) -> list[Check]:
        if self.settings.section("registry").records == LOCAL_RECORDS:
            return []
        from watersmeet.engine.registry.database_state import database_check

        return database_check(self.settings)


def _above_thresholds(
    results: tuple[Result, ...], request: Request, confidence: Confidence | None
) -> tuple[Result, ...]:
    """Results that reach the request's min_score; none if the answer is below its min_confidence."""
    if confidence is not None and confidence.probability < request.min_confidence:
        return ()
    return tuple(one for one in results if one.score >= request.min_score) if request.min_score else results
